// What the rules say of one call: of one that was made, or of one that is only thought of. Nothing is executed.

import { html, useEffect, useState } from "../html.js";
import { get, pathOf, post } from "../api.js";
import { isAdmin, mayApprove } from "../session.js";
import { choose, query } from "../router.js";
import { Card, ClassBadge, Empty, Facts, Fetched, Sign, StateBadge, Time, Trouble, useFetched } from "../parts.js";
import { Said, isPlain, plainly } from "../text.js";
import { Terms } from "./rules-words.js";
import { parsedObject } from "./tools-fields.js";
import { useTools } from "./tools-live.js";

const RECENT = 30;
const OFFERED = 30;

export function TestRule() {
  const [wanted, setWanted] = useState(null);
  const { call } = query.value;
  useEffect(() => {
    if (call) setWanted({ activity_id: call });
  }, [call]);
  if (!isAdmin.value && !mayApprove.value) return html`<${Empty} title="This is for admins and approvers." />`;
  const think = (thought) => {
    choose({ view: "test", call: "" });
    setWanted(thought);
  };
  return html`<div class="cards"><${PastCall} call=${call} /><${ThoughtCall} onTest=${think} /></div>
    ${wanted && html`<${Trial} key=${JSON.stringify(wanted)} wanted=${wanted} />`}`;
}

// Which call -----------------------------------------------------------------------------------------------------

function PastCall({ call = "" }) {
  const from = useFetched(() => get("/activity", { type: "tool_call,policy_decision", limit: RECENT }));
  const [id, setId] = useState(call);
  useEffect(() => setId(call), [call]);
  const test = (event) => {
    event.preventDefault();
    if (id.trim()) choose({ view: "test", call: id.trim() }, { replace: false });
  };
  return html`<${Card} title="A call that was made"><${Fetched} from=${from}>${({ items }) => html`<form onSubmit=${test}>
    ${items.length ? html`<label>One of the last <select value=${items.some((each) => each.id === call) ? call : ""} onChange=${(event) => choose({ view: "test", call: event.target.value }, { replace: false })}>
      <option value="">choose</option>${items.map((each) => html`<option key=${each.id} value=${each.id}>${plainly(`${each.server}:${each.tool}`.slice(0, 80))} by ${plainly(String(each.caller).slice(0, 40))}, ${each.status}, ${new Date(each.at).toLocaleTimeString()}</option>`)}
    </select></label>` : html`<p class="dull">No call is on record yet.</p>`}
    <label>Or its id <input value=${id} autocomplete="off" maxlength="100" onInput=${(event) => setId(event.target.value)} /></label>
    <div class="buttons"><button type="submit" disabled=${!id.trim()}>Test it</button></div>
  </form>`}<//><//>`;
}

function ThoughtCall({ onTest }) {
  const tools = useTools().value?.items || [];
  const [tool, setTool] = useState("");
  const [json, setJson] = useState("");
  const [more, setMore] = useState({});
  const [problem, setProblem] = useState("");
  const set = (name) => (event) => setMore({ ...more, [name]: event.target.value });
  const offered = tools.filter((each) => each.name.includes(tool) && isPlain(each.name)).slice(0, OFFERED);
  const test = (event) => {
    event.preventDefault();
    const { value, problem: wrong = "" } = parsedObject(json);
    setProblem(wrong);
    const given = Object.fromEntries(Object.entries(more).filter(([, each]) => each));
    if (!wrong) onTest({ tool, args: value, ...given });
  };
  return html`<${Card} title="A call that is only thought of"><form onSubmit=${test}>
    <label>Tool <input required list="known-tools" placeholder="server:tool" autocomplete="off" value=${tool} onInput=${(event) => setTool(event.target.value)} /></label>
    <datalist id="known-tools">${offered.map((each) => html`<option key=${each.name} value=${each.name}></option>`)}</datalist>
    <label>Arguments, as JSON <textarea rows="3" spellcheck=${false} placeholder="{}" value=${json} aria-invalid=${Boolean(problem)} aria-describedby=${problem ? "test-wrong" : undefined} onInput=${(event) => setJson(event.target.value)}></textarea></label>
    ${problem && html`<p id="test-wrong" class="wrong" role="alert">${problem}</p>`}
    <div class="pair"><label>Operation <select value=${more.operation_type || ""} onChange=${set("operation_type")}><option value="">as its class says</option>${["read", "write", "destructive"].map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
    <label>Caller <input placeholder="any" autocomplete="off" value=${more.caller || ""} onInput=${set("caller")} /></label>
    <label>Workspace <input placeholder="the default" autocomplete="off" value=${more.workspace_id || ""} onInput=${set("workspace_id")} /></label></div>
    <div class="buttons"><button type="submit">Test it</button></div>
  </form><//>`;
}

// What is said of it ---------------------------------------------------------------------------------------------

function Trial({ wanted }) {
  const from = useFetched(() => post("/rules/test", wanted));
  if (from.problem) return html`<${Trouble} problem=${from.problem} again=${from.again} />`;
  return html`<${Fetched} from=${from}>${(found) => html`<${Card} title=${html`What is said of <${Said} text=${found.tool} most=${100} />`} actions=${html`<${StateBadge} state=${found.verdict} />`}>
    ${found.recorded && html`<${Recorded} found=${found} />`}
    ${!found.exact && html`<p class="banner wait"><${Sign} name="alert" /><span>Not exact: <${Said} text=${found.why_not_exact} most=${400} /></span></p>`}
    <${Facts} rows=${factsOf(found)} />
    <h3>Gate by gate</h3><${Trace} trace=${found.trace} />
    ${found.not_checked.length > 0 && html`<p class="dull">Not looked at here: ${found.not_checked.join(", ")}.</p>`}
  <//>`}<//>`;
}

const factsOf = (found) => [
  ["Decided by", html`<code><${Said} text=${found.rule_id} /></code>`],
  ["Because", html`<ul class="plain">${found.reasons.map((each, at) => html`<li key=${at}><${Said} text=${each.message} most=${400} />${each.code && html` <code>${each.code}</code>`}${each.fix && html` <span class="dull"><${Said} text=${each.fix} most=${400} /></span>`}</li>`)}</ul>`],
  ["Class", html`<${ClassBadge} safetyClass=${found.safety_class} /> <span class="dull">by its <${Said} text=${found.class_source} most=${40} /></span>`],
  ["Operation", html`<${Said} text=${found.operation_type} most=${40} />`],
  ["Caller", found.caller && html`<${Said} text=${found.caller} />`],
  ["Workspace", found.workspace && html`<${Said} text=${found.workspace} />`],
  ["Posture", found.posture],
  ["Rules that match", found.matching_rules.length > 0 && html`<${Said} text=${found.matching_rules.join(", ")} most=${400} />`],
  ["Approval", found.approval && html`<${Terms} terms=${found.approval} />`],
];

function Recorded({ found: { recorded, verdict } }) {
  const same = recorded.verdict === verdict;
  return html`<p>When it was made (<a href=${pathOf("activity", recorded.id)}><${Time} at=${recorded.at} /></a>), the verdict was <${StateBadge} state=${recorded.verdict} /> by <code><${Said} text=${recorded.rule_id || "a gate"} /></code>, and its end was <${StateBadge} state=${recorded.status} />. ${same ? "It would be the same now." : html`<strong>It would be different now.</strong>`}</p>`;
}

const OUTCOMES = { __proto__: null, passed: "passed", "not reached": "not reached" };

const Trace = ({ trace }) => html`<div class="table-box" tabindex="0" role="region" aria-label="Gate by gate"><table class="list"><thead><tr><th scope="col">Gate</th><th scope="col">Outcome</th><th scope="col">Why</th></tr></thead>
  <tbody>${trace.map((each, at) => html`<tr key=${at} class=${each.outcome === "not reached" ? "dull" : ""}><th scope="row">${each.step}</th><td>${OUTCOMES[each.outcome] ? html`<span class="dull">${OUTCOMES[each.outcome]}</span>` : html`<${StateBadge} state=${each.outcome} />`}</td><td><${Said} text=${each.text} most=${400} /></td></tr>`)}</tbody></table></div>`;
