// The newest seals on the log, each with the line that can be kept elsewhere.

import { html, useState } from "../html.js";
import { Empty, Sign, Time } from "../parts.js";
import { Mark, Table } from "./agents-parts.js";

const SHORT = 12;
const KINDS = { __proto__: null, checkpoint: ["good", "check", "Checkpoint"], pruned: ["dull", "minus", "Removed up to here"] };

export function Seals({ listed }) {
  if (!listed.items.length) {
    return html`<${Empty} title="Nothing is sealed yet." command="interlock audit checkpoint">A gateway seals its log every thousand records or every minute, and once more when it ends. To do it now:<//>`;
  }
  return html`<h2 class="above">Newest seals</h2>
    <${Table} label="Newest seals" class="short" columns=${["Set", "What it says", "Record", "Hash", "Line for the anchor"]}>
      ${listed.items.map((each) => html`<${Row} key=${`${each.kind} ${each.seq}`} seal=${each} />`)}
    <//>`;
}

function Row({ seal }) {
  const [tone, sign, word] = KINDS[seal.kind] || ["dull", "question", seal.kind];
  return html`<tr>
    <th scope="row"><${Time} at=${seal.at} /></th>
    <td><${Mark} tone=${tone} sign=${sign}>${word}<//></td>
    <td class="number">${seal.seq.toLocaleString()}</td>
    <td><code title=${seal.hash}>${seal.hash.slice(0, SHORT)}…</code></td>
    <td><${Copy} seal=${seal} /></td>
  </tr>`;
}

function Copy({ seal }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await navigator.clipboard.writeText(seal.line).then(() => true, () => false));
    setTimeout(() => setCopied(false), 1500);
  };
  return html`<button type="button" class="quiet" onClick=${copy} aria-label=${`Copy the line of the seal on record ${seal.seq}`}><${Sign} name=${copied ? "check" : "copy"} />${copied ? "Copied" : "Copy"}</button>`;
}
