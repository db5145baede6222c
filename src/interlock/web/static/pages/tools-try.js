// Trying a tool. The call goes the way of every call of an agent, with what it declares; what would be held is held.
// What is under way outlives this page: somebody may have to go to the approvals and turn the second key.

import { html, signal, useState } from "../html.js";
import { pathOf, raw } from "../api.js";
import { me } from "../session.js";
import { stale } from "../stream.js";
import { pending } from "../queue.js";
import { Card, Sign, StateBadge, Trouble, toast } from "../parts.js";
import { Long, plainly } from "../text.js";
import { Whole } from "../tree.js";
import { Field, argumentsOf, fieldsOf, initialText, parsedObject } from "./tools-fields.js";

const OPERATOR_AGENT = "operator-agent";
const OPERATIONS = { __proto__: null, read: "read: it only looks", write: "write: it changes something", destructive: "destructive: it may destroy something" };
const SENSITIVITIES = ["public", "internal", "private", "unknown"];

/** tool name → `{stop}` while it is under way, then `{answer}` or `{problem}`. */
const runs = signal({});

/** No problem of any field, not even of one that is called like what every object has. */
const NONE = Object.freeze(Object.create(null));

const setRun = (name, run) => (runs.value = { ...runs.value, [name]: run });

async function send(found, body) {
  const stop = new AbortController();
  setRun(found.name, { stop });
  setRun(found.name, await answered(found, body, stop));
  if (location.pathname !== pathOf("tools", found.server, found.tool)) toast(`${plainly(found.name)} answered; look at its page.`);
}

/** A refusal keeps the id of its activity, which the plain request of a page does not. */
async function answered(found, body, stop) {
  try {
    const answer = await raw("POST", pathOf("tools", found.server, found.tool, "call"), body, { signal: stop.signal });
    const said = await answer.json();
    return answer.ok ? { answer: said } : { problem: { message: said.detail, code: said.code, fix: said.fix }, activity: said.activity_id };
  } catch {
    const message = stop.signal.aborted ? "You took the call back." : "The gateway cannot be reached; whether the call ran is not known here.";
    return { problem: { message, code: stop.signal.aborted ? "CANCELLED" : "UNREACHABLE", fix: "Look at its calls." } };
  }
}

export function TryIt({ found }) {
  const fields = fieldsOf(found.input_schema);
  const [typed, setTyped] = useState(() => Object.fromEntries((fields || []).map((each) => [each.name, initialText(each)])));
  const [asJson, setAsJson] = useState(!fields);
  const [json, setJson] = useState("{}");
  const [operation, setOperation] = useState(found.call_with.replace("call_tool_", ""));
  const [sensitivity, setSensitivity] = useState("");
  const [reason, setReason] = useState("");
  const [problems, setProblems] = useState(NONE);
  const run = runs.value[found.name];
  const busy = Boolean(run?.stop);
  const read = () => (asJson ? parsedObject(json) : argumentsOf(fields, typed));
  const submit = (event) => {
    event.preventDefault();
    const { value, problem, problems: wrong } = read();
    setProblems(problem ? { __proto__: null, "": problem } : wrong || NONE);
    if (value === undefined) return;
    const intent = { operation_type: operation, ...(sensitivity && { data_sensitivity: sensitivity }), ...(reason && { reason }) };
    send(found, { arguments: value, entry: "try-it", variant: operation, intent });
  };
  const toJson = () => {
    const { value } = read();
    if (value) setJson(JSON.stringify(value, null, 2));
    setAsJson(true);
  };
  return html`<div class="cards try"><${Card} title="Try it" actions=${fields && html`<div class="tabs" role="group" aria-label="How to type the arguments"><button type="button" aria-pressed=${!asJson} onClick=${() => setAsJson(false)}>Form</button><button type="button" aria-pressed=${asJson} onClick=${toJson}>JSON</button></div>`}>
    <form onSubmit=${submit} novalidate>
      ${asJson
        ? html`<div class="field"><label for="all-arguments">All arguments, as JSON</label><textarea id="all-arguments" rows="8" spellcheck=${false} value=${json} aria-invalid=${Boolean(problems[""])} aria-describedby=${problems[""] ? "all-wrong" : undefined} onInput=${(event) => setJson(event.target.value)}></textarea>${problems[""] && html`<p id="all-wrong" class="wrong">${problems[""]}</p>`}${!fields && html`<p class="dull">Its schema is no plain list of fields.</p>`}</div>`
        : fields.length ? fields.map((each, at) => html`<${Field} key=${each.name} field=${each} at=${at} text=${typed[each.name] ?? ""} problem=${problems[each.name]} onText=${(text) => setTyped({ ...typed, [each.name]: text })} />`) : html`<p class="dull">It takes no arguments that it names.</p>`}
      <fieldset class="declared"><legend>What you declare, as every agent has to</legend>
        <label>Operation <select value=${operation} onChange=${(event) => setOperation(event.target.value)}>${Object.entries(OPERATIONS).map(([each, word]) => html`<option key=${each} value=${each}>${word}</option>`)}</select></label>
        <label>How sensitive <select value=${sensitivity} onChange=${(event) => setSensitivity(event.target.value)}><option value="">not said</option>${SENSITIVITIES.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
        <label>Why <span class="dull">(needed when it is held)</span><input value=${reason} maxlength="1000" onInput=${(event) => setReason(event.target.value)} /></label>
      </fieldset>
      <div class="buttons"><button type="submit" class="good" disabled=${busy || stale.value}>Call it</button>${busy && html`<button type="button" onClick=${() => run.stop.abort()}>Take it back</button>`}</div>
      <p class="dull">It is called as <code>${OPERATOR_AGENT}</code>, through every gate, and it is on record.</p>
    </form><//>
    <${Card} title="What came of it"><div aria-live="polite"><${Outcome} found=${found} run=${run} /></div><//></div>`;
}

// What came of it ------------------------------------------------------------------------------------------------

function Outcome({ found, run }) {
  if (!run) return html`<p class="dull">Nothing yet.</p>`;
  if (run.stop) return html`<${UnderWay} found=${found} />`;
  if (run.problem) {
    return html`<${Trouble} problem=${run.problem} />${run.activity && html`<p><a href=${pathOf("activity", run.activity)}>Why: the record of this call</a> · <a href=${`/rules?${new URLSearchParams({ call: run.activity })}`}>The rules on this call</a></p>`}`;
  }
  return html`<${Answer} answer=${run.answer} />`;
}

/** The request simply waits; what it waits for, if it is held, is in the queue that this browser knows. */
function UnderWay({ found }) {
  const own = [OPERATOR_AGENT, me.value?.name];
  const held = pending.value.findLast((each) => own.includes(each.requester) && each.downstream_server_id === found.server && each.tool === found.tool);
  if (!held) return html`<p><${StateBadge} state="sent" /> The call is on its way.</p>`;
  return html`<p><${StateBadge} state="held" /> It waits for a second key. <a href=${pathOf("approvals", held.id)}>To its approval</a></p><p class="dull">When it is approved, the result appears here.</p>`;
}

function Answer({ answer }) {
  const failed = Boolean(answer.error || answer.result?.isError);
  const texts = Array.isArray(answer.result?.content) ? answer.result.content.filter((each) => each?.type === "text" && typeof each.text === "string") : [];
  return html`<p><${StateBadge} state=${failed ? "error" : "success"} /> <a href=${pathOf("activity", answer.activity_id)}>The record of this call</a></p>
    ${texts.map((each, at) => html`<blockquote key=${at} class="untrusted" tabindex="0" role="region" aria-label=${`Text ${at + 1}`}><${Long} text=${each.text} quoted=${true} /></blockquote>`)}
    <h3><${Sign} name="down" />All of it</h3><div tabindex="0" role="region" aria-label="Result"><${Whole} value=${answer.error || answer.result} /></div>`;
}
