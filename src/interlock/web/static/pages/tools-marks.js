// The signs of a tool that stand in lists and on its own page: how its definition stands, and what is odd about it.

import { html } from "../html.js";
import { Sign } from "../parts.js";
import { plainly } from "../text.js";

export const STANDINGS = {
  __proto__: null,
  known: { word: "Reviewed", sign: "check", tone: "dull", says: "It is as it was when it was first listed, or when somebody trusted it." },
  new: { word: "New", sign: "alert", tone: "wait", says: "It appeared later. Its calls are held until somebody trusts it." },
  changed: { word: "Quarantined", sign: "stop", tone: "bad", says: "Its definition changed. Nobody sees it and nobody can call it until somebody trusts it." },
  twice: { word: "Listed twice", sign: "stop", tone: "bad", says: "Its server lists this name more than once, with definitions that differ. Nobody sees it and nobody can call it until one is left." },
  poisoned: { word: "Quarantined: poison", sign: "stop", tone: "bad", says: "Its definition has signs that it was written against the user. Nobody sees it and nobody can call it until somebody trusts exactly this definition." },
};

export function StandingBadge({ standing }) {
  const known = STANDINGS[standing] || STANDINGS.new;
  return html`<span class=${`badge tone-${known.tone}`} title=${known.says}><${Sign} name=${known.sign} />${known.word}</span>`;
}

/** Where a class comes from. */
export const SOURCES = {
  __proto__: null,
  override: "override",
  metadata: "server metadata",
  annotations: "annotations",
  name: "name",
  method: "protocol method",
};

/** What each finding is, in few words; its sentence says the rest. */
export const FINDINGS = {
  __proto__: null,
  "hint-below-name": "Says less than its name",
  "contradictory-hints": "Contradicts itself",
  "malformed-annotations": "Malformed annotations",
  "unrecognised-metadata": "Metadata not understood",
  "name-characters": "Odd characters in its name",
  "name-listed-twice": "Listed more than once",
  "hidden-text": "Hidden characters",
  "control-characters": "Steers a terminal",
  "override-phrase": "Gives the model new orders",
  "role-tags": "Imitates the model's own instructions",
  "claimed-approval": "Claims an approval",
  "concealment": "Keeps something from the user",
  "exfiltration": "Asks for secrets",
  "sink-parameter": "A parameter asks for secrets",
  "tool-steering": "Steers other tools",
  "encoded-payload": "Encoded orders",
  "shell-payload": "Shell command",
  "hidden-markup": "Hidden markup",
  "over-long": "Very long",
  "not-read-whole": "Too large to read whole",
  "imitated-name": "Imitates another name",
  "reserved-name": "Has a name of the gateway",
  "lookalike-names": "Looks like another tool",
};

export const FindingsMark = ({ findings }) =>
  findings.length > 0 && html`<span class="badge tone-wait" title=${plainly(findings.map((each) => each.text).join("; "))}><${Sign} name="alert" />${FINDINGS[findings[0].code] || findings[0].code}${findings.length > 1 && ` +${findings.length - 1}`}</span>`;

/** One choice of a filter; none is a choice too. */
export const Choice = ({ label, value = "", options, none = "any", onChange }) => html`<label>${label} <select value=${value} onChange=${onChange}>
  <option value="">${none}</option>${options.map(([each, word]) => html`<option key=${each} value=${each} selected=${each === value}>${word}</option>`)}
</select></label>`;
