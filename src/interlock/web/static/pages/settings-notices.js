// Who is told of approvals outside of this page, and what became of it.

import { html } from "../html.js";
import { get, pathOf } from "../api.js";
import { Card, Fetched, Time, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { Mark, Table } from "./agents-parts.js";

const MOST = 50;
const STATUSES = {
  __proto__: null,
  delivered: ["good", "check", "Delivered"],
  retrying: ["wait", "clock", "To be tried again"],
  failed: ["bad", "cross", "Given up"],
};

export function Notices({ turn }) {
  const from = useFetched(() => get("/notices"), [turn]);
  return html`<${Card} title="Notices"><${Fetched} from=${from}>${(found) => html`<${Shown} found=${found} />`}<//><//>`;
}

function Shown({ found }) {
  if (!found.configured && !found.problems.length) {
    return html`<p>Nobody is told of approvals outside of this page. <span class="dull">Webhooks and a command are named under <code>notices</code> in the configuration file.</span></p>`;
  }
  return html`${found.problems.map((each) => html`<div class="trouble" key=${each.text}><p><strong><${Said} text=${each.text} most=${400} /></strong></p><p><${Said} text=${each.fix} most=${400} /></p></div>`)}
    ${!found.deliveries.length ? html`<p class="dull">Nothing was sent since the gateway started.</p>` : html`
      <${Table} class="short" label="Deliveries" columns=${["When", "To", "What", "Attempt", "Became"]}>${found.deliveries.slice(0, MOST).map((each) => html`<${Delivery} delivery=${each} />`)}<//>
      <p class="dull">The last ${Math.min(MOST, found.deliveries.length)}. Those that ended are in the record too.</p>`}`;
}

function Delivery({ delivery }) {
  const [tone, sign, word] = STATUSES[delivery.status] || ["dull", "minus", delivery.status];
  return html`<tr><th scope="row"><${Time} at=${delivery.at} /></th><td><${Said} text=${delivery.target} most=${80} /></td>
    <td><a href=${pathOf("approvals", delivery.approval_id)}>${delivery.event}</a></td><td class="number">${delivery.attempt}</td>
    <td><${Mark} tone=${tone} sign=${sign}>${word}<//> <${Said} text=${delivery.detail} most=${200} /></td></tr>`;
}
