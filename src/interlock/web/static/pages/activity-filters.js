// Which part of the record is shown. Every choice stands in the address; known values are offered, and any may be typed.

import { html, useState } from "../html.js";
import { get } from "../api.js";
import { choose, query } from "../router.js";
import { useFetched } from "../parts.js";
import { isPlain } from "../text.js";
import { CLASSES, STATES } from "../words.js";
import { CALLS, TYPES } from "./activity-said.js";

const STATUSES = ["success", "error", "blocked", "denied", "timeout", "cancelled", "indeterminate", "sent", "held"];
const TIMES = ["15m", "1h", "24h", "7d", "30d"];
const NAMES = ["type", "status", "server", "tool", "caller", "session_id", "intent_type", "safety_class", "verdict", "since", "until"];
const SELDOM = ["session_id", "intent_type", "safety_class", "verdict", "since", "until"];

/** What is asked of REST. Without a choice of the type these are calls; `all` is everything. */
export function wantedOf(chosen) {
  const wanted = Object.fromEntries(NAMES.filter((name) => chosen[name]).map((name) => [name, chosen[name]]));
  if (wanted.type === "all") delete wanted.type;
  else wanted.type ??= CALLS.join();
  return wanted;
}

export const isFiltered = (chosen) => NAMES.some((name) => chosen[name] && !(name === "type" && chosen.type === "all"));
const clear = () => choose(Object.fromEntries(NAMES.map((name) => [name, ""])));

function Choice({ name, word, any = "any", options }) {
  const value = query.value[name] || "";
  const known = options.some(([each]) => each === value) || !value;
  return html`<label>${word} <select id=${`filter-${name}`} value=${value} onChange=${(event) => choose({ [name]: event.target.value })}>
    <option value="">${any}</option>${options.map(([each, says]) => html`<option value=${each}>${says}</option>`)}${!known && html`<option value=${value}>as in the address</option>`}
  </select></label>`;
}

function Field({ name, word, known = [], hint }) {
  // What is being typed, apart from what is chosen: else it would be gone as soon as something happens.
  const [typed, setTyped] = useState(null);
  const take = (event) => {
    choose({ [name]: event.target.value.trim() });
    setTyped(null);
  };
  return html`<label>${word} <input id=${`filter-${name}`} value=${typed ?? (query.value[name] || "")} onInput=${(event) => setTyped(event.target.value)} list=${`known-${name}`} placeholder=${hint} size="16" autocomplete="off" spellcheck=${false} onChange=${take} /></label>
    <datalist id=${`known-${name}`}>${known.slice(0, 500).map((each) => html`<option value=${each} />`)}</datalist>`;
}

const named = (table, names) => names.map((each) => [each, table[each]?.word || each]);
/** What is not seen as it is is not offered: whoever wants it comes from where it is shown. */
const distinct = (values) => [...new Set(values.filter((each) => each && isPlain(each)))].sort();

export function Filters({ rows }) {
  const servers = useFetched(() => get("/servers"));
  const tools = useFetched(() => get("/tools"));
  const callers = useFetched(() => get("/principals"));
  const { server } = query.value;
  const seldom = SELDOM.filter((name) => query.value[name]).length;
  const [open, setOpen] = useState(seldom > 0);
  const fitting = (tools.value?.items || []).filter((each) => !server || each.server === server);
  const seen = rows.slice(0, 500);
  return html`<search class="filters" aria-label="Filters">
    <${Choice} name="type" word="Type" any="calls" options=${[["all", "everything"], ...Object.entries(TYPES).map(([each, says]) => [each, says.toLowerCase()])]} />
    <${Choice} name="status" word="Status" options=${named(STATES, STATUSES)} />
    <${Field} name="server" word="Server" known=${distinct((servers.value?.items || []).map((each) => each.id))} />
    <${Field} name="tool" word="Tool" known=${distinct(fitting.map((each) => each.tool))} />
    <${Field} name="caller" word="Caller" known=${distinct([...(callers.value?.items || []).map((each) => each.name), ...seen.map((each) => each.caller)])} />
    <button type="button" aria-expanded=${open} aria-controls="seldom" onClick=${() => setOpen(!open)}>More filters${seldom ? ` (${seldom})` : ""}</button>
    ${isFiltered(query.value) && html`<button type="button" onClick=${clear}>Clear</button>`}
    <div id="seldom" class="filters" hidden=${!open}>
      <${Field} name="session_id" word="Session" known=${distinct(seen.map((each) => each.session_id))} />
      <${Choice} name="intent_type" word="Intent" options=${["read", "write", "destructive"].map((each) => [each, each])} />
      <${Choice} name="safety_class" word="Class" options=${named(CLASSES, Object.keys(CLASSES))} />
      <${Choice} name="verdict" word="Verdict" options=${named(STATES, ["allow", "hold", "deny"])} />
      <${Field} name="since" word="Since" known=${TIMES} hint="1h, or a time (UTC)" />
      <${Field} name="until" word="Until" known=${TIMES} hint="15m, or a time (UTC)" />
    </div>
  </search>`;
}
