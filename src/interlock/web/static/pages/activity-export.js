// Everything that fits the filter as a file. It is fetched with the session of this browser, piece by piece, so that it
// can be told how far it is; what breaks off is not saved, because half a record looks like a whole one.

import { html, signal } from "../html.js";
import { Problem, queryOf, raw } from "../api.js";
import { Trouble, toast } from "../parts.js";

const FORMS = { __proto__: null, jsonl: "application/x-ndjson", csv: "text/csv" };
const BROKEN = { __proto__: null, detail: "The export broke off, so nothing was saved.", code: "EXPORT_BROKEN", fix: "Try again, or choose a shorter time." };

/** The export that is under way: how many rows have come, and how to give it up. */
const running = signal(null);
const trouble = signal(null);

/** Counts the lines that end in each piece. In CSV a line end within quotes belongs to a cell. */
function lineCounter(form) {
  let quoted = false;
  return (piece) => {
    let lines = 0;
    for (const byte of piece) {
      if (byte === 34 && form === "csv") quoted = !quoted;
      else if (byte === 10 && !quoted) lines += 1;
    }
    return lines;
  };
}

async function fetched(wanted, form, { signal: ended, onRows }) {
  const answer = await raw("GET", `/activity/export${queryOf({ ...wanted, format: form })}`, undefined, { signal: ended, headers: { accept: FORMS[form] } });
  if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})));
  const [pieces, count] = [[], lineCounter(form)];
  let lines = form === "csv" ? -1 : 0; // the first line of CSV names the columns
  for (const reader = answer.body.getReader(); ; ) {
    const { value, done } = await reader.read();
    if (done) return { file: new Blob(pieces, { type: FORMS[form] }), rows: lines };
    pieces.push(value);
    lines += count(value);
    onRows(Math.max(0, lines));
  }
}

function save(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function run(wanted, form) {
  const ended = new AbortController();
  trouble.value = null;
  running.value = { form, rows: 0, stop: () => ended.abort() };
  try {
    const { file, rows } = await fetched(wanted, form, { signal: ended.signal, onRows: (count) => (running.value = { ...running.value, rows: count }) });
    save(file, `activity.${form}`);
    toast(`${rows.toLocaleString()} ${rows === 1 ? "row" : "rows"} saved as activity.${form}.`);
  } catch (problem) {
    if (!ended.signal.aborted) trouble.value = problem instanceof Problem ? problem : new Problem(0, BROKEN);
  }
  running.value = null;
}

export function Export({ wanted }) {
  const now = running.value;
  if (now) return html`<span role="status">${now.rows.toLocaleString()} rows…</span><button type="button" onClick=${now.stop}>Stop the export</button>`;
  return html`<button type="button" onClick=${() => run(wanted, "jsonl")}>Export JSONL</button><button type="button" onClick=${() => run(wanted, "csv")}>Export CSV</button>`;
}

export const ExportTrouble = () => trouble.value && html`<${Trouble} problem=${trouble.value} />`;
