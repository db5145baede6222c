// What happened, as a sentence. Names in it are those of others: whoever shows the sentence shows it as text of others.

/** The types that are calls; everything else is a change that somebody or something made. */
export const CALLS = ["tool_call", "policy_decision"];
export const isCall = (activity) => CALLS.includes(activity.type);

export const TYPES = {
  __proto__: null,
  tool_call: "Calls that were let pass",
  policy_decision: "Calls that were held or refused",
  approval: "Approvals",
  tool_change: "Changes of tools",
  server_change: "Changes of servers",
  config_change: "Changes of the configuration",
  token_change: "Changes of tokens",
  system: "The gateway itself",
};

/** The name of a tool as people write it. */
export const toolOf = ({ server, tool }) => (tool ? `${server || "?"}:${tool}` : server || "");

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const because = (text) => (text ? `: ${text}` : "");

const APPROVALS = {
  __proto__: null,
  created: (each) => `${each.caller} asks to call ${toolOf(each)}; it waits for a second key`,
  voted: (each) => `A call of ${toolOf(each)} by ${each.caller} has ${each.votes?.length ?? "some"} of ${each.approvals_needed ?? "its"} votes`,
  approved: (each) => `${each.approver || "The system"} approved a call of ${toolOf(each)} by ${each.caller}${because(each.resolution)}`,
  denied: (each) => `${each.approver || "The system"} denied a call of ${toolOf(each)} by ${each.caller}${because(each.resolution)}`,
  timeout: (each) => `Nobody answered a call of ${toolOf(each)} by ${each.caller} in time`,
  cancelled: (each) => `A call of ${toolOf(each)} by ${each.caller} was given up before anybody answered`,
  "grant revoked": (each) => `${each.by} revoked a grant for ${toolOf(each)}`,
  refused: (each) => `${each.caller} tried to answer a call of ${toolOf(each)} and was refused${because(each.text)}`,
  classified: (each) => `${each.by} classified ${toolOf(each)} as ${each.safety_class}`,
};

const TOOLS = {
  __proto__: null,
  baseline: (each) => `${each.server} listed ${count(each.tools, "tool")} for the first time`,
  appeared: (each) => `${toolOf(each)} is new`,
  changed: (each) => `${toolOf(each)} is no longer as it was reviewed`,
  restored: (each) => `${toolOf(each)} is again as it was reviewed`,
  trusted: (each) => `${each.by} took ${toolOf(each)} for reviewed as it is now`,
  overridden: (each) => `${each.by} set the class of ${toolOf(each)} to ${each.after}${each.before ? `; it was ${each.before}` : ""}`,
  "override removed": (each) => `${each.by} no longer sets the class of ${toolOf(each)}`,
  more: (each) => `${count(each.tools, "more tool")} of ${each.server} changed at the same time`,
};

const SERVERS = {
  __proto__: null,
  added: (each) => `${each.by} added the server ${each.server}`,
  removed: (each) => `${each.by} removed the server ${each.server}`,
  enabled: (each) => `${each.by} switched the server ${each.server} on`,
  disabled: (each) => `${each.by} switched the server ${each.server} off`,
  restarted: (each) => `${each.by} restarted the server ${each.server}`,
};

const CONFIGS = {
  __proto__: null,
  "taken up": () => "A new configuration file is in force",
  refused: (each) => `A changed configuration file was not taken up${because((each.problems || []).join("; "))}`,
};

const TOKENS = {
  __proto__: null,
  created: (each) => `${each.by} created a token for ${each.principal} (${(each.roles || []).join(", ")})`,
  revoked: (each) => `${each.by} revoked a token of ${each.principal}`,
};

const SYSTEM = {
  __proto__: null,
  frozen: (each) => `${each.by} stopped ${each.what}${because(each.reason)}`,
  thawed: (each) => `${each.by} let ${each.what} go on`,
  "signed in": (each) => `${each.by} signed in with a browser`,
  "signed out": (each) => `${each.by} signed out of a browser`,
  notice: (each) => `A notice of ${each.notice} ${each.status === "success" ? "reached" : "did not reach"} ${each.target}${because(each.detail)}`,
  records_lost: (each) => each.text,
};

const SENTENCES = { __proto__: null, approval: APPROVALS, tool_change: TOOLS, server_change: SERVERS, config_change: CONFIGS, token_change: TOKENS, system: SYSTEM };

/** What an activity that is no call tells. */
export function sentence(activity) {
  const what = activity.change || activity.event || "";
  const say = Object.hasOwn(SENTENCES[activity.type] || {}, what) ? SENTENCES[activity.type][what] : null;
  return say ? `${say(activity)}` : [activity.type, what, toolOf(activity)].filter(Boolean).join(": ");
}

/** What a row of the table needs, and no more: bodies are long, and there may be very many rows. */
export function rowOf(activity) {
  const { id, at, type, status, server, tool, caller, session_id, intent_type, safety_class, verdict, rule_id } = activity;
  return { id, at, type, status, server, tool, caller, session_id, intent_type, safety_class, verdict, rule_id, says: isCall(activity) ? "" : sentence(activity).slice(0, 300) };
}
