// The queue: what waits for a second key, and everything that a reviewer needs to know to turn it or not.

import { html, signal, useEffect, useLayoutEffect, useState } from "../html.js";
import { get, pathOf, post } from "../api.js";
import { isAdmin, mayApprove, me } from "../session.js";
import { choose, go, query, words } from "../router.js";
import { fetched, found, learn, pending } from "../queue.js";
import { stale } from "../stream.js";
import { useKeys } from "../keys.js";
import { Countdown, ClassBadge, Command, Dialog, Empty, Facts, Page, Sign, StateBadge, Time, Trouble, Waiting, now, span, toast, useFetched } from "../parts.js";
import { Rows } from "../rows.js";
import { Whole } from "../tree.js";
import { Long, Said } from "../text.js";
import { CLASSES, DOORS, GRAVE } from "../words.js";

const TRY = `interlock call tool-destructive --tool-name sample:delete_note --json_args '{"name": "welcome"}' --reason 'it was read'`;
const ROW_HEIGHT = 64;
const SETTLE_MS = 400;

/** What is being done about the approval that is shown: null, "deny", "more". */
const doing = signal(null);
/** The id of what was approved with a first press, and waits for the second. Looking elsewhere takes it back. */
const armed = signal("");
/** Whether what is shown has only just come into sight, or was only just armed: nobody can have read it yet. */
const settling = signal(false);
let settled = 0;

/** Let no approval count for a moment, so that a second press is a second thought and not a shaking hand. */
function settle() {
  settling.value = true;
  clearTimeout(settled);
  settled = setTimeout(() => (settling.value = false), SETTLE_MS);
}

/** Ids whose answer is on its way. */
const sending = signal(new Set());
const trouble = signal({ id: "", problem: null });

export function Approvals() {
  const history = query.value.view === "history";
  return html`<${Page} title="Approvals" about="Calls that wait for a second key. Nobody approves a call of their own."
    actions=${html`<div class="tabs" role="group" aria-label="Which approvals"><button type="button" aria-pressed=${!history} onClick=${() => go("/approvals")}>Waiting <span class="count">${pending.value.length}</span></button><button type="button" aria-pressed=${history} onClick=${() => go("/approvals?view=history")}>History</button></div>`}>
    ${history ? html`<${History} />` : html`<${Queue} />`}
  <//>`;
}

// The queue ------------------------------------------------------------------------------------------------------

function Queue() {
  const chosenId = words.value[1] || "";
  const items = pending.value;
  const at = items.findIndex((each) => each.id === chosenId);
  const shown = found(chosenId);
  useEffect(() => {
    if (!chosenId && items.length && isWide()) select(items[0].id);
  }, [chosenId, items.length]);
  useEffect(() => {
    if (chosenId && !shown) get(pathOf("approvals", chosenId)).then(learn, () => {});
  }, [chosenId]);
  // Before it is seen, so that no key that was meant for another call counts for this one.
  useLayoutEffect(() => {
    doing.value = null;
    armed.value = "";
    settle();
  }, [chosenId]);
  const move = (by) => items.length && select(items[Math.min(items.length - 1, Math.max(0, at < 0 ? 0 : at + by))].id);
  // Where what is shown was answered meanwhile, a key leads to what waits next and does nothing else.
  const onShown = (act) => (shown?.status === "pending" ? act(shown) : items.length && select(items[0].id));
  useKeys("Approvals", [
    { key: "j", says: "Next", moves: true, does: () => move(1) },
    { key: "k", says: "Previous", moves: true, does: () => move(-1) },
    { key: "ArrowDown", says: "Next", moves: true, does: () => move(1) },
    { key: "ArrowUp", says: "Previous", moves: true, does: () => move(-1) },
    { key: "a", says: "Approve this call once (twice for what is dangerous)", does: () => onShown(approveOnce) },
    { key: "Escape", says: "Take a first press back", does: () => (armed.value = "") },
    { key: "A", says: "Approve more widely, or classify the tool", does: () => onShown((it) => canAnswer(it) && (doing.value = "more")) },
    { key: "d", says: "Deny, with a reason if you like", does: () => onShown((it) => canAnswer(it) && (doing.value = "deny")) },
  ]);
  if (!fetched.value && !items.length && !shown) return stale.value ? html`<${Waiting} />` : html`<${Waiting} />`;
  if (!items.length && !shown) {
    return html`<${Empty} title="Nothing waits." command=${TRY}>When an agent calls something that needs a second key, it appears here by itself. To see it happen with the sample server, run:<//>`;
  }
  return html`<div class=${`split ${chosenId ? "chosen" : ""}`}>
    <div class="split-list">
      <${Rows} class="queue" items=${items} height=${ROW_HEIGHT} chosen=${at} role="listbox" tabindex="0" aria-label="Calls that wait" aria-activedescendant=${at >= 0 ? `row-${chosenId}` : undefined}
        row=${(each) => html`<${Row} key=${each.id} approval=${each} chosen=${each.id === chosenId} />`} />
      <p class="unseen" aria-live="polite">${items.length} ${items.length === 1 ? "call waits" : "calls wait"}</p>
    </div>
    <div class="split-detail">${shown ? html`<${Detail} key=${shown.id} approval=${shown} next=${() => move(1)} />` : chosenId ? html`<${Empty} title="This approval is not known here.">It may be of another gateway.<//>` : null}</div>
  </div>`;
}

/** Whether the list and what is chosen stand beside each other; else the list comes first. */
const isWide = () => matchMedia("(min-width: 60rem)").matches;
const select = (id) => go(pathOf("approvals", id), { replace: true });

function Row({ approval, chosen }) {
  return html`<div id=${`row-${approval.id}`} class="row" role="option" aria-selected=${chosen} onClick=${() => select(approval.id)}>
    <div class="line"><span class="tool"><${Said} text=${approval.tool_name} most=${60} /></span><${ClassBadge} safetyClass=${approval.safety_class} /></div>
    <div class="line dull"><span class="from"><${Said} text=${approval.requester} most=${40} /></span><${Countdown} until=${approval.expires_at} /></div>
  </div>`;
}

// One approval ---------------------------------------------------------------------------------------------------

function Detail({ approval }) {
  const waits = approval.status === "pending";
  return html`<article class="approval" aria-labelledby="what">
    <button type="button" class="link back" onClick=${() => go("/approvals")}>Back to the list</button>
    <header>
      <div class="line"><${ClassBadge} safetyClass=${approval.safety_class} /><${StateBadge} state=${approval.status} />${waits && html`<${Countdown} until=${approval.expires_at} />`}<span class="grow"></span><code class="id" title=${approval.id}>${approval.id.slice(-8)}</code></div>
      <h2 id="what"><${Sentence} approval=${approval} /></h2>
    </header>
    ${trouble.value.id === approval.id && html`<${Trouble} problem=${trouble.value.problem} />`}
    ${waits ? html`<${Answers} approval=${approval} />` : html`<${Outcome} approval=${approval} />`}
    <${Justification} approval=${approval} />
    <${Arguments} approval=${approval} />
    ${approval.arguments_kept !== false && html`<${Difference} approval=${approval} />`}
    <section><h3>Who asks, and why it is held</h3><${Facts} rows=${factsOf(approval)} /></section>
    <${LastCalls} approval=${approval} />
  </article>`;
}

/** What is asked, as a person would say it. Everything in it that is not ours stands in quotes or is a name. */
function Sentence({ approval }) {
  const main = Object.entries(approval.arguments || {}).filter(([, value]) => typeof value === "string" && value.length <= 60).slice(0, 2);
  return html`<strong><${Said} text=${approval.requester} most=${60} /></strong> wants to call <strong><${Said} text=${approval.tool} most=${80} /></strong> of <strong><${Said} text=${approval.downstream_server_id} most=${60} /></strong>${main.map(([name, value], at) => html`${at ? ", " : " with "}<${Said} text=${name} most=${40} /> <q><${Said} text=${value} /></q>`)}. ${(CLASSES[approval.safety_class] || CLASSES.unknown).does}`;
}

function factsOf(approval) {
  const said = (text) => text && html`<${Said} text=${text} />`;
  return [
    ["Agent", html`<a href=${pathOf("agents", approval.requester)}><${Said} text=${approval.requester} /></a>`],
    ["Owner", said(approval.owner)],
    ["Client (its word)", said(approval.request_client_type)],
    ["Model (its word)", said(approval.request_model)],
    ["Session", said(approval.request_session_id)],
    ["Workspace", approval.workspace_id && html`<${Said} text=${approval.workspace_name || approval.workspace_id} />`],
    ["Declared", approval.intent?.operation_type && html`<${Said} text=${[approval.intent.operation_type, approval.intent.data_sensitivity].filter(Boolean).join(", ")} />`],
    ["Class", said(`${approval.safety_class}${approval.class_source ? `, by its ${approval.class_source}` : ""}`)],
    ["Held by", said(approval.route_rule_id)],
    ["Because", approval.reasons?.length ? html`<ul class="plain">${approval.reasons.map((each) => html`<li><${Said} text=${each.text} most=${400} /></li>`)}</ul>` : null],
    ["Tool", html`<a href=${pathOf("tools", approval.downstream_server_id, approval.tool)}><${Said} text=${approval.tool_name} /></a>`],
    ["Runs with", said(approval.auth_scope_id)],
    ["Answered by", said(`${approval.approvers.join(", ") || "anyone with the role of an approver"}${approval.four_eyes ? ", but not the owner" : ""}`)],
    ["Votes", approval.approvals_needed > 1 && said(`${approval.votes.length} of ${approval.approvals_needed}${approval.votes.length ? `: ${approval.votes.map((each) => each.approver).join(", ")}` : ""}`)],
    ["Asked", html`<${Time} at=${approval.created_at} />`],
    ["Definition", html`<code title=${approval.tool_fingerprint}>${approval.tool_fingerprint.slice(0, 12)}</code>`],
    ["Arguments' digest", html`<code title=${approval.digest}>${approval.digest.slice(0, 12)}</code>`],
  ];
}

function Justification({ approval }) {
  return html`<section><h3>The agent says <span class="dull">(its own word; nobody checked it)</span></h3>
    <blockquote class="untrusted"><${Long} text=${approval.justification || "nothing"} quoted=${true} /></blockquote>
  </section>`;
}

function Arguments({ approval }) {
  const given = approval.arguments;
  const lost = approval.arguments_kept === false;
  return html`<section><h3>Arguments ${!lost && html`<span class="dull">(in full, except for secrets)</span>`}</h3>
    ${lost ? html`<p class="trouble">The arguments are ${given.bytes} bytes long, too long to be kept, so you cannot see what you would approve.</p>` : html`<${Whole} value=${given || {}} />`}
  </section>`;
}

function Difference({ approval }) {
  const from = useFetched(() => get(pathOf("approvals", approval.id, "difference")), [approval.id]);
  const value = from.value;
  if (!value) return null;
  if (!value.against) return html`<section><h3>Compared with the last approved call</h3><p class="dull">No call of this tool was approved before.</p></section>`;
  return html`<section><h3>Compared with the last approved call</h3>
    <p class="dull">Of <${Said} text=${value.against.requester} />, approved by <${Said} text=${value.against.approver || "the system"} /> <${Time} at=${value.against.decided_at} />.</p>
    <${Changes} changes=${value.changes} cut=${value.cut} />
  </section>`;
}

const CHANGE_WORDS = { __proto__: null, added: "new", removed: "gone", changed: "changed" };

export function Changes({ changes, cut }) {
  if (!changes.length) return html`<p>The arguments are the same.</p>`;
  const shown = (value) => html`<${Long} text=${typeof value === "string" ? value : JSON.stringify(value)} />`;
  return html`<table class="changes"><thead><tr><th scope="col">Where</th><th scope="col">Before</th><th scope="col">Now</th></tr></thead>
    <tbody>${changes.map((each) => html`<tr><th scope="row"><${Said} text=${each.path} /> <span class="dull">${CHANGE_WORDS[each.change]}</span></th><td class="before">${each.change !== "added" && shown(each.before)}</td><td class="after">${each.change !== "removed" && shown(each.after)}</td></tr>`)}</tbody></table>
    ${cut && html`<p class="dull">There are more differences than are shown here.</p>`}`;
}

function LastCalls({ approval }) {
  const from = useFetched(() => get("/activity", { caller: approval.requester, type: "tool_call,policy_decision", limit: 5 }), [approval.id]);
  const items = from.value?.items || [];
  if (!items.length) return null;
  return html`<section><h3>What this agent did last</h3><ul class="plain last-calls">
    ${items.map((each) => html`<li key=${each.id}><a href=${pathOf("activity", each.id)}><${Said} text=${`${each.server}:${each.tool}`} most=${60} /></a> <${StateBadge} state=${each.status} /> <span class="dull"><${Time} at=${each.at} /></span></li>`)}
  </ul></section>`;
}

function Outcome({ approval }) {
  const who = approval.approver || DOORS[approval.approver_type] || "the system";
  const own = approval.approver === me.value?.name;
  return html`<div class="outcome" role="status"><p><${StateBadge} state=${approval.status} /> by <strong><${Said} text=${own ? "you" : who} /></strong>${approval.approver && approval.approver_type && ` (${DOORS[approval.approver_type]})`} <${Time} at=${approval.decided_at} />${approval.resolution && html`: <q><${Said} text=${approval.resolution} most=${400} /></q>`}</p></div>`;
}

// Answers --------------------------------------------------------------------------------------------------------

const isOver = (approval) => Date.parse(approval.expires_at) <= now.value;

/** Why an approval cannot be answered here; empty when it can. */
function obstacle(approval) {
  if (approval.status !== "pending") return "It was answered already.";
  if (!mayApprove.value) return "You do not have the role of an approver.";
  if (approval.requester === me.value.name) return "It is your own call; somebody else has to answer it.";
  if (stale.value) return "Not connected: this may have been answered already.";
  if (isOver(approval)) return "Its time is up.";
  return "";
}

const canAnswer = (approval) => !obstacle(approval) && !sending.value.has(approval.id);
const isArmed = (approval) => armed.value === approval.id;

function approveOnce(approval) {
  if (!canAnswer(approval) || settling.value) return;
  if (GRAVE.has(approval.safety_class) && !isArmed(approval)) {
    armed.value = approval.id;
    settle();
    return;
  }
  answer(approval, "approve", { digest: approval.digest });
}

async function answer(approval, verb, body) {
  sending.value = new Set([...sending.value, approval.id]);
  trouble.value = { id: "", problem: null };
  try {
    const done = await post(pathOf("approvals", approval.id, verb), body);
    learn(done);
    toast(done.status === "pending" ? `Your yes counts; ${done.approvals_needed - done.votes.length} more needed.` : `${done.status === "approved" ? "Approved" : "Denied"}: ${done.tool_name}`, done.status === "denied" ? "bad" : "good");
    advance(approval);
  } catch (problem) {
    if (problem.winner || problem.code === "ALREADY_RESOLVED") get(pathOf("approvals", approval.id)).then(learn, () => {});
    trouble.value = { id: approval.id, problem };
  } finally {
    doing.value = null;
    armed.value = "";
    sending.value = new Set([...sending.value].filter((each) => each !== approval.id));
  }
}

/** To what waits next, if the one that was answered is still the one that is looked at. */
function advance(approval) {
  if (words.value[1] !== approval.id) return;
  const next = pending.value.find((each) => each.created_at >= approval.created_at && each.id !== approval.id) || pending.value[0];
  if (next) select(next.id);
}

function Answers({ approval }) {
  const why = obstacle(approval);
  const off = Boolean(why) || sending.value.has(approval.id);
  const ready = isArmed(approval);
  return html`<div class="answers">
    <div class="buttons">
      <button type="button" class=${`good ${ready ? "armed" : ""}`} disabled=${off || settling.value} onClick=${(event) => event.detail < 2 && approveOnce(approval)}>${ready ? "Press again to approve" : "Approve once"} <kbd>a</kbd></button>
      <button type="button" disabled=${off} onClick=${() => (doing.value = "more")}>More… <kbd>A</kbd></button>
      <button type="button" class="bad" disabled=${off} onClick=${() => (doing.value = "deny")}>Deny <kbd>d</kbd></button>
      ${why && html`<span class="dull why">${why}</span>`}
    </div>
    ${ready && html`<p role="alert" class="armed-note"><${Sign} name="alert" />${CLASSES[approval.safety_class]?.does || CLASSES.unknown.does} Press <kbd>a</kbd> once more to let it run, <kbd>Esc</kbd> to leave it.</p>`}
    ${doing.value === "deny" && html`<${Deny} approval=${approval} off=${off} />`}
    ${doing.value === "more" && html`<${More} approval=${approval} />`}
  </div>`;
}

const QUICK_REASONS = ["Not now", "Wrong target", "Ask me first"];

function Deny({ approval, off }) {
  const [reason, setReason] = useState("");
  const deny = (resolution) => answer(approval, "deny", { resolution });
  return html`<form class="deny" onSubmit=${(event) => { event.preventDefault(); deny(reason); }} onKeyDown=${(event) => event.key === "Escape" && (doing.value = null)}>
    <label>Why not? The agent is told; it may stay empty. <input ref=${(field) => field && !field.dataset.seen && ((field.dataset.seen = "1"), field.focus())} value=${reason} maxlength="1000" onInput=${(event) => setReason(event.target.value)} /></label>
    <div class="buttons"><button type="submit" class="bad" disabled=${off}>Deny <kbd>Enter</kbd></button>
      ${QUICK_REASONS.map((each) => html`<button type="button" disabled=${off} onClick=${() => deny(each)}>${each}</button>`)}
      <button type="button" onClick=${() => (doing.value = null)}>Leave it <kbd>Esc</kbd></button></div>
  </form>`;
}

/** How widely this may be given: never more for what is dangerous, and never for longer than the rule says. */
function More({ approval }) {
  const longest = approval.max_grant_sec;
  const [scope, setScope] = useState("once");
  const [seconds, setSeconds] = useState(Math.min(900, longest));
  const [reason, setReason] = useState("");
  const [safetyClass, setClass] = useState("");
  const scopes = [
    ["once", "This call, once", true],
    ["identical", "The same call with the same arguments, again and again", longest > 0],
    ["tool", "Any call of this tool by this agent", longest > 0 && !GRAVE.has(approval.safety_class)],
  ];
  const times = [60, 300, 900, 3600, 14_400, 86_400].filter((each) => each < longest).concat(longest || []);
  const close = () => (doing.value = null);
  const send = async (event) => {
    event.preventDefault();
    if (safetyClass) return classify(approval, safetyClass, reason);
    return answer(approval, "approve", { digest: approval.digest, scope, resolution: reason, ...(scope !== "once" && { duration: `${seconds}s` }) });
  };
  return html`<${Dialog} title="Approve more widely" onClose=${close}><form onSubmit=${send}>
    <fieldset><legend>What may run</legend>
      ${scopes.map(([value, word, possible]) => html`<label class=${possible ? "" : "dull"}><input type="radio" name="scope" value=${value} disabled=${!possible} checked=${!safetyClass && scope === value} onChange=${() => { setScope(value); setClass(""); }} /> ${word}${!possible && (longest ? " (not for what is dangerous or unknown)" : " (the rule allows this call only)")}</label>`)}
    </fieldset>
    ${scope !== "once" && !safetyClass && html`<label>For how long <select value=${seconds} onChange=${(event) => setSeconds(Number(event.target.value))}>${times.map((each) => html`<option value=${each}>${span(each)}</option>`)}</select></label>`}
    ${isAdmin.value && html`<label>Or classify this tool for good <select value=${safetyClass} onChange=${(event) => setClass(event.target.value)}><option value="">no</option>${Object.keys(CLASSES).filter((each) => each !== "unknown").map((each) => html`<option value=${each}>as ${each}</option>`)}</select></label>
      ${safetyClass && html`<p class="dull">This answers nothing: the call waits on, and the next ones are decided by the new class.</p>`}`}
    <label>A note for the record <input value=${reason} maxlength="1000" onInput=${(event) => setReason(event.target.value)} /></label>
    <div class="buttons"><button type="submit" class="good">${safetyClass ? "Classify" : "Approve"}</button><button type="button" onClick=${close}>Leave it</button></div>
    <p class="dull">In a terminal: <${Command} text=${`interlock approval approve ${approval.id.slice(-4)}${scope === "once" ? "" : ` --scope ${scope} --for ${seconds}s`}`} /></p>
  </form><//>`;
}

async function classify(approval, safetyClass, resolution) {
  try {
    await post(pathOf("approvals", approval.id, "classify"), { safety_class: safetyClass, resolution });
    toast(`${approval.tool_name} is ${safetyClass} from now on.`);
  } catch (problem) {
    trouble.value = { id: approval.id, problem };
  }
  doing.value = null;
}

// What was answered ----------------------------------------------------------------------------------------------

const HISTORY_PAGE = 50;

function History() {
  const { status = "", offset = "0" } = query.value;
  const from = useFetched(() => get("/approvals", { status, limit: HISTORY_PAGE, offset }), [status, offset]);
  const first = Number(offset);
  const chosen = words.value[1];
  return html`<div class="filters"><label>Status <select value=${status} onChange=${(event) => choose({ status: event.target.value, offset: "" })}><option value="">any</option>${["approved", "denied", "timeout", "cancelled", "pending"].map((each) => html`<option>${each}</option>`)}</select></label></div>
    ${from.problem && html`<${Trouble} problem=${from.problem} again=${from.again} />`}
    ${!from.value ? html`<${Waiting} />` : !from.value.items.length ? html`<${Empty} title="Nothing was asked yet.">Once a call was held, it stays here with who answered it.<//>` : html`
      <div class="table-box"><table class="list"><thead><tr><th scope="col">Status</th><th scope="col">Tool</th><th scope="col">Class</th><th scope="col">Agent</th><th scope="col">By</th><th scope="col">Waited</th><th scope="col">Asked</th></tr></thead>
      <tbody>${from.value.items.map((each) => html`<tr key=${each.id} aria-selected=${each.id === chosen}><td><${StateBadge} state=${each.status} /></td><td><a href=${pathOf("approvals", each.id)}><${Said} text=${each.tool_name} most=${60} /></a></td><td><${ClassBadge} safetyClass=${each.safety_class} /></td><td><${Said} text=${each.requester} most=${40} /></td><td><${Said} text=${each.approver || (each.status === "pending" ? "" : "system")} most=${40} /></td><td>${each.decided_at && span((Date.parse(each.decided_at) - Date.parse(each.created_at)) / 1000)}</td><td><${Time} at=${each.created_at} /></td></tr>`)}</tbody></table></div>
      <div class="pager"><button type="button" disabled=${first === 0} onClick=${() => choose({ offset: Math.max(0, first - HISTORY_PAGE) || "" })}>Newer</button><span class="dull">${first + 1}–${first + from.value.items.length} of ${from.value.total}</span><button type="button" disabled=${first + HISTORY_PAGE >= from.value.total} onClick=${() => choose({ offset: first + HISTORY_PAGE })}>Older</button></div>`}`;
}
