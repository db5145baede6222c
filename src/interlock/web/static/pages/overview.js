// How it stands, at a glance: what waits, how calls end, how long people take, and what wants a look. Every figure leads
// to the list behind it.

import { html, useEffect, useRef, useState } from "../html.js";
import { get, pathOf, queryOf } from "../api.js";
import { choose, go, query } from "../router.js";
import { freezes } from "../freeze.js";
import { on, onOpen } from "../stream.js";
import { Card, Empty, Fetched, Page, Sign, StateBadge, Time, span } from "../parts.js";
import { Plot } from "../plot.js";
import { Said } from "../text.js";
import { STATES } from "../words.js";

const RANGES = { __proto__: null, "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" };
const PAUSE_MS = 1000;
/** What takes long to count is counted less often: looking on must not be work for the gateway. */
const REST = 4;
const MOST_LISTED = 12;

/** Fetch when shown, when a reason changes and when one of the topics is heard of: never twice at once, and never more
 * often than once a second, however much happens. What was fetched stays until there is something newer. */
function useLive(fetch, topics, reasons = []) {
  const [state, setState] = useState({});
  const turn = useRef(null);
  useEffect(() => {
    const mine = { timer: null, busy: false, wanted: false, over: false };
    const look = async () => {
      mine.busy = true;
      mine.wanted = false;
      const began = performance.now();
      const found = await fetch().then((value) => ({ value }), (problem) => ({ problem }));
      if (mine.over) return;
      setState((before) => ({ value: before.value, ...found, problem: found.problem }));
      mine.timer = setTimeout(() => ((mine.busy = false), mine.wanted && look()), Math.max(PAUSE_MS, REST * (performance.now() - began)));
    };
    const hear = () => (mine.busy ? (mine.wanted = true) : look());
    turn.current = hear;
    const ends = [...topics.map((each) => on(each, hear)), onOpen(hear)];
    look();
    return () => {
      mine.over = true;
      clearTimeout(mine.timer);
      ends.forEach((end) => end());
    };
  }, reasons);
  return { ...state, again: () => turn.current?.() };
}

export function Overview() {
  const range = query.value.range in RANGES ? query.value.range : "24h";
  const approvals = useLive(() => get("/approvals/metrics", { since: range }), ["approval"], [range]);
  const calls = useLive(() => get("/activity/stats", { since: range }), ["activity"], [range]);
  const picker = html`<div class="tabs" role="group" aria-label="Time">${Object.entries(RANGES).map(([value, word]) => html`<button type="button" aria-pressed=${value === range} onClick=${() => choose({ range: value === "24h" ? "" : value })}><span class="long-word">${word}</span><span class="short-word" aria-hidden="true">${value}</span></button>`)}</div>`;
  return html`<${Page} title="Overview" about="What waits, how calls end, and what wants a look." actions=${picker}>
    <${Fetched} from=${approvals}>${(value) => html`<${Waits} figures=${value} range=${range} />`}<//>
    <${Fetched} from=${calls}>${(value) => html`<${Calls} stats=${value} range=${range} />`}<//>
    <div class="cards"><${Servers} /><${Stopped} /><${Definitions} /></div>
    <div class="cards plots">
      ${calls.value && html`<${CallsPlot} stats=${calls.value} />`}
      ${approvals.value && html`<${WaitsPlot} figures=${approvals.value} />`}
    </div>
  <//>`;
}

// Figures --------------------------------------------------------------------------------------------------------

const Figure = ({ word, number, note, href }) => html`<a class="figure" href=${href}><span class="word">${word}</span><span class="number">${number}</span><span class="dull note">${note}</span></a>`;

const counted = (number) => (number ?? 0).toLocaleString();
const seconds = (value) => (value === null ? "–" : value < 10 ? `${value.toFixed(1)}s` : span(value));
const share = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
const history = (status = "") => `/approvals${queryOf({ view: "history", status })}`;

function Waits({ figures, range }) {
  const within = RANGES[range].toLowerCase();
  const answered = figures.approved + figures.denied;
  const rows = [
    ["Waiting now", counted(figures.pending), figures.listening ? "for a second key" : "and nobody would hear of a new one", "/approvals"],
    ["Oldest wait", figures.pending ? span(figures.oldest_wait_seconds) : "–", figures.pending ? "and still waiting" : "nothing waits", "/approvals"],
    ["Approved", counted(figures.approved), within, history("approved")],
    ["Denied", counted(figures.denied), within, history("denied")],
    ["Timed out", counted(figures.timeout), within, history("timeout")],
    ["Cancelled", counted(figures.cancelled), within, history("cancelled")],
    ["Approval rate", share(figures.approval_rate), `of ${counted(answered)} answered`, history()],
    ["Average wait", seconds(figures.average_wait_seconds), "until an answer came", history()],
    ["Median wait", seconds(figures.median_wait_seconds), "half waited no longer", history()],
    ["p95 wait", seconds(figures.p95_wait_seconds), "95 % waited no longer", history()],
  ];
  return html`<h2 class="part">Approvals</h2><div class="figures">${rows.map(([word, number, note, href]) => html`<${Figure} key=${word} word=${word} number=${number} note=${note} href=${href} />`)}</div>`;
}

function Calls({ stats, range }) {
  const within = RANGES[range].toLowerCase();
  const behind = (more) => `/activity${queryOf({ ...more, since: range })}`;
  const rows = [
    ["Calls per minute", counted(stats.calls_per_minute), "in the last minute", "/activity?since=1m"],
    ["Calls", counted(stats.total), within, behind({})],
    ["Blocked", counted(stats.by_status.blocked), "refused by a rule or a gate", behind({ status: "blocked" })],
    ["Errors", counted(stats.by_status.error), "of servers", behind({ status: "error" })],
  ];
  return html`<h2 class="part">Calls</h2>
    <div class="figures">${rows.map(([word, number, note, href]) => html`<${Figure} key=${word} word=${word} number=${number} note=${note} href=${href} />`)}</div>
    ${!stats.complete && html`<p class="dull">There are more calls than are counted at once: these are the newest ${counted(stats.total)}.</p>`}`;
}

// What wants a look ----------------------------------------------------------------------------------------------

function Servers() {
  const from = useLive(() => get("/servers"), ["server"]);
  return html`<${Card} title="Servers"><${Fetched} from=${from}>${({ items }) => (items.length ? html`<ul class="plain strip">${items.map((each) => html`<${Server} key=${each.id} server=${each} />`)}</ul>` : html`<${Empty} title="There are no servers yet." command="interlock server add" />`)}<//><//>`;
}

function Server({ server }) {
  return html`<li><a href=${pathOf("servers", server.id)}><${Said} text=${server.id} most=${60} /></a> <${StateBadge} state=${server.health} /> <span class="dull">${server.tools} ${server.tools === 1 ? "tool" : "tools"}</span>
    ${server.problem && html`<span class="problem"><${Said} text=${server.problem} most=${200} /></span>`}</li>`;
}

function Stopped() {
  const items = freezes.value;
  const named = ({ server, caller }) => (server ? `Server ${server}` : caller ? `Caller ${caller}` : "Everything");
  return html`<${Card} title="Stopped">${items.length ? html`<ul class="plain strip">${items.map((each) => html`<li key=${named(each)}><${Sign} name="stop" /><strong><${Said} text=${named(each)} /></strong> <span class="dull">by <${Said} text=${each.by} most=${40} /> <${Time} at=${each.at} /></span></li>`)}</ul>` : html`<p class="dull">Nothing is stopped.</p>`}<//>`;
}

const STANDINGS = { __proto__: null, poisoned: "Has signs of poison: calls are refused until somebody looks.", changed: "Changed since it was reviewed: calls are refused until somebody looks.", twice: "Listed more than once, with definitions that differ: calls are refused.", new: "New since its server was reviewed." };

function Definitions() {
  const from = useLive(() => get("/tools"), ["tool", "server"]);
  return html`<${Card} title="Definitions that want a look"><${Fetched} from=${from}>${({ items }) => html`<${Drifted} tools=${items.filter((each) => each.standing in STANDINGS)} />`}<//><//>`;
}

function Drifted({ tools }) {
  if (!tools.length) return html`<p class="dull">All tools are as they were reviewed.</p>`;
  const order = [...tools].sort((a, b) => Object.keys(STANDINGS).indexOf(a.standing) - Object.keys(STANDINGS).indexOf(b.standing));
  return html`<ul class="plain strip">${order.slice(0, MOST_LISTED).map((each) => html`<li key=${each.name}><a href=${pathOf("tools", each.server, each.tool)}><${Said} text=${each.name} most=${60} /></a> <span class=${`badge tone-${each.standing === "new" ? "wait" : "bad"}`} title=${STANDINGS[each.standing]}><${Sign} name="alert" />${each.standing}</span></li>`)}</ul>
    ${tools.length > MOST_LISTED && html`<p><a href="/tools">and ${tools.length - MOST_LISTED} more</a></p>`}`;
}

// Plots ----------------------------------------------------------------------------------------------------------

/** The lines of each way to look at calls: the word of the answer, and the colour. */
const LINES = {
  __proto__: null,
  status: { success: "good", blocked: "deep", denied: "bad", error: "wait", timeout: "firm", cancelled: "dull", indeterminate: "accent" },
  verdict: { allow: "good", hold: "wait", deny: "bad" },
};
/** Lines that are there even when nothing is on them. */
const ALWAYS = new Set(["success", "blocked", "allow", "hold", "deny"]);

/** How wide a stretch is, as one says it after "per". */
function width(total) {
  const [size, word] = [[86_400, "day"], [3600, "hour"], [60, "minute"]].find(([each]) => total >= each) || [1, "second"];
  return total === size ? word : `${total / size} ${word}s`;
}

const secondsOf = (at) => Date.parse(at) / 1000;

function toActivity(from, until) {
  go(`/activity${queryOf({ since: new Date(from * 1000).toISOString(), until: new Date(until * 1000).toISOString() })}`);
}

function CallsPlot({ stats }) {
  const by = query.value.by === "verdict" ? "verdict" : "status";
  const counts = stats.series.map((each) => each[`by_${by}`] || {});
  const lines = Object.entries(LINES[by])
    .filter(([name]) => ALWAYS.has(name) || stats[`by_${by}`][name])
    .map(([name, colour]) => ({ word: STATES[name].word, colour, values: counts.map((each) => each[name] || 0) }));
  const tabs = html`<div class="tabs" role="group" aria-label="Lines">${["status", "verdict"].map((each) => html`<button type="button" aria-pressed=${each === by} onClick=${() => choose({ by: each === "status" ? "" : each })}>By ${each}</button>`)}</div>`;
  return html`<${Card} title=${`Calls per ${width(stats.width_seconds)}`} actions=${tabs}>
    <${Plot} title=${`Calls by ${by}`} times=${stats.series.map((each) => secondsOf(each.at))} lines=${lines} onSelect=${toActivity} />
    <p class="dull">Drag over a stretch of time to see its calls.</p>
  <//>`;
}

function WaitsPlot({ figures }) {
  const values = figures.series.map((each) => each.average_wait_seconds);
  return html`<${Card} title="Waits">
    <${Plot} title="Average wait for an answer" times=${figures.series.map((each) => secondsOf(each.at))} lines=${[{ word: "Average wait", colour: "accent", values, points: true }]} says=${seconds} />
    <p class="dull">Of the calls that somebody answered, by when they were asked for.</p>
  <//>`;
}
