// The rows of the record that are known here, newest first: fetched page by page towards the past, and kept up by the
// stream towards the present. What is new waits outside while somebody reads, and is counted.

import { signal, useEffect, useMemo } from "../html.js";
import { get, pathOf } from "../api.js";
import { on, onOpen, stale } from "../stream.js";
import { isCall, rowOf } from "./activity-said.js";

const FIRST_PAGE = 100;
const PAGE = 200;
const SETTLE_MS = 400;
const MOST_WAITING = 2000;
const MOST_ASKED = 8;
/** How long a list that nobody scrolls may grow before it is fetched anew. */
const MOST_ROWS = 20_000;
/** The topics of the stream that tell of changes, and the types that these are. */
const CHANGES = { __proto__: null, approval: "approval", tool: "tool_change", server: "server_change", freeze: "system" };
/** The types of which the stream does not tell all: for these it is looked now and then. */
const UNTOLD = ["config_change", "token_change", "system"];
const LOOK_MS = 5000;
const EXACT = ["server", "tool", "caller", "session_id", "intent_type", "safety_class", "verdict"];

const isNewer = (a, b) => (a.at === b.at ? a.id > b.id : a.at > b.at);

/** The place at which a row stands, or would stand. */
function placeOf(rows, row) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isNewer(rows[middle], row)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows with others put in where they belong; one that is there already is replaced. */
function merged(rows, others) {
  const next = rows.slice();
  for (const row of others) {
    const at = placeOf(next, row);
    next.splice(at, next[at]?.id === row.id ? 1 : 0, row);
  }
  return next;
}

const among = (list, word) => !list || list.split(",").includes(word);

/** Whether a row belongs to what is wanted. */
export function fits(row, wanted) {
  return among(wanted.type, row.type) && among(wanted.status, row.status) && EXACT.every((name) => !wanted[name] || wanted[name] === row[name]);
}

class Tail {
  rows = signal([]);
  /** How many are new and not shown. */
  fresh = signal(0);
  loading = signal(true);
  loaded = signal(false);
  problem = signal(null);
  /** Whether new rows stay outside. */
  isHeld = () => false;
  #wanted;
  #next = null;
  #outside = [];
  /** Whether something is missing between what is shown and what waits outside. */
  #gap = false;
  #heard = new Map();
  #asked = new Set();
  #timer = null;
  #over = false;

  constructor(wanted) {
    this.#wanted = wanted;
  }

  /** Follow the record until the function that is returned is called. A list that ends in the past gets nothing new. */
  begin() {
    this.load();
    const ends = this.#wanted.until ? [] : this.#follow();
    return () => {
      this.#over = true;
      clearTimeout(this.#timer);
      ends.forEach((end) => end());
    };
  }

  #follow() {
    const topics = Object.keys(CHANGES).filter((topic) => among(this.#wanted.type, CHANGES[topic]));
    const ends = [onOpen(() => this.#catchUp()), on("activity", (event) => this.#hear(event)), ...topics.map((topic) => on(topic, (event) => this.#ask(event)))];
    if (!UNTOLD.some((type) => among(this.#wanted.type, type))) return ends;
    const looking = setInterval(() => stale.value || document.hidden || this.#catchUp(), LOOK_MS);
    return [...ends, () => clearInterval(looking)];
  }

  /** From the newest, anew. */
  async load() {
    this.#outside = [];
    this.#gap = false;
    this.fresh.value = 0;
    await this.#fetch({ limit: FIRST_PAGE }, (items) => (this.rows.value = items));
    this.loaded.value = !this.problem.value;
  }

  /** The page that follows. */
  async more() {
    if (!this.#next || this.loading.value) return;
    await this.#fetch({ limit: PAGE, cursor: this.#next }, (items) => (this.rows.value = [...this.rows.value, ...items]));
  }

  get hasMore() {
    return Boolean(this.#next);
  }

  async #fetch(page, take) {
    this.loading.value = true;
    try {
      const found = await get("/activity", { ...this.#wanted, ...page });
      if (this.#over) return;
      this.#next = found.next;
      take(found.items.map(rowOf));
      this.problem.value = null;
    } catch (problem) {
      this.problem.value = problem;
    } finally {
      this.loading.value = false;
    }
  }

  /** What came while nobody listened. When it does not join what is known, everything is fetched anew. */
  async #catchUp() {
    const found = await get("/activity", { ...this.#wanted, limit: FIRST_PAGE }).catch(() => null);
    if (!found || this.#over) return;
    const newest = this.rows.value[0];
    const joins = !found.next || (newest && found.items.some((each) => each.id === newest.id));
    if (!joins && !this.isHeld()) return this.load();
    this.#gap ||= !joins;
    found.items.map(rowOf).forEach((row) => this.#heard.set(row.id, row));
    this.#settleSoon();
  }

  #hear(event) {
    if (!isCall(event) || !fits(event, this.#wanted)) return;
    this.#heard.set(event.id, rowOf(event));
    this.#settleSoon();
  }

  /** An event of a change does not tell the whole story: it is asked for. */
  #ask(event) {
    if (!event.number) return; // how a server is doing is on no record
    this.#asked.add(event.id);
    this.#settleSoon();
  }

  #settleSoon() {
    this.#timer ??= setTimeout(() => this.#settle(), SETTLE_MS);
  }

  async #settle() {
    const asked = [...this.#asked];
    this.#asked.clear();
    const told = asked.length > MOST_ASKED ? await this.#newest() : await Promise.all(asked.map((id) => get(pathOf("activity", id)).catch(() => null)));
    told.filter((each) => each && fits(each, this.#wanted)).forEach((each) => this.#heard.set(each.id, rowOf(each)));
    this.#timer = null;
    if (!this.#over) this.#take([...this.#heard.values()]);
    this.#heard.clear();
    if (this.#asked.size && !this.#over) this.#settleSoon(); // they came while the others were asked for
  }

  #newest() {
    return get("/activity", { ...this.#wanted, limit: FIRST_PAGE }).then((found) => found.items, () => []);
  }

  #take(heard) {
    const rows = this.rows.value;
    const known = heard.filter((row) => rows[placeOf(rows, row)]?.id === row.id);
    // What is older than all that was fetched comes with its page.
    const last = this.#next ? rows.at(-1) : null;
    const others = heard.filter((row) => !known.includes(row) && !(last && isNewer(last, row)));
    const shown = this.isHeld() ? known : [...known, ...others];
    if (shown.length) this.rows.value = merged(rows, shown);
    if (this.isHeld()) this.#keepOutside(others);
    else if (this.rows.value.length > MOST_ROWS) this.load();
  }

  #keepOutside(rows) {
    const before = this.#outside.length;
    this.#outside = merged(this.#outside, rows).slice(0, MOST_WAITING);
    // Beyond what is kept they are only counted, and fetched when they are asked for.
    this.fresh.value += this.#outside.length < MOST_WAITING ? this.#outside.length - before : rows.length;
  }

  /** Let in what waits outside. */
  show() {
    if (this.#gap || this.#outside.length >= MOST_WAITING) return this.load();
    this.rows.value = merged(this.rows.value, this.#outside);
    this.#outside = [];
    this.fresh.value = 0;
  }
}

/** The tail of what is wanted, as long as the component is shown and the same is wanted. */
export function useTail(wanted) {
  const key = JSON.stringify(wanted);
  const tail = useMemo(() => new Tail(JSON.parse(key)), [key]);
  useEffect(() => tail.begin(), [tail]);
  return tail;
}
