// The runs of the lab: what was tried on which server, how it ended, and what was found.

import { html } from "../html.js";
import { get, pathOf } from "../api.js";
import { words } from "../router.js";
import { Empty, Fetched, Page, Time, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { Table, useFresh } from "./agents-parts.js";
import { Ended, Severities } from "./lab-parts.js";
import { LabRun } from "./lab-run.js";

const ABOUT = "Probes and scans of servers, made with interlock on the command line. Each call of them passed the gateway like any other.";

export function Lab() {
  const id = words.value[1];
  if (id) return html`<${LabRun} key=${id} id=${id} />`;
  return html`<${Page} title="Lab" about=${ABOUT}><${List} /><//>`;
}

function List() {
  // A run tells nobody that it ended, but its calls are heard, and what was found is there soon after.
  const turn = useFresh(["activity"]);
  const from = useFetched(() => get("/lab/runs"), [turn]);
  return html`<${Fetched} from=${from}>${({ items, total, unreadable }) => html`
    ${items.length ? html`<${Runs} items=${items} total=${total} />` : html`<${NoRuns} />`}
    ${unreadable > 0 && html`<p class="dull">${unreadable === 1 ? "One report" : `${unreadable} reports`} cannot be read and ${unreadable === 1 ? "is" : "are"} left out.</p>`}`}<//>`;
}

const NoRuns = () => html`<${Empty} title="Nothing was tried yet." command="interlock probe -- COMMAND">
  A probe starts a server, calls what is safe to call with made-up arguments, and says what it found. It shows its plan first with <code>--plan</code>.
<//>`;

function Runs({ items, total }) {
  return html`<${Table} label="Runs" columns=${["When", "Server", "What", "Ended", "Calls", "Findings"]}>${items.map((each) => html`<tr key=${each.id}>
      <th scope="row"><a href=${pathOf("lab", each.id)}><${Time} at=${each.began} /></a></th>
      <td><${Said} text=${each.target} most=${80} /></td>
      <td><${Said} text=${each.verb} most=${20} /></td>
      <td><${Ended} ended=${each.ended} /></td>
      <td class="number">${each.calls}</td>
      <td><${Severities} counts=${each.findings} /></td>
    </tr>`)}<//>
    ${total > items.length && html`<p class="dull">The newest ${items.length} of ${total}. All of them are in the folder <code>lab</code> of the data folder.</p>`}`;
}
