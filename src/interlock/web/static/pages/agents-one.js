// One principal: what it may do, what it was given, what it did last, and how to stop it.

import { html, useState } from "../html.js";
import { get, pathOf, post, queryOf } from "../api.js";
import { freezes } from "../freeze.js";
import { isAdmin, mayApprove } from "../session.js";
import { stale } from "../stream.js";
import { Card, ClassBadge, Empty, Facts, Fetched, Page, Sign, StateBadge, Time, toast, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { Grants, useGrants } from "./agents-grants.js";
import { Ask, Stopped, Table, useFresh } from "./agents-parts.js";
import { MakeToken, Tokens } from "./agents-token.js";

const LAST = 10;
const CALLS = "tool_call,policy_decision";

export function Agent({ name }) {
  const turn = useFresh(["token", "approval", "activity"]);
  const from = useFetched(() => get("/principals").then(({ items }) => items.find((each) => each.name === name) || null), [name, turn]);
  return html`<${Page} title=${html`<${Said} text=${name} most=${80} /> <${Stopped} name=${name} />`} about=${html`<a href="/agents">All agents</a>`} actions=${html`<${Actions} name=${name} />`}>
    <${Fetched} from=${from}>${(principal) => html`
      ${principal ? html`<${Card} title="Who it is"><${Facts} rows=${factsOf(principal)} /><//>` : html`<${Empty} title="Nobody here has this name.">It may be known to an issuer elsewhere, or have called without a token. What is on record of it stands below.<//>`}
      ${isAdmin.value && principal && html`<${TokensOf} name=${name} turn=${turn} />`}
      <${GrantsOf} name=${name} />
      <${LastCalls} name=${name} turn=${turn} />
      <${LastApprovals} name=${name} turn=${turn} />`}<//>
  <//>`;
}

function factsOf(principal) {
  return [
    ["Kind", principal.kind],
    ["Owner", principal.owner && html`<a href=${pathOf("agents", principal.owner)}><${Said} text=${principal.owner} /></a>`],
    ["Roles", principal.roles.join(", ") || "none"],
    ["Live tokens", String(principal.live_tokens)],
    ["Last seen", html`<${Time} at=${principal.last_seen} />`],
    ["Waiting", html`${principal.pending_approvals} ${principal.pending_approvals === 1 ? "call" : "calls"}`],
    ["Calls in 24 h", String(principal.calls_24h)],
  ];
}

function Actions({ name }) {
  const [asked, setAsked] = useState(null);
  const stopped = freezes.value.some((each) => each.caller === name);
  const close = () => setAsked(null);
  const stop = async (form) => {
    await post("/freeze", { caller: name, reason: form.get("reason") });
    toast(`${name} is stopped.`, "bad");
  };
  return html`${isAdmin.value && html`<button type="button" disabled=${stale.value} onClick=${() => setAsked("token")}>Make a token for it</button>`}
    ${(isAdmin.value || mayApprove.value) && !stopped && html`<button type="button" class="bad" disabled=${stale.value} onClick=${() => setAsked("stop")}><${Sign} name="stop" />Stop this one</button>`}
    ${asked === "token" && html`<${MakeToken} name=${name} onClose=${close} />`}
    ${asked === "stop" && html`<${Ask} title="Stop one caller" verb="Stop it" act=${stop} onClose=${close}>
      <p>No call of <strong><${Said} text=${name} /></strong> runs until an admin lets it go on. Its calls are refused and told so; its grants stay.</p>
      <label>Why (it is told) <input name="reason" maxlength="1000" /></label>
    <//>`}`;
}

function TokensOf({ name, turn }) {
  const from = useFetched(() => get("/tokens").then(({ items }) => items.filter((each) => each.name === name).reverse()), [name, turn]);
  return html`<${Card} title="Tokens"><${Fetched} from=${from}>${(items) => html`<${Tokens} items=${items} again=${from.again} />`}<//><//>`;
}

function GrantsOf({ name }) {
  const from = useGrants(name);
  return html`<${Card} title="Live grants"><${Fetched} from=${from}>${(items) => html`<${Grants} items=${items} again=${from.again} caller=${name} />`}<//><//>`;
}

function LastCalls({ name, turn }) {
  const from = useFetched(() => get("/activity", { caller: name, type: CALLS, limit: LAST }), [name, turn]);
  const all = html`<a href=${`/activity${queryOf({ caller: name })}`}>All of them</a>`;
  return html`<${Card} title="Last calls" actions=${all}><${Fetched} from=${from}>${({ items }) => items.length ? html`<${Table} label="Last calls" columns=${["Tool", "Class", "Outcome", "When"]}>${items.map((each) => html`<tr key=${each.id}>
    <th scope="row"><a href=${pathOf("activity", each.id)}><${Said} text=${[each.server, each.tool].filter(Boolean).join(":") || each.type} most=${60} /></a></th><td>${each.safety_class && html`<${ClassBadge} safetyClass=${each.safety_class} />`}</td><td><${StateBadge} state=${each.status} /></td><td><${Time} at=${each.at} /></td></tr>`)}<//>` : html`<p class="dull">It has called nothing yet.</p>`}<//><//>`;
}

/** What became of an approval, in the words that the queue uses. */
const OUTCOMES = { __proto__: null, created: "pending", voted: "pending" };

function LastApprovals({ name, turn }) {
  const from = useFetched(() => get("/activity", { caller: name, type: "approval", limit: LAST }), [name, turn]);
  return html`<${Card} title="Its approvals"><${Fetched} from=${from}>${({ items }) => items.length ? html`<${Table} label="Its approvals" columns=${["Tool", "Class", "Became", "Answered by", "Asked"]}>${items.map((each) => html`<tr key=${each.id}>
    <th scope="row"><a href=${pathOf("approvals", each.approval_id)}><${Said} text=${`${each.server}:${each.tool}`} most=${60} /></a></th><td><${ClassBadge} safetyClass=${each.safety_class} /></td><td><${StateBadge} state=${OUTCOMES[each.change] || each.change} /></td><td>${each.approver && html`<${Said} text=${each.approver} most=${64} />`}</td><td><${Time} at=${each.at} /></td></tr>`)}<//>` : html`<p class="dull">No call of it was ever held.</p>`}<//><//>`;
}
