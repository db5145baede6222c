// The words and signs of the lab. What a report says is a stranger's text: an unknown word is shown as such.

import { html } from "../html.js";
import { Said } from "../text.js";
import { Mark } from "./agents-parts.js";

const SEVERITIES = {
  __proto__: null,
  high: ["bad", "alert", "high"],
  medium: ["wait", "alert", "medium"],
  low: ["dull", "minus", "low"],
  info: ["dull", "question", "info"],
};
export const OUTCOMES = {
  __proto__: null,
  ok: ["good", "check", "Answered"],
  "tool-error": ["wait", "alert", "Tool error"],
  "rpc-error": ["wait", "cross", "Refused by the server"],
  refused: ["dull", "stop", "Refused by the gateway"],
  crash: ["bad", "alert", "Crashed"],
  hang: ["bad", "clock", "No answer"],
  protocol: ["bad", "question", "Broke the protocol"],
};
const DECISIONS = {
  __proto__: null,
  Execute: ["good", "check", "Called"],
  ExecuteOnce: ["wait", "check", "Called once"],
  GenerateOnly: ["dull", "pencil", "Only written down"],
  Refuse: ["bad", "cross", "Not called"],
};
const ENDS = {
  __proto__: null,
  complete: ["good", "check", "Complete"],
  interrupted: ["wait", "stop", "Interrupted"],
  budget: ["wait", "clock", "Out of calls"],
};

/** One of our words with its sign; a word that is not ours as somebody else's text. */
function Known({ table, word, also = "" }) {
  const [tone, sign, says] = (Object.hasOwn(table, word) && table[word]) || ["dull", "question", null];
  return html`<${Mark} tone=${tone} sign=${sign}>${also}${says ?? html`<${Said} text=${word} most=${40} />`}<//>`;
}

export const Severity = ({ severity }) => html`<${Known} table=${SEVERITIES} word=${severity} />`;
export const Outcome = ({ outcome }) => html`<${Known} table=${OUTCOMES} word=${outcome} />`;
export const Decision = ({ decision }) => html`<${Known} table=${DECISIONS} word=${decision} />`;
export const Ended = ({ ended }) => html`<${Known} table=${ENDS} word=${ended} />`;

/** How many findings there are of each severity, the gravest first. */
export function Severities({ counts }) {
  const there = Object.keys(SEVERITIES).filter((each) => counts[each] > 0);
  if (!there.length) return html`<span class="dull">none</span>`;
  return html`<span class="severities">${there.map((each) => html`<${Known} key=${each} table=${SEVERITIES} word=${each} also=${`${counts[each]} `} />`)}</span>`;
}

export const RANKS = Object.keys(SEVERITIES);

/** A time as short as it can be said. */
export const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ms`;
