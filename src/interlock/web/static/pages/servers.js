// The servers behind the gateway: how each is doing, what it offers by class, and what last went wrong with it.

import { html } from "../html.js";
import { pathOf } from "../api.js";
import { isAdmin } from "../session.js";
import { stale } from "../stream.js";
import { choose, query, words } from "../router.js";
import { Command, Empty, Facts, Fetched, Page, StateBadge, Time } from "../parts.js";
import { Said } from "../text.js";
import { countBy, counted, useServers, useTools } from "./tools-live.js";
import { AddServer } from "./servers-add.js";
import { ServerDetail } from "./servers-detail.js";
import { Classes, LastProblem, eraOf, sinceOf, stateOf } from "./servers-parts.js";

export function Servers() {
  const id = words.value[1];
  if (id) return html`<${ServerDetail} key=${id} id=${id} />`;
  const adding = query.value.view === "add" && isAdmin.value;
  return html`<${Page} title="Servers" about="The MCP servers behind the gateway. One that is down or lies never disturbs the others."
    actions=${isAdmin.value && !adding && html`<button type="button" disabled=${stale.value} onClick=${() => choose({ view: "add" }, { replace: false })}>Add a server</button>`}>
    ${adding ? html`<${AddServer} />` : html`<${List} />`}
  <//>`;
}

function List() {
  const from = useServers();
  const tools = useTools();
  const byServer = groups(tools.value?.items);
  return html`<${Fetched} from=${from}>${({ items }) => items.length
    ? html`<p class="dull summary" role="status">${summary(items)}</p><ul class="plain cards">${items.map((each) => html`<${Server} key=${each.id} server=${each} tools=${byServer[each.id]} />`)}</ul>`
    : html`<${NoServers} />`}<//>`;
}

const NoServers = () => html`<${Empty} title="There is no server yet." command="interlock server add files --command 'npx -y @modelcontextprotocol/server-filesystem .'">
  Take over those of your clients with <${Command} text="interlock init" />, or add one:
<//>`;

/** server id → its tools; undefined as long as nothing is known. */
function groups(items) {
  const found = Object.create(null); // a server may be called like what every object has
  for (const each of items || []) (found[each.server] ||= []).push(each);
  return found;
}

function summary(items) {
  const counts = countBy(items, stateOf);
  return `${counted(items.length, "server")}: ${Object.entries(counts).map(([state, count]) => `${count} ${state}`).join(", ")}.`;
}

function Server({ server, tools }) {
  const state = stateOf(server);
  return html`<li class="card server">
    <header><h2><a href=${pathOf("servers", server.id)}><${Said} text=${server.id} most=${60} /></a></h2><${StateBadge} state=${state} /></header>
    ${state === "down" && html`<${LastProblem} server=${server} />`}
    <${Facts} rows=${[
      ["Namespace", server.namespace !== server.id && html`<${Said} text=${server.namespace} />`],
      ["Transport", html`<${Said} text=${server.transport} most=${40} />`],
      ["Protocol", server.protocol_version ? html`<${Said} text=${server.protocol_version} most=${40} />, ${eraOf(server.protocol_version)}` : null],
      ["So since", sinceOf(server) && html`<${Time} at=${server.since} />`],
      ["Restarts", String(server.restarts)],
      ["Trusted", server.trusted ? "yes" : "no"],
    ]} />
    <${Classes} server=${server} tools=${tools} />
  </li>`;
}
