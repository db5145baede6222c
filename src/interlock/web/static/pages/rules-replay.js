// What other rules would have said of the calls of the last days. Nothing is executed, and nothing is changed.

import { html, useState } from "../html.js";
import { pathOf, post } from "../api.js";
import { isAdmin, mayApprove } from "../session.js";
import { Card, ClassBadge, Command, Empty, Sign, StateBadge, Time, Trouble } from "../parts.js";
import { Said } from "../text.js";
import { counted } from "./tools-live.js";

const SPANS = [["1d", "the last day"], ["7d", "the last 7 days"], ["30d", "the last 30 days"]];

export function Replay() {
  const [config, setConfig] = useState("");
  const [since, setSince] = useState("7d");
  const [state, setState] = useState({});
  if (!isAdmin.value && !mayApprove.value) return html`<${Empty} title="This is for admins and approvers." />`;
  const replay = async (event) => {
    event.preventDefault();
    setState({ busy: true });
    const wanted = { since, ...(config.trim() && { config }) };
    setState(await post("/rules/replay", wanted).then((found) => ({ found }), (problem) => ({ problem })));
  };
  return html`<${Card} title="Decide past calls anew"><form onSubmit=${replay}>
    <label>A candidate: a whole interlock.yaml <span class="dull">(empty: the rules in force now)</span><textarea rows="10" spellcheck=${false} value=${config} onInput=${(event) => setConfig(event.target.value)}></textarea></label>
    <div class="buttons"><label>Calls of <select value=${since} onChange=${(event) => setSince(event.target.value)}>${SPANS.map(([each, word]) => html`<option key=${each} value=${each}>${word}</option>`)}</select></label>
    <button type="submit" class="good" disabled=${state.busy}>${state.busy ? "Deciding…" : "Replay"}</button></div>
    <p class="dull">Nothing is executed and nothing is changed. In a terminal: <${Command} text=${`interlock rule replay --since ${since} --config candidate.yaml`} /></p>
  </form><//>
  <div aria-live="polite">${state.problem && html`<div class="faults"><${Trouble} problem=${state.problem} /></div>`}${state.found && html`<${Outcome} found=${state.found} />`}</div>`;
}

function Outcome({ found }) {
  const kinds = Object.entries(found.counts);
  return html`<${Card} title=${found.changed ? `${counted(found.changed, "call")} would be decided otherwise` : "Nothing would change"}>
    <p>${counted(found.calls, "call")} since <${Time} at=${found.since} ago=${false} />${found.skipped > 0 && `; ${found.skipped} could not be decided anew`}.${!found.complete && " There were more calls than were looked at."}</p>
    ${kinds.length > 0 && html`<ul class="plain class-counts">${kinds.map(([kind, count]) => html`<li key=${kind}><span class="badge tone-dull">${kind}</span> ${count.toLocaleString("en")}</li>`)}</ul>`}
    ${found.items.length > 0 && html`<${Changed} items=${found.items} total=${found.changed} />`}
  <//>`;
}

const Changed = ({ items, total }) => html`<div class="table-box" tabindex="0" role="region" aria-label="Calls that would be decided otherwise"><table class="list"><thead><tr><th scope="col">Call</th><th scope="col">Class</th><th scope="col">Caller</th><th scope="col">Before</th><th scope="col">After</th><th scope="col">Because</th><th scope="col">When</th></tr></thead>
  <tbody>${items.map((each) => html`<tr key=${each.activity_id}><th scope="row"><a href=${pathOf("activity", each.activity_id)}><${Said} text=${each.tool} most=${60} /></a>${!each.exact && html` <span class="badge tone-wait" title="Some of its arguments were hidden, so this is not certain."><${Sign} name="question" />not exact</span>`}</th><td><${ClassBadge} safetyClass=${each.safety_class} /></td><td><${Said} text=${each.caller} most=${40} /></td><td><${Side} side=${each.before} /></td><td><${Side} side=${each.after} /></td><td><${Said} text=${each.after.reasons.join("; ")} most=${200} /></td><td><${Time} at=${each.at} /></td></tr>`)}</tbody></table></div>
  ${total > items.length && html`<p class="dull">The newest ${items.length} of ${total.toLocaleString("en")}.</p>`}`;

const Side = ({ side }) => html`<${StateBadge} state=${side.verdict} /> <span class="dull"><${Said} text=${side.rule_id || ""} most=${60} /></span>`;
