// The proof of the record: whether it is what was written, how far it is sealed, and what was removed of it. The gateway
// answers for itself here, so the page also says how to check it without asking the gateway.

import { html, signal, useState } from "../html.js";
import { get, post } from "../api.js";
import { useKeys } from "../keys.js";
import { isAdmin } from "../session.js";
import { stale } from "../stream.js";
import { Card, Command, Facts, Fetched, Page, Sign, Time, Trouble, now, toast, useFetched } from "../parts.js";
import { Long, Said } from "../text.js";
import { Mark, useFresh } from "./agents-parts.js";
import { Prune } from "./audit-prune.js";
import { Seals } from "./audit-seals.js";

const ABOUT = "Whether the record is what was written, and how far it is sealed.";

/** The last check of this page: it stays when one looks elsewhere, and says when it was. */
const checked = signal({ busy: false });

async function verify() {
  if (checked.value.busy) return;
  checked.value = { ...checked.value, busy: true };
  try {
    const found = await get("/audit/verify");
    checked.value = { busy: false, found, at: new Date(now.value).toISOString() };
  } catch (problem) {
    checked.value = { busy: false, problem };
  }
}

export function Audit() {
  const turn = useFresh(["activity", "system", "token", "config"]);
  const from = useFetched(() => get("/audit/checkpoints"), [turn]);
  useKeys("Audit", [{ key: "v", says: "Verify now", does: verify }]);
  return html`<${Page} title="Audit" about=${ABOUT} actions=${isAdmin.value && html`<${Actions} again=${from.again} />`}>
    <${Verdict} />
    <${Fetched} from=${from}>${(listed) => html`
      ${listed.disagreement && html`<${Trouble} problem=${{ message: listed.disagreement, fix: "Check the log, and keep a copy of the data folder before anything else." }} />`}
      ${listed.problem && html`<${Trouble} problem=${{ message: `The log is not sealed further: ${listed.problem}`, fix: "See that the database can be written to, that the folder of the anchor is there, and that seal.key can be used. It is tried again by itself." }} />`}
      <${Figures} listed=${listed} found=${checked.value.found} />
      <div class="cards halves"><${Kept} listed=${listed} found=${checked.value.found} /><${Worth} listed=${listed} /></div>
      <${Seals} listed=${listed} />`}<//>
  <//>`;
}

function Actions({ again }) {
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState(false);
  const seal = async () => {
    setBusy(true);
    try {
      const { checkpoint } = await post("/audit/checkpoint");
      toast(checkpoint ? `The log is sealed up to record ${checkpoint.seq}.` : "There is nothing to seal yet.");
      again();
    } catch (problem) {
      toast(problem.message, "bad");
    }
    setBusy(false);
  };
  return html`<button type="button" disabled=${busy || stale.value} onClick=${seal}>Seal now</button>
    <button type="button" class="bad" disabled=${stale.value} onClick=${() => setAsked(true)}>Remove old records…</button>
    ${asked && html`<${Prune} again=${again} onClose=${() => setAsked(false)} />`}`;
}

// The answer -----------------------------------------------------------------------------------------------------

function Verdict() {
  const { busy, found, problem, at } = checked.value;
  const [tone, sign] = found ? (found.intact ? ["good", "check"] : ["bad", "alert"]) : ["dull", "question"];
  return html`<section class=${`verdict ${tone}`} aria-label="The check of the log">
    <${Sign} name=${sign} />
    <div class="found" role="status">
      <h2>${busy ? "Checking…" : titleOf(found)}</h2>
      ${problem && html`<${Trouble} problem=${problem} />`}
      ${found ? html`<${Findings} found=${found} at=${at} />` : html`<p>The check reads every record, its hash, its seals and its anchor. Calls go on meanwhile.</p>`}
    </div>
    <div class="buttons"><button type="button" class="good" disabled=${busy} onClick=${verify}>${busy ? "Checking…" : found ? "Verify again" : "Verify now"} <kbd>v</kbd></button></div>
  </section>`;
}

const titleOf = (found) => {
  if (!found) return "Not checked yet";
  const logs = found.others.length + 1;
  if (found.intact) return logs > 1 ? `All ${logs} logs are intact` : "The log is intact";
  if (found.broken) return `Broken at record ${found.broken.seq}`;
  return found.beside.length > 0 ? "Broken: what is kept beside the log does not agree with it" : "Broken: the log of another gateway";
};

function Findings({ found, at }) {
  const span = found.first === null ? "There was no record to check" : `Records ${found.first} to ${found.last} were checked`;
  return html`
    ${found.broken && html`<p><strong><${Long} text=${`Record ${found.broken.seq}: ${found.broken.problem}.`} /></strong></p>`}
    ${found.beside.length > 0 && html`<ul>${found.beside.map((each) => html`<li><${Said} text=${each} most=${400} /></li>`)}</ul>`}
    <p>${span}, <${Time} at=${at} />.${found.unsealed > 0 && ` The newest ${found.unsealed} hang together and are not sealed yet.`}</p>
    ${!found.intact && html`<p>Keep a copy of the data folder before anything else, and check it elsewhere.</p>`}
    ${found.notes.map((each) => html`<p><${Said} text=${each} most=${400} /></p>`)}
    ${found.others.length > 0 && html`<h3>Logs of other gateways</h3><ul>${found.others.map((each) => html`<li><code>${each.chain}</code>: ${other(each)}</li>`)}</ul>`}`;
}

const other = (found) => [
  found.broken ? `broken at record ${found.broken.seq}: ${found.broken.problem}.` : `intact, ${found.records} records.`,
  ...found.notes,
].join(" ");

// What there is --------------------------------------------------------------------------------------------------

const newest = (listed, kind) => listed.items.find((each) => each.kind === kind);
const Figure = ({ name, children }) => html`<div class="figure"><dt class="dull">${name}</dt><dd>${children}</dd></div>`;
const number = (value) => html`<span class="number">${value.toLocaleString()}</span>`;
const unknown = html`<span class="dull small">after the check</span>`;

function Figures({ listed, found }) {
  const sealed = newest(listed, "checkpoint")?.seq ?? 0;
  return html`<dl class="figures">
    <${Figure} name="Newest record">${number(listed.end)}<//>
    <${Figure} name="Sealed up to">${number(sealed)}<//>
    <${Figure} name="Not sealed yet">${number(Math.max(0, listed.end - sealed))}<//>
    <${Figure} name="Anchored up to">${!found ? unknown : found.anchored === null ? html`<span class="small">no anchor</span>` : number(found.anchored)}<//>
    <${Figure} name="Checkpoints">${found ? number(found.checkpoints) : unknown}<//>
  </dl>`;
}

function Kept({ listed, found }) {
  const pruned = newest(listed, "pruned");
  const upto = pruned?.seq ?? found?.pruned ?? 0;
  return html`<${Card} title="What is kept"><${Facts} rows=${[
    ["Removed", upto ? html`records up to ${upto.toLocaleString()}, <${Time} at=${pruned?.at ?? found.pruned_at} />; a seal says so` : "nothing"],
    ["Anchor", html`<code><${Said} text=${listed.anchor} most=${200} /></code>`],
    ["Where it lies", listed.elsewhere ? html`<${Mark} tone="good" sign="check">outside the data folder<//>` : html`<${Mark} tone="wait" sign="alert">beside the log<//> <span class="dull"><code>record.anchor</code> puts it elsewhere</span>`],
    ["Key", newest(listed, "checkpoint") ? html`<code>${newest(listed, "checkpoint").key}</code>` : "made with the first seal"],
    ["Log", html`<code><${Said} text=${listed.chain} most=${80} /></code>`],
  ]} /><//>`;
}

/** What the log promises and what it does not, and how to check it without believing this page. */
const Worth = () => html`<${Card} title="Tamper-evident, not immutable">
  <p>A change shows. Whoever has the database, the key and the anchor can still write another history, so keep the anchor where they cannot reach it.</p>
  <div class="audit-ways"><p>Check it without asking this gateway:</p>
    <${Command} text="interlock audit verify --anchor FILE" />
    <p>Or take it with you, and check it anywhere:</p>
    <${Command} text="interlock audit export -o log.jsonl" />
    <${Command} text="interlock audit verify --export log.jsonl --key seal.pub" />
  </div>
<//>`;
