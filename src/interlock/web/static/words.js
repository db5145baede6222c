// The words and signs of the dashboard that stand in more than one place. Never colour alone: each has a word and a sign.

export const CLASSES = {
  __proto__: null,
  "read-only": { word: "Read-only", sign: "eye", does: "It only reads." },
  "write-capable": { word: "Write", sign: "pencil", does: "It changes something." },
  subprocess: { word: "Runs programs", sign: "terminal", does: "It runs a program or a command." },
  dangerous: { word: "Dangerous", sign: "alert", does: "It may destroy something for good." },
  unknown: { word: "Unknown", sign: "question", does: "Nobody knows what it does; it is treated like a dangerous one." },
};

/** Classes whose approval takes a second press, and that get no wide grants. */
export const GRAVE = new Set(["dangerous", "unknown"]);

export const STATES = {
  __proto__: null,
  pending: { word: "Waiting", sign: "clock", tone: "wait" },
  approved: { word: "Approved", sign: "check", tone: "good" },
  denied: { word: "Denied", sign: "cross", tone: "bad" },
  timeout: { word: "Timed out", sign: "clock", tone: "dull" },
  cancelled: { word: "Cancelled", sign: "minus", tone: "dull" },
  success: { word: "Success", sign: "check", tone: "good" },
  error: { word: "Error", sign: "alert", tone: "bad" },
  blocked: { word: "Blocked", sign: "cross", tone: "bad" },
  indeterminate: { word: "Unclear", sign: "question", tone: "wait" },
  received: { word: "Under way", sign: "clock", tone: "wait" },
  held: { word: "Held", sign: "clock", tone: "wait" },
  sent: { word: "Under way", sign: "clock", tone: "wait" },
  ready: { word: "Ready", sign: "check", tone: "good" },
  starting: { word: "Starting", sign: "clock", tone: "wait" },
  down: { word: "Down", sign: "alert", tone: "bad" },
  disabled: { word: "Disabled", sign: "minus", tone: "dull" },
  allow: { word: "Allow", sign: "check", tone: "good" },
  hold: { word: "Hold", sign: "clock", tone: "wait" },
  deny: { word: "Deny", sign: "cross", tone: "bad" },
};

/** Through which door an answer came. */
export const DOORS = { __proto__: null, dashboard: "dashboard", cli: "command line", mcp_agent: "supervising agent", system: "system" };

const PATHS = {
  __proto__: null,
  eye: "M1.5 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8Zm6.500 2a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  pencil: "M11 2.500 13.500 5 5.500 13 2.500 13.500 3 10.500Z",
  terminal: "M2 3h12v10H2Zm2 3 2 2-2 2m4 0h4",
  alert: "M8 2 15 14H1Zm0 4.500v3.500m0 1.800v.2",
  question: "M5.500 6a2.500 2.500 0 1 1 3.500 2.300C8.200 8.700 8 9.200 8 10m0 2v.3",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-9.500V8l2.500 1.500",
  check: "M3 8.500 6.500 12 13 4.500",
  cross: "M4 4l8 8m0-8-8 8",
  minus: "M3.500 8h9",
  stop: "M5.200 2h5.600L14 5.200v5.600L10.800 14H5.200L2 10.800V5.200Z",
  person: "M8 8a2.800 2.800 0 1 0 0-5.600A2.800 2.800 0 0 0 8 8Zm-5 6c.4-3 2.300-4.500 5-4.500s4.600 1.500 5 4.500",
  copy: "M5.500 5.500v-3h8v8h-3m-8-5h8v8h-8Z",
  down: "M4 6l4 4 4-4",
  out: "M6 3H3v10h3m3-8 3 3-3 3m3-3H6",
};

export const signPath = (name) => PATHS[name] || PATHS.question;
