// The record: every call and every change, newest first, and the story of each.

import { html, signal, useEffect, useRef, useState } from "../html.js";
import { pathOf } from "../api.js";
import { go, query, words } from "../router.js";
import { stale } from "../stream.js";
import { useKeys } from "../keys.js";
import { ClassBadge, Empty, Page, Sign, StateBadge, Trouble, Waiting } from "../parts.js";
import { Rows } from "../rows.js";
import { Said } from "../text.js";
import { Detail } from "./activity-detail.js";
import { Export, ExportTrouble } from "./activity-export.js";
import { Filters, isFiltered, wantedOf } from "./activity-filters.js";
import { isCall, toolOf } from "./activity-said.js";
import { useTail } from "./activity-tail.js";

const WIDE_ROW = 40;
const NARROW_ROW = 60;
const NEAR_END = 30;
const TRY = "interlock call tool-read --tool-name sample:list_notes";

const paused = signal(false);
const small = matchMedia("(max-width: 40rem)");
const narrow = signal(small.matches);
small.addEventListener("change", () => (narrow.value = small.matches));

export function Activity() {
  const wanted = wantedOf(query.value);
  const tail = useTail(wanted);
  const openId = words.value[1] || "";
  return html`<${Page} title="Activity" about="Every call and every change, newest first." actions=${html`<${Export} wanted=${wanted} />`}>
    <${ExportTrouble} />
    <div class=${`record ${openId ? "chosen" : ""}`}>
      <div class="record-list"><${Filters} rows=${tail.rows.value} /><${List} key=${JSON.stringify(wanted)} tail=${tail} openId=${openId} ends=${Boolean(wanted.until)} /></div>
      ${openId && html`<div class="record-detail"><${Detail} key=${openId} id=${openId} onClose=${close} /></div>`}
    </div>
  <//>`;
}

const open = (id) => go(pathOf("activity", id) + location.search, { replace: Boolean(words.value[1]) });
const close = () => go(`/activity${location.search}`);

function List({ tail, openId, ends }) {
  const [cursor, setCursor] = useState(openId);
  const [follows, setFollows] = useState(false);
  const frame = useRef(null);
  const rows = tail.rows.value;
  const at = rows.findIndex((each) => each.id === cursor);
  const height = narrow.value ? NARROW_ROW : WIDE_ROW;
  // What is under the eye of somebody who reads does not move.
  tail.isHeld = () => paused.value || Boolean(words.value[1]) || (frame.current?.querySelector(".rows")?.scrollTop || 0) > 0;
  useEffect(() => {
    if (follows) frame.current?.querySelector(`[data-id="${CSS.escape(cursor)}"] a`)?.focus({ preventScroll: true });
  }, [cursor, follows]);
  const move = (by) => {
    if (!rows.length) return;
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))].id;
    setCursor(next);
    setFollows(true);
    if (openId) open(next);
  };
  useListKeys({ move, show: (event) => activate(event, cursor), tail });
  const scrolled = (event) => {
    const box = event.currentTarget;
    if (box.scrollTop + box.clientHeight > (rows.length - NEAR_END) * height) {
      setFollows(false);
      tail.more();
    }
    if (box.scrollTop === 0 && tail.fresh.value && !paused.value && !openId) tail.show();
  };
  if (!tail.loaded.value) return tail.problem.value ? html`<${Trouble} problem=${tail.problem.value} again=${() => tail.load()} />` : html`<${Waiting} rows=${8} />`;
  return html`<${Bar} tail=${tail} ends=${ends} isOpen=${Boolean(openId)} onShow=${() => letIn(tail, frame.current)} />
    ${tail.problem.value && html`<${Trouble} problem=${tail.problem.value} again=${() => tail.more()} />`}
    ${!rows.length ? html`<${Nothing} />` : html`<div class="records" role="table" aria-label="Activity" aria-rowcount=${tail.hasMore ? -1 : rows.length + 1} ref=${frame}>
      <${Head} />
      <${Rows} class="records-box" role="rowgroup" tabindex="0" aria-label="Activity, newest first" items=${rows} height=${height} chosen=${follows ? at : -1} onScrollCapture=${scrolled}
        row=${(each, place) => html`<${Row} key=${each.id} row=${each} place=${place} isOpen=${each.id === openId} isCursor=${place === Math.max(0, at)} onPick=${setCursor} />`} />
    </div>`}`;
}

function useListKeys({ move, show, tail }) {
  useKeys("Activity", [
    { key: "j", says: "Next", does: () => move(1) },
    { key: "k", says: "Previous", does: () => move(-1) },
    { key: "Enter", says: "Open", does: show },
    { key: "Escape", says: "Close what is open", does: () => words.value[1] && close() },
    { key: "p", says: "Pause, or go on", does: () => toggle(tail) },
    { key: "/", says: "To the filters", does: () => document.getElementById("filter-type")?.focus() },
  ]);
}

/** Enter does what it always does on a link or a button; anywhere else it opens the row of the cursor. */
function activate(event, cursor) {
  const control = event.target.closest("a, button, summary");
  if (control) control.click();
  else if (cursor) open(cursor);
}

function toggle(tail) {
  paused.value = !paused.value;
  if (!tail.isHeld()) tail.show();
}

/** Show what is new, at the top. */
function letIn(tail, frame) {
  tail.show();
  const box = frame?.querySelector(".rows");
  if (box) box.scrollTop = 0;
}

function Bar({ tail, ends, isOpen, onShow }) {
  const fresh = tail.fresh.value;
  const state = ends ? "This list ends in the past" : stale.value ? "Not connected" : paused.value ? "Paused" : isOpen ? "Live; what is new is counted while one is open" : "Live";
  return html`<div class="record-bar">
    ${!ends && html`<button type="button" aria-pressed=${paused.value} onClick=${() => toggle(tail)}>Pause <kbd>p</kbd></button>`}
    <span class="dull">${state}</span>
    ${fresh > 0 && html`<button type="button" class="fresh" onClick=${onShow}>${fresh.toLocaleString()} new: show</button>`}
    <span class="grow"></span>
    <span class="dull">${tail.rows.value.length.toLocaleString()} shown${tail.hasMore ? ", more below" : ""}</span>
  </div>`;
}

function Nothing() {
  if (isFiltered(query.value)) return html`<${Empty} title="Nothing fits these filters.">Clear them, or choose a longer time.<//>`;
  return html`<${Empty} title="Nothing was called yet." command=${TRY}>Calls appear here by themselves. To see one, run:<//>`;
}

const Head = () => html`<div role="rowgroup" class="records-head"><div role="row" class="row">
  ${["Time", "Status", "What", "Class", "Caller", "Verdict", "Rule"].map((each) => html`<span role="columnheader" class=${`cell ${each.toLowerCase()}`}>${each}</span>`)}
</div></div>`;

// Made once: to make one for each row takes longer than everything else about the row.
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hour12: false });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** The time of day, and the day if it is not today: rows are compared, so how long ago says less. */
function Moment({ at }) {
  const then = new Date(at);
  const isToday = then.toDateString() === new Date().toDateString();
  return html`<time datetime=${at} title=${EXACT.format(then)}>${isToday ? "" : `${DAY.format(then)} `}${CLOCK.format(then)}</time>`;
}

function Row({ row, place, isOpen, isCursor, onPick }) {
  const pick = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    onPick(row.id);
    open(row.id);
  };
  const link = (text, most) => html`<a href=${pathOf("activity", row.id) + location.search} tabindex=${isCursor ? 0 : -1} aria-current=${isOpen ? "true" : undefined}><${Said} text=${text} most=${most} /></a>`;
  return html`<div class=${`row ${isCall(row) ? "" : "change"} ${isOpen ? "open" : ""}`} role="row" data-id=${row.id} aria-rowindex=${place + 2} onClick=${pick}>
    <span role="cell" class="cell time"><${Moment} at=${row.at} /></span>
    <span role="cell" class="cell status"><${StateBadge} state=${row.status} /></span>
    ${isCall(row) ? html`<span role="cell" class="cell what">${link(toolOf(row) || "a tool that is not known", 120)}</span>
      <span role="cell" class="cell class">${row.safety_class && html`<${ClassBadge} safetyClass=${row.safety_class} />`}</span>
      <span role="cell" class="cell caller"><${Said} text=${row.caller || ""} most=${60} /></span>
      <span role="cell" class="cell verdict">${row.verdict && html`<${StateBadge} state=${row.verdict} />`}</span>
      <span role="cell" class="cell rule"><${Said} text=${row.rule_id || ""} most=${60} /></span>`
    : html`<span role="cell" class="cell what" aria-colspan="5"><${Sign} name="pencil" />${link(row.says, 300)}</span>`}
  </div>`;
}
