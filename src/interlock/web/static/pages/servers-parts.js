// What is said of a server both in the list and on its own page.

import { html } from "../html.js";
import { ClassBadge, Sign } from "../parts.js";
import { Said } from "../text.js";
import { CLASSES } from "../words.js";
import { countBy, counted } from "./tools-live.js";

/** One word for how it is: one that was switched off did not fail. */
export const stateOf = (server) => (server.enabled ? server.health : "disabled");

/** The gateway knows no moment for what never ran. */
export const sinceOf = (server) => (Date.parse(server.since) > 0 ? server.since : null);

/** 2026-07-28 ended sessions; what came before needs them. */
export const eraOf = (version) => (version >= "2026-07-28" ? "without sessions" : "with sessions");

export const TRUST_WORDS = { __proto__: null, true: "Trusted: what it says of its tools is believed.", false: "Not trusted: what it says of its tools only makes them stricter." };

/** What a server offers, by class; each leads to those tools. */
export function Classes({ server, tools }) {
  if (!server.tools) return html`<p class="dull">No tools are listed.</p>`;
  if (!tools) return html`<p class="dull">${counted(server.tools, "tool")}</p>`;
  const counts = countBy(tools, (each) => each.safety_class);
  const unsettled = tools.filter((each) => each.standing !== "known").length;
  return html`<div class="classes"><p class="dull">${counted(tools.length, "tool")}</p>
    <ul class="plain">${Object.keys(CLASSES).filter((each) => counts[each]).map((each) => html`<li key=${each}><a href=${`/tools?${new URLSearchParams({ server: server.id, class: each })}`}><${ClassBadge} safetyClass=${each} /> ${counts[each].toLocaleString("en")}</a></li>`)}</ul>
    ${unsettled > 0 && html`<p><a class="attention" href=${`/tools?${new URLSearchParams({ server: server.id, standing: "unsettled" })}`}><${Sign} name="alert" />${counted(unsettled, "tool")} new or quarantined</a></p>`}
  </div>`;
}

// What each kind of problem asks for. The sentence of the gateway begins or ends like this; the server's own words stand
// in its log.
const FIXES = [
  [/cannot be started/, "Check the command, its path and its permissions; then restart it."],
  [/exited with/, "Its log says why it ended. Correct that, then restart it."],
  [/refers to|\$\{|not set|reference/, "Set what it refers to where the gateway runs, then restart it."],
  [/401|403|unauthori[sz]ed|forbidden/i, "Check its credentials, then restart it."],
  [/connect|refused|resolve|unreachable|timed out|time/i, "Check that it runs and that its address is right; it is tried again by itself."],
];

export function LastProblem({ server }) {
  const fix = FIXES.find(([sign]) => sign.test(server.problem))?.[1] || "Look at its log, then restart it.";
  return html`<div class="trouble"><p><strong><${Said} text=${server.problem} most=${400} /></strong></p><p>${fix}</p></div>`;
}
