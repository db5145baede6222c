// What waits for a second key, as far as this browser knows: fetched whole, then kept up by the stream. The oldest comes
// first and new ones come behind, so that nothing moves under the finger of whoever is about to press a key.

import { batch, computed, signal } from "./html.js";
import { get } from "./api.js";
import { on, onOpen } from "./stream.js";

const PAGE = 500;
const TURNS = 3;

/** id → approval; those that were answered stay until the page that shows them lets them go. */
const known = signal(new Map());
/** Whether the queue has been fetched since the stream opened. */
export const fetched = signal(false);
/** Called with each approval that is new. */
export const arrivals = new Set();

export const pending = computed(() =>
  [...known.value.values()].filter((each) => each.status === "pending").sort(byAge),
);

const byAge = (a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : a.id < b.id ? -1 : 1);

export const found = (id) => known.value.get(id);

/** Know this approval as it is now. */
export function learn(approval) {
  const next = new Map(known.value);
  next.set(approval.id, approval);
  for (const [id, each] of next) {
    if (next.size <= PAGE * 21) break;
    if (each.status !== "pending") next.delete(id); // memory has an end
  }
  known.value = next;
  meanwhile?.set(approval.id, approval);
}

/** What became known while the queue was being fetched: it is not older than what was fetched. */
let meanwhile = null;

/** Every page of what waits; false when some of it moved from page to page, because others were answered. */
async function fetchPages(all) {
  const waiting = new Set();
  for (let offset = 0; ; offset += PAGE) {
    const { items, total } = await get("/approvals", { status: "pending", limit: PAGE, offset });
    items.forEach((each) => all.set(each.id, each) && waiting.add(each.id));
    if (!items.length || offset + PAGE >= total) return waiting.size >= total;
  }
}

async function fetchAll() {
  meanwhile = new Map();
  const all = new Map([...known.value].filter(([, each]) => each.status !== "pending"));
  for (let turn = 0; turn < TURNS && !(await fetchPages(all)); turn += 1);
  meanwhile.forEach((each, id) => all.set(id, each));
  meanwhile = null;
  batch(() => {
    // What was thought to wait and is not among them was answered while nobody listened.
    const gone = [...known.value.values()].filter((each) => each.status === "pending" && !all.has(each.id));
    known.value = all;
    fetched.value = true;
    gone.slice(0, 20).forEach((each) => get(`/approvals/${each.id}`).then(learn, () => {}));
  });
}

export function begin() {
  onOpen(() => fetchAll().catch(() => (fetched.value = false)));
  on("approval", (event, name) => {
    const { event: _, number: __, ...approval } = event;
    if (!approval.id) return;
    const isNew = name === "approval.created" && !known.value.has(approval.id);
    learn({ ...found(approval.id), ...approval });
    if (isNew) arrivals.forEach((listener) => listener(approval));
  });
}
