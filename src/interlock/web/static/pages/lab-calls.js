// The calls of a run: one bar for how long each tool took, and the calls one by one.

import { html, useState } from "../html.js";
import { pathOf } from "../api.js";
import { Card } from "../parts.js";
import { Said } from "../text.js";
import { Whole } from "../tree.js";
import { Table } from "./agents-parts.js";
import { Outcome, milliseconds } from "./lab-parts.js";

const STEP = 50;

export function Calls({ calls }) {
  const [most, setMost] = useState(STEP);
  if (!calls.length) return null;
  const left = calls.length - most;
  return html`<${Card} title="Times"><${Times} calls=${calls} /><//>
    <${Card} title="Calls"><${Table} label="Calls" columns=${["Tool", "Arguments were", "Became", "Took", "Arguments"]}>${calls.slice(0, most).map((each, at) => html`<tr key=${at}>
      <th scope="row">${each.activity ? html`<a href=${pathOf("activity", each.activity)}><${Said} text=${each.tool} most=${80} /></a>` : html`<${Said} text=${each.tool} most=${80} />`}</th>
      <td><${Said} text=${each.kind} most=${20} /></td><td><${Outcome} outcome=${each.outcome} /></td><td class="number">${milliseconds(each.milliseconds)}</td>
      <td><${Arguments} value=${each.arguments} /></td></tr>`)}<//>
    ${left > 0 && html`<p><button type="button" class="link" onClick=${() => setMost(most + STEP)}>Show ${Math.min(left, STEP)} more of ${calls.length} calls</button></p>`}<//>`;
}

/** Folded, because most are not worth a look. */
function Arguments({ value }) {
  const [open, setOpen] = useState(false);
  if (!Object.keys(value).length) return html`<span class="dull">none</span>`;
  return html`<details onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>Show</summary>${open && html`<${Whole} value=${value} />`}</details>`;
}

/** Half of the calls took no longer than the dark part of a bar, nearly all no longer than the light part. */
function Times({ calls }) {
  const tools = timesOf(calls);
  const longest = Math.max(...tools.map((each) => each.p95), 1);
  return html`<p class="dull">The dark part is as long as half of the calls took at most, the light part as long as 95 of 100 did. Longer times are drawn shorter than they are.</p>
    <ul class="plain lab-times">${tools.map((each) => html`<li key=${each.tool}>
      <span class="lab-tool"><${Said} text=${each.tool} most=${60} /></span>
      <span class="lab-bar" aria-hidden="true"><span class="p95" style=${{ width: share(each.p95, longest) }}></span><span class="p50" style=${{ width: share(each.p50, longest) }}></span></span>
      <span class="lab-figures">p50 ${milliseconds(each.p50)}, p95 ${milliseconds(each.p95)}</span>
    </li>`)}</ul>`;
}

/** By the logarithm, so that one call without an answer does not hide the others. */
const share = (value, longest) => `${(100 * Math.log1p(Math.max(value, 0))) / Math.log1p(longest)}%`;

/** The times by tool. A call that the gateway refused never reached the server, so its time says nothing. */
function timesOf(calls) {
  const found = new Map();
  for (const each of calls) {
    if (each.outcome === "refused") continue;
    if (!found.has(each.tool)) found.set(each.tool, []);
    found.get(each.tool).push(each.milliseconds);
  }
  return [...found].map(([tool, times]) => {
    times.sort((one, other) => one - other);
    const at = (percent) => times[Math.max(Math.ceil((times.length * percent) / 100) - 1, 0)];
    return { tool, p50: at(50), p95: at(95) };
  });
}
