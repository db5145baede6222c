// One run of the lab: what was planned, what was found, and how long the calls took.

import { html, useMemo } from "../html.js";
import { get, pathOf } from "../api.js";
import { Card, Facts, Fetched, Page, Time, span, useFetched } from "../parts.js";
import { Long, Said } from "../text.js";
import { Whole } from "../tree.js";
import { Table } from "./agents-parts.js";
import { Calls } from "./lab-calls.js";
import { Decision, Ended, RANKS, Severities, Severity } from "./lab-parts.js";

const MOST_FINDINGS = 200;

export function LabRun({ id }) {
  const from = useFetched(() => get(pathOf("lab", "runs", id)), [id]);
  const title = from.value ? html`<${Said} text=${from.value.verb} most=${20} /> of <${Said} text=${from.value.target} most=${80} />` : "Run";
  return html`<${Page} title=${title} about=${html`<a href="/lab">All runs</a>`}>
    <${Fetched} from=${from}>${(run) => html`<${Shown} run=${run} />`}<//>
  <//>`;
}

function Shown({ run }) {
  return html`<${Card} title="The run"><${Facts} rows=${factsOf(run)} /><//>
    <${Findings} findings=${run.findings} />
    <${Plan} plan=${run.plan} />
    <${Calls} calls=${run.calls} />
    ${run.notes.length > 0 && html`<${Card} title="Notes">${run.notes.map((each) => html`<p key=${each}><${Long} text=${each} /></p>`)}<//>`}`;
}

function factsOf(run) {
  const { name, version, protocol } = run.server;
  const server = [name, version].filter(Boolean).join(" ");
  const { max_calls: most, concurrency, execute_destructive: destructive, strict } = run.knobs;
  return [
    ["Began", html`<${Time} at=${run.began} />`],
    ["Took", run.seconds < 1 ? "less than a second" : span(run.seconds)],
    ["Ended", html`<${Ended} ended=${run.ended} />`],
    ["Server", server ? html`<${Said} text=${server} most=${120} />` : null],
    ["Protocol", protocol ? html`<${Said} text=${protocol} most=${40} />` : null],
    ["Calls", `${run.calls.length}${most === null ? "" : ` of at most ${most}`}, ${concurrency} at once`],
    ["Destructive tools", destructive ? "called once each" : "not called"],
    ["Presumed to read", strict ? "not called" : null],
  ];
}

function Findings({ findings }) {
  const counts = {};
  for (const { severity } of findings) counts[severity] = (counts[severity] || 0) + 1;
  const sorted = [...findings].sort((one, other) => RANKS.indexOf(one.severity) - RANKS.indexOf(other.severity));
  const left = sorted.length - MOST_FINDINGS;
  return html`<${Card} title="Findings" actions=${html`<${Severities} counts=${counts} />`}>
    ${!sorted.length && html`<p class="dull">There are none.</p>`}
    <ul class="plain lab-findings">${sorted.slice(0, MOST_FINDINGS).map((each, at) => html`<${Finding} key=${at} finding=${each} />`)}</ul>
    ${left > 0 && html`<p class="dull">${left} more are in the report of the run.</p>`}
  <//>`;
}

function Finding({ finding }) {
  return html`<li class="lab-finding">
    <h3><${Severity} severity=${finding.severity} /> <code><${Said} text=${finding.code} most=${60} /></code>${finding.tool !== null && html` <span class="dull">of</span> <${Said} text=${finding.tool} most=${80} />`}</h3>
    <p><${Long} text=${finding.text} /></p>
    ${Object.keys(finding.evidence).length > 0 && html`<${Whole} value=${finding.evidence} />`}
    ${finding.fix && html`<p><strong>Fix:</strong> <${Long} text=${finding.fix} /></p>`}
  </li>`;
}

function Plan({ plan }) {
  const rows = useMemo(() => plan.map((each, at) => html`<tr key=${at}>
    <th scope="row"><${Said} text=${each.tool} most=${80} /></th><td><${Said} text=${each.exec_class} most=${40} /></td><td><${Decision} decision=${each.decision} /></td>
    <td>${each.reason && html`<${Said} text=${each.reason} most=${400} />`}${each.presumed_but_held && html`<span>Presumed to read, though the gateway would ask somebody first.</span>`}</td></tr>`), [plan]);
  if (!plan.length) return null;
  return html`<${Card} title="Plan"><${Table} label="Plan" columns=${["Tool", "Class", "Decision", "Why"]}>${rows}<//><//>`;
}
