// Grants: what approvals became and can still be used, taken back one by one or all together.

import { html, useState } from "../html.js";
import { del, get, pathOf } from "../api.js";
import { isAdmin, mayApprove } from "../session.js";
import { stale } from "../stream.js";
import { ClassBadge, Countdown, Empty, Fetched, now, toast, useFetched } from "../parts.js";
import { Said, plainly } from "../text.js";
import { Ask, Table, useFresh } from "./agents-parts.js";

const SCOPES = { __proto__: null, once: "this call, once", identical: "the same arguments", tool: "any call of the tool" };
const mayRevoke = () => isAdmin.value || mayApprove.value;

/** All live grants, or those of one caller. */
export function useGrants(caller) {
  const turn = useFresh(["approval", "activity"]);
  return useFetched(() => get("/grants").then(({ items }) => (caller ? items.filter((each) => each.caller === caller) : items)), [turn]);
}

export function AllGrants() {
  const from = useGrants();
  return html`<${Fetched} from=${from}>${(items) => html`<${Grants} items=${items} again=${from.again} />`}<//>`;
}

const isLive = (grant) => Date.parse(grant.expires_at) > now.value;

export function Grants({ items, again, caller }) {
  const [asked, setAsked] = useState(null);
  const live = items.filter(isLive);
  if (!live.length && caller) return html`<p class="dull">It has none: each call that needs an approval waits for one.</p>`;
  if (!live.length) {
    return html`<${Empty} title="No grant is alive." command="interlock approval approve ID --scope identical --for 15m">A grant comes from an approval that was given for more than one call:<//>`;
  }
  return html`${mayRevoke() && live.length > 1 && html`<div class="buttons above"><button type="button" class="bad" disabled=${stale.value} onClick=${() => setAsked(live)}>Revoke all ${live.length}</button></div>`}
    <${Table} label="Live grants" columns=${columns(caller)}>${live.map((each) => html`<${Row} key=${each.id} grant=${each} caller=${caller} onRevoke=${() => setAsked([each])} />`)}<//>
    ${asked && html`<${Revoke} grants=${asked} again=${again} onClose=${() => setAsked(null)} />`}`;
}

const columns = (caller) => ["Tool", !caller && "Agent", "What may run", "Class", "Given by", "Time left", "Used", "Uses left", mayRevoke() && ""].filter((each) => each !== false && each !== undefined);

function Row({ grant, caller, onRevoke }) {
  return html`<tr>
    <th scope="row"><a href=${pathOf("tools", grant.server, grant.tool)}><${Said} text=${`${grant.server}:${grant.tool}`} most=${60} /></a></th>
    ${!caller && html`<td><a href=${pathOf("agents", grant.caller)}><${Said} text=${grant.caller} most=${64} /></a></td>`}
    <td><a href=${pathOf("approvals", grant.approval_id)}>${SCOPES[grant.scope] || grant.scope}</a></td>
    <td><${ClassBadge} safetyClass=${grant.safety_class} /></td>
    <td><${Said} text=${grant.given_by.join(", ")} most=${64} /></td>
    <td><${Countdown} until=${grant.expires_at} /></td>
    <td class="number">${grant.uses}</td>
    <td class="number">${grant.uses_left ?? "any"}</td>
    ${mayRevoke() && html`<td><button type="button" class="bad" disabled=${stale.value} onClick=${onRevoke} aria-label=${plainly(`Revoke the grant for ${grant.server}:${grant.tool}`)}>Revoke</button></td>`}
  </tr>`;
}

function Revoke({ grants, again, onClose }) {
  const revoke = async () => {
    const done = await Promise.allSettled(grants.map((each) => del(pathOf("grants", each.id))));
    again();
    // One that ran out meanwhile is as gone as was wanted.
    const failed = done.find((each) => each.status === "rejected" && each.reason.status !== 404);
    if (failed) throw failed.reason;
    toast(grants.length === 1 ? "The grant is revoked." : `${grants.length} grants are revoked.`);
  };
  return html`<${Ask} title=${grants.length === 1 ? "Revoke this grant" : `Revoke all ${grants.length} grants`} verb="Revoke" act=${revoke} onClose=${onClose}>
    <p>The next call that needs ${grants.length === 1 ? "it" : "one of them"} waits for an approval again. Calls that run already are not stopped.</p>
    <ul>${grants.slice(0, 20).map((each) => html`<li key=${each.id}><${Said} text=${`${each.server}:${each.tool}`} most=${60} /> for <${Said} text=${each.caller} most=${64} /></li>`)}</ul>
    ${grants.length > 20 && html`<p class="dull">And ${grants.length - 20} more.</p>`}
  <//>`;
}
