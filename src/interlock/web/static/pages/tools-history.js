// What a tool was before, field by field, and trust in what it is now. Trust is bound to the fingerprint that was looked
// at: if the server lists something else by then, the gateway refuses, and one looks again.

import { html, useState } from "../html.js";
import { get, pathOf, post } from "../api.js";
import { isAdmin } from "../session.js";
import { stale } from "../stream.js";
import { Card, Fetched, Sign, Time, Trouble, toast, useFetched } from "../parts.js";
import { Said, plainly } from "../text.js";
import { Changes } from "./approvals.js";
import { STANDINGS } from "./tools-marks.js";

const asChanges = (changes) => changes.map((each) => ({ ...each, change: each.kind }));

/**
 * A tool that waits for somebody's word: what it is now against what was reviewed, and the word itself. What is shown
 * stays until one asks to look again: it must not become something else between the eye and the finger.
 */
export function Unsettled({ found, changed }) {
  const from = useFetched(() => get(pathOf("tools", found.server, found.tool, "diff")));
  const [problem, setProblem] = useState(null);
  const seen = from.value?.fingerprint;
  const moved = seen && seen !== found.fingerprint;
  const again = () => {
    setProblem(null);
    from.again();
  };
  const trust = async () => {
    setProblem(null);
    try {
      await post(pathOf("tools", found.server, found.tool, "trust"), { fingerprint: seen });
      toast(`${plainly(found.name)} is trusted as it is now.`);
    } catch (refusal) {
      setProblem(refusal);
    }
    changed();
  };
  return html`<${Card} class="unsettled" title=${STANDINGS[found.standing]?.word} actions=${isAdmin.value && found.standing !== "twice" && html`<button type="button" class="good" disabled=${stale.value || !seen} onClick=${trust}>Trust it as it is shown</button>`}>
    <p>${STANDINGS[found.standing]?.says}</p>
    ${problem && html`<${Trouble} problem=${problem} />`}
    ${(moved || problem) && html`<div class="banner wait" role="status"><span>${moved ? "It changed again while you looked." : "What is shown may be out of date."}</span><button type="button" onClick=${again}>Look again</button></div>`}
    <${Fetched} from=${from}>${(value) => html`
      <p class="dull">${value.reviewed_fingerprint ? html`Reviewed <code>${value.reviewed_fingerprint.slice(0, 12)}</code>, shown here <code>${value.fingerprint.slice(0, 12)}</code>` : html`Nobody has reviewed it. Shown here: <code>${value.fingerprint.slice(0, 12)}</code>`}</p>
      ${value.meanings.length > 0 && html`<ul class="plain findings">${value.meanings.map((each, at) => html`<li key=${at}><${Sign} name=${each.grade === "grave" ? "stop" : "alert"} /><span><strong>${each.grade}</strong>: <${Said} text=${each.text} most=${400} /></span></li>`)}</ul>`}
      <${Fields} changes=${value.changes} complete=${value.complete} />`}<//>
  <//>`;
}

const Fields = ({ changes, complete }) => html`<div class="table-box" tabindex="0" role="region" aria-label="Fields that differ"><${Changes} changes=${asChanges(changes)} cut=${!complete} /></div>`;

const HOW = { __proto__: null, baseline: "listed when the server was first seen", appeared: "appeared", changed: "changed", restored: "was as before again" };

export function History({ found }) {
  const from = useFetched(() => get(pathOf("tools", found.server, found.tool, "history")), [found.fingerprint, found.standing]);
  return html`<${Card} title="What it was before"><${Fetched} from=${from}>${(value) => html`
    <ol class="plain history">${value.items.map((each, at) => html`<li key=${at}><${Version} each=${each} /></li>`)}</ol>
    ${!value.items.length && html`<p class="dull">Nothing is on record.</p>`}
    ${!value.complete && html`<p class="dull">There was more than is shown here.</p>`}
    ${value.note && html`<p class="dull"><${Said} text=${value.note} most=${400} /></p>`}`}<//><//>`;
}

function Version({ each }) {
  return html`<p><strong>${HOW[each.how] || each.how}</strong> <${Time} at=${each.seen_at} /> <code title=${each.fingerprint}>${each.fingerprint.slice(0, 12)}</code>${each.listed && html` <span class="badge tone-dull">listed now</span>`}${each.reviewed && html` <span class="badge tone-good">reviewed</span>`}
    ${each.trusted_at && html` <span class="dull">trusted by <${Said} text=${each.trusted_by || "the gateway"} most=${60} /> <${Time} at=${each.trusted_at} /></span>`}</p>
    ${each.changes.length > 0 && html`<details><summary>${each.changes.length} ${each.changes.length === 1 ? "field differs" : "fields differ"} from <code>${each.compared_with?.slice(0, 12) || "nothing"}</code></summary><${Fields} changes=${each.changes} complete=${each.complete} /></details>`}`;
}
