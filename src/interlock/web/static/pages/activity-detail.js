// The story of one activity. Of a call: what became of it stage by stage, with the times that are on record. All of it
// is text of others and shown as such.

import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { get, pathOf, queryOf } from "../api.js";
import { on } from "../stream.js";
import { ClassBadge, Facts, Fetched, Sign, StateBadge, Time, toast, useFetched } from "../parts.js";
import { Whole } from "../tree.js";
import { Long, Said } from "../text.js";
import { DOORS, STATES } from "../words.js";
import { callCommand, curlCommand } from "./activity-again.js";
import { TYPES, isCall, sentence, toolOf } from "./activity-said.js";

const TOPICS = ["activity", "approval"];
/** Of a longer result only the beginning is kept, in bytes. */
const KEPT = 16 * 1024;
/** How ids of approvals look. Only such are asked for. */
const APPROVAL = /^ap_\w+$/;

/** Show one activity, and look again when something is heard of it. */
export function Detail({ id, onClose }) {
  const [turn, setTurn] = useState(0);
  const frame = useRef(null);
  useEffect(() => {
    const ends = TOPICS.map((topic) => on(topic, (event) => event.id === id && setTurn((before) => before + 1)));
    return () => ends.forEach((end) => end());
  }, [id]);
  useEffect(() => {
    // On a small screen it takes the place of the list, so what had the focus is gone.
    if (document.activeElement === document.body || !document.activeElement.checkVisibility()) frame.current.focus();
  }, []);
  const from = useFetched(() => get(pathOf("activity", id)), [id, turn]);
  return html`<article class="approval story" tabindex="-1" ref=${frame} aria-labelledby="story">
    <div class="line"><button type="button" class="link" onClick=${onClose}>Back to the list</button><code class="id"><${Said} text=${id.slice(-8)} /></code></div>
    <${Fetched} from=${from}>${(activity) => (isCall(activity) ? html`<${Call} call=${activity} />` : html`<${Change} change=${activity} />`)}<//>
  </article>`;
}

// Changes --------------------------------------------------------------------------------------------------------

const COLUMNS = ["id", "at", "type", "status", "server", "tool", "caller", "session_id", "workspace_id", "intent_type", "safety_class", "verdict", "rule_id", "approval_id"];

function Change({ change }) {
  const rest = Object.fromEntries(Object.entries(change).filter(([name, value]) => !COLUMNS.includes(name) && value !== null));
  return html`<header><div class="line"><${StateBadge} state=${change.status} /><span class="dull">${TYPES[change.type] || "Something else"}</span></div>
      <h2 id="story"><${Said} text=${sentence(change)} most=${600} /></h2></header>
    <${Facts} rows=${[["When", html`<${Time} at=${change.at} ago=${false} />`], ["Who", change.caller && html`<${Said} text=${change.caller} />`], ["Server", change.server && html`<a href=${pathOf("servers", change.server)}><${Said} text=${change.server} /></a>`], ["Tool", change.tool && html`<${Tool} activity=${change} />`], ["Approval", change.approval_id && html`<${Approval} id=${change.approval_id} />`]]} />
    <section><h3>All that is on record</h3><${Whole} value=${rest} /></section>`;
}

const Tool = ({ activity }) => html`<a href=${pathOf("tools", activity.server, activity.tool)}><${Said} text=${toolOf(activity)} /></a>`;

const Approval = ({ id }) => html`<a href=${pathOf("approvals", id)}><${Said} text=${id.slice(-8)} /></a>`;

// Calls ----------------------------------------------------------------------------------------------------------

function Call({ call }) {
  const held = useFetched(() => (APPROVAL.test(call.approval_id) ? get(pathOf("approvals", call.approval_id)) : Promise.resolve(null)), [call.approval_id, call.status]);
  return html`<header><div class="line"><${StateBadge} state=${call.status} />${call.safety_class && html`<${ClassBadge} safetyClass=${call.safety_class} />`}<span class="grow"></span><${Time} at=${call.at} ago=${false} /></div>
      <h2 id="story"><strong><${Said} text=${call.caller || "somebody"} most=${60} /></strong> called <strong><${Said} text=${toolOf(call)} most=${120} /></strong></h2></header>
    <section><h3>What became of it</h3><${Timeline} call=${call} approval=${held.value || null} /></section>
    <${Arguments} given=${call.arguments} lost=${call.arguments_kept === false} />
    <${Result} call=${call} />
    <section><h3>Who and what</h3><${Facts} rows=${factsOf(call)} /></section>
    <${Again} call=${call} />`;
}

const bytes = (size) => (Number.isFinite(size) ? `${size.toLocaleString()} bytes` : "");

/** Milliseconds as people read them. */
function ms(value) {
  if (value > 0 && value < 1) return `${value.toFixed(2)} ms`;
  if (value > 0 && value < 10) return `${value.toFixed(1)} ms`;
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

/** How long a stage took, in ms; null when that was not measured. */
const spent = (call, stage) => (Number.isFinite(call.timings?.[stage]) ? call.timings[stage] / 1000 : null);

/** The stages that a call went through. `at` is how long after the beginning, `took` how long it lasted, in ms. */
function stagesOf(call, approval) {
  const begin = Date.parse(approval ? approval.created_at : call.at);
  const since = (at) => Date.parse(at) - begin;
  const took = spent(call, "upstream_us");
  const recorded = spent(call, "recorded_us");
  const sent = Boolean(call.timings) || call.status === "sent";
  return [
    { name: "Received", at: 0, says: html`from <${Said} text=${call.caller || "somebody"} most=${60} />${call.entry && html` through <${Said} text=${call.entry} most=${40} />`}` },
    { name: "Classified", says: call.safety_class ? html`<${ClassBadge} safetyClass=${call.safety_class} />${call.class_source && html` by its <${Said} text=${call.class_source} most=${40} />`}` : "The tool is not known, so it has no class." },
    { name: "Intent", says: html`<${Intent} call=${call} />` },
    { name: "Rule", says: html`<${Ruling} call=${call} />` },
    approval && { name: "Held", at: 0, took: approval.decided_at ? since(approval.decided_at) : null, says: html`<a href=${pathOf("approvals", approval.id)}>${approval.status === "pending" ? "and still waiting" : "until it was decided"}</a>` },
    approval?.decided_at && { name: "Decided", at: since(approval.decided_at), says: html`<${StateBadge} state=${approval.status} /> by <${Said} text=${approval.approver || DOORS[approval.approver_type] || "the system"} most=${60} />${approval.resolution && html`: <q><${Said} text=${approval.resolution} most=${400} /></q>`}` },
    recorded !== null && { name: "Recorded", at: since(call.at), took: recorded, says: "on disk before the first byte left" },
    sent && { name: "Forwarded", at: since(call.at) + (recorded ?? 0), says: html`to <${Said} text=${call.server} most=${60} />` },
    { name: call.timings ? "Result" : sent ? "No result yet" : "Refused", at: took === null ? null : since(call.at) + (recorded ?? 0) + took, took, says: html`<${StateBadge} state=${call.status} />${call.result && ` ${bytes(call.result.size)}`}` },
  ].filter(Boolean);
}

function Timeline({ call, approval }) {
  return html`<ol class="timeline">${stagesOf(call, approval).map((each) => html`<li key=${each.name}>
    <span class="name">${each.name}</span><span class="says">${each.says}</span>
    <span class="when">${each.at !== undefined && each.at !== null && html`<span title="After the beginning">+${ms(each.at)}</span>`}${each.took !== undefined && each.took !== null && html` <strong title="How long it took">${ms(each.took)}</strong>`}</span>
  </li>`)}</ol>
  ${!call.timings && call.status !== "sent" && html`<p class="dull">It was not sent to its server.</p>`}`;
}

function Intent({ call }) {
  const { intent, tool_variant: variant, warnings = [] } = call.metadata || {};
  const told = [intent?.operation_type, intent?.data_sensitivity].filter(Boolean).join(", ");
  return html`${told ? html`<${Said} text=${told} most=${120} />` : "nothing was declared"}${variant && html` <span class="dull">(<${Said} text=${variant} most=${40} />)</span>`}
    ${intent?.reason && html`<div class="untrusted"><${Long} text=${intent.reason} quoted=${true} /></div>`}
    ${warnings.map((each) => html`<div class="warning"><${Sign} name="alert" /><${Said} text=${each} most=${400} /></div>`)}`;
}

function Ruling({ call }) {
  return html`${call.verdict && html`<${StateBadge} state=${call.verdict} /> `}${call.rule_id && html`by <code><${Said} text=${call.rule_id} most=${80} /></code>`}
    <ul class="plain">${(call.reasons || []).map((each) => html`<li><${Said} text=${each.text} most=${600} />${each.code && html` <code><${Said} text=${each.code} most=${60} /></code>`}</li>`)}</ul>`;
}

function Arguments({ given, lost }) {
  return html`<section><h3>Arguments</h3>${lost ? html`<p class="dull">${given.bytes.toLocaleString()} bytes, too long to be kept. The names in them:</p><${Whole} value=${given.keys} />` : html`<${Whole} value=${given || {}} />`}</section>`;
}

/** What is JSON is read more easily as a tree. */
function parsed(content) {
  if (typeof content !== "string") return content || null;
  try {
    return /^[{[]/.test(content) ? JSON.parse(content) : null;
  } catch {
    return null;
  }
}

function Result({ call }) {
  const { size, content, error } = call.result || {};
  const tree = useMemo(() => parsed(content), [content]);
  if (!call.result) return null;
  return html`<section><h3>Result <span class="dull">(${bytes(size) || "of unknown length"}; the server's own words)</span></h3>
    ${error && html`<p class="trouble"><${Long} text=${error} /></p>`}
    ${tree && html`<${Whole} value=${tree} />`}
    ${content && !tree && html`<div class="untrusted" tabindex="0" role="region" aria-label="Result"><${Long} text=${content} quoted=${true} /></div>`}
    ${!content && !error && html`<p class="dull">Nothing of it was kept.</p>`}
    ${content && size > KEPT && html`<p class="dull">Only the beginning was kept.</p>`}</section>`;
}

function factsOf(call) {
  const said = (text) => text && html`<${Said} text=${text} />`;
  const others = (name, value) => value && html`<${Said} text=${value} /> <a class="others" href=${`/activity${queryOf({ [name]: value })}`}>all of it</a>`;
  return [
    ["Tool", call.server && call.tool && html`<${Tool} activity=${call} />`],
    ["Caller", call.caller && html`<a href=${pathOf("agents", call.caller)}><${Said} text=${call.caller} /></a> <a class="others" href=${`/activity${queryOf({ caller: call.caller })}`}>all its calls</a>`],
    ["Client (its word)", said(call.client)],
    ["Model (its word)", said(call.model)],
    ["Session", others("session_id", call.session_id)],
    ["Workspace", said(call.workspace_id)],
    ["Approval", call.approval_id && html`<${Approval} id=${call.approval_id} />`],
    ["Class", said(call.safety_class && [call.safety_class, call.class_source && `by its ${call.class_source}`].filter(Boolean).join(", "))],
    ["Verdict", said(call.verdict && (STATES[call.verdict]?.word || call.verdict))],
    ["Rule", said(call.rule_id)],
    ["Request", said(call.request_id)],
    ["Arguments' digest", call.digest && html`<code title=${call.digest}>${call.digest.slice(0, 12)}</code>`],
  ];
}

// Once more ------------------------------------------------------------------------------------------------------

function Again({ call }) {
  const commands = useMemo(() => [["interlock call", callCommand(call)], ["curl", curlCommand(call, location.origin)]], [call]);
  if (!call.server || !call.tool || call.arguments_kept === false) return null;
  const copy = async ([name, text]) => {
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    toast(done ? `Copied as ${name}.` : "This browser does not let pages copy; the text is below.", done ? "good" : "bad");
  };
  return html`<section><h3>Call it again <span class="dull">(it is decided anew; secrets were not kept)</span></h3>
    <div class="buttons">${commands.map((each) => html`<button type="button" key=${each[0]} onClick=${() => copy(each)}><${Sign} name="copy" />Copy as ${each[0]}</button>`)}</div>
    <details><summary>See the commands</summary>${commands.map(([name, text]) => html`<pre class="again" tabindex="0" aria-label=${name}><${Long} text=${text} /></pre>`)}</details>
  </section>`;
}
