// Who calls, and what they were given: every principal, and every grant that still can be used.

import { html, useState } from "../html.js";
import { get, pathOf } from "../api.js";
import { isAdmin } from "../session.js";
import { choose, go, query, words } from "../router.js";
import { stale } from "../stream.js";
import { Empty, Fetched, Page, Time, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { AllGrants } from "./agents-grants.js";
import { Agent } from "./agents-one.js";
import { Stopped, Table, useFresh } from "./agents-parts.js";
import { MakeToken } from "./agents-token.js";

const KINDS = ["agent", "human", "service", "outside"];

export function Agents() {
  const name = words.value[1];
  if (name !== undefined) return html`<${Agent} key=${name} name=${name} />`;
  return html`<${Everybody} />`;
}

function Everybody() {
  const [making, setMaking] = useState(false);
  const grants = query.value.view === "grants";
  const tabs = html`<div class="tabs" role="group" aria-label="What is listed"><button type="button" aria-pressed=${!grants} onClick=${() => go("/agents")}>Agents</button><button type="button" aria-pressed=${grants} onClick=${() => go("/agents?view=grants")}>Grants</button></div>`;
  const make = isAdmin.value && html`<button type="button" disabled=${stale.value} onClick=${() => setMaking(true)}>Make a token</button>`;
  return html`<${Page} title="Agents and grants" about=${grants ? "What approvals became and can still be used. Whoever has a grant is not asked about again." : "Everybody who may act here, or could before."} actions=${html`${make}${tabs}`}>
    ${grants ? html`<${AllGrants} />` : html`<${Principals} />`}
    ${making && html`<${MakeToken} onClose=${() => setMaking(false)} />`}
  <//>`;
}

function Principals() {
  const turn = useFresh(["token", "approval", "activity"]);
  const from = useFetched(() => get("/principals"), [turn]);
  const { q = "", kind = "" } = query.value;
  const fits = (each) => (!kind || each.kind === kind) && (!q || `${each.name} ${each.owner || ""} ${each.roles.join(" ")}`.includes(q.toLowerCase()));
  return html`<${Fetched} from=${from}>${({ items }) => html`
    <div class="filters" role="search">
      <label>Name, owner or role <input type="search" value=${q} onInput=${(event) => choose({ q: event.target.value })} /></label>
      <label>Kind <select value=${kind} onChange=${(event) => choose({ kind: event.target.value })}><option value="">any</option>${KINDS.map((each) => html`<option>${each}</option>`)}</select></label>
    </div>
    <${Listed} items=${items.filter(fits)} all=${items.length} />`}<//>`;
}

const COLUMNS = ["Name", "Kind", "Owner", "Roles", "Live tokens", "Last seen", "Waiting", "Grants", "Calls in 24 h"];

function Listed({ items, all }) {
  if (!all) return html`<${Empty} title="Nobody has a token yet." command="interlock token create --name ci --role agent">An agent needs one to be told from others. Make one above, or run:<//>`;
  if (!items.length) return html`<${Empty} title="Nobody fits.">Look for less.<//>`;
  return html`<${Table} label="Agents" columns=${COLUMNS}>${items.map((each) => html`<tr key=${each.name}>
    <th scope="row"><a href=${pathOf("agents", each.name)}><${Said} text=${each.name} most=${64} /></a> <${Stopped} name=${each.name} /></th>
    <td>${each.kind}</td>
    <td>${each.owner && html`<a href=${pathOf("agents", each.owner)}><${Said} text=${each.owner} most=${64} /></a>`}</td>
    <td>${each.roles.join(", ")}</td>
    <td class="number">${each.live_tokens || html`<span class="dull">none</span>`}</td>
    <td><${Time} at=${each.last_seen} /></td>
    <td class="number">${each.pending_approvals}</td><td class="number">${each.live_grants}</td><td class="number">${each.calls_24h}</td>
  </tr>`)}<//>`;
}
