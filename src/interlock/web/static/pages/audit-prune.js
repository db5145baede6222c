// Removing old records: first what would go, then, with a second press, that it goes.

import { html, useState } from "../html.js";
import { post } from "../api.js";
import { stale } from "../stream.js";
import { Dialog, Time, Trouble, toast } from "../parts.js";

const AGES = [["7d", "a week"], ["30d", "30 days"], ["90d", "90 days"], ["180d", "half a year"], ["365d", "a year"], ["0s", "now: everything that may go"]];

export function Prune({ again, onClose }) {
  const [age, setAge] = useState("90d");
  const [foreseen, setForeseen] = useState(undefined); // undefined: not asked yet; null: nothing would go
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const choose = (event) => {
    setAge(event.target.value);
    setForeseen(undefined); // what was shown is not what would go now
  };
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { pruned } = await post("/audit/prune", { older_than: age, dry_run: !foreseen });
      if (!foreseen) setForeseen(pruned);
      else {
        toast(pruned ? `Records up to ${pruned.seq} are removed.` : "There was nothing left to remove.");
        again();
        onClose();
      }
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Remove old records" onClose=${onClose}><form onSubmit=${submit}>
    <p>Whole sealed stretches go, oldest first, and never the newest one nor a call that is under way. A seal says that they went, so the log still holds together. The database stays as large; new records take the room.</p>
    <label>Remove what is older than <select value=${age} onChange=${choose}>${AGES.map(([value, word]) => html`<option value=${value}>${word}</option>`)}</select></label>
    <div role="status">${foreseen === null && html`<p>There is nothing to remove.</p>`}
      ${foreseen && html`<p class="armed-note"><span>Records up to ${foreseen.seq.toLocaleString()}, sealed <${Time} at=${foreseen.at} />, would be removed for good.</span></p>`}</div>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons">
      <button type="submit" class=${foreseen ? "bad" : ""} disabled=${busy || stale.value || foreseen === null}>${foreseen ? "Remove them for good" : "Show what would go"}</button>
      <button type="button" onClick=${onClose}>Leave it</button>
    </div>
  </form><//>`;
}
