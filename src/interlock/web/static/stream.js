// The one stream of everything that happens. It is read by hand, not by EventSource, because that hides the heartbeats:
// a stream that went quiet must be told from one on which nothing happens, or somebody answers what is long over.

import { signal } from "./html.js";
import { get, raw } from "./api.js";
import { parsed } from "./json.js";

const QUIET_MS = 25_000; // the gateway says something every 15 seconds
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Whether what is shown may be out of date. Nothing is answered while it is. */
export const stale = signal(true);

const listeners = new Map(); // topic → listeners
const whenBack = new Set();
let lastId = "";
let running = null;

/** One page of this browser reads the stream and tells the others: a browser opens six connections and no more. */
const channel = new BroadcastChannel("interlock.stream");
let heardAt = 0;

/** Hear of events whose name begins with this topic: `approval`, `activity`, `server`, `tool`, `freeze`. */
export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  return () => listeners.get(topic).delete(listener);
}

/** Called each time that the stream is open and what it missed may have to be fetched. */
export function onOpen(listener) {
  whenBack.add(listener);
  return () => whenBack.delete(listener);
}

export function start() {
  if (running) return;
  running = new AbortController();
  const ended = running.signal;
  channel.onmessage = ({ data }) => hear(data, ended);
  channel.postMessage({ asks: true });
  const watching = setInterval(() => performance.now() - heardAt > QUIET_MS && quiet(), 1000);
  ended.addEventListener("abort", () => clearInterval(watching));
  // Whoever has the lock reads; the others wait for it, and take over when that page is gone.
  const lead = () => keepReading(ended);
  if (navigator.locks) navigator.locks.request("interlock.stream", { signal: ended }, lead).catch(() => {});
  else lead(); // a page that came over plain HTTP from elsewhere has no locks: each reads for itself
}

/** What the page that reads says: an event, a sign of life, or that it is out of touch. */
function hear(message, ended) {
  if (ended.aborted) return;
  if (message.asks) return void (reading && channel.postMessage({ alive: !stale.value }));
  if (reading) return;
  if (message.alive) alive();
  else if (message.alive === false) quiet();
  if (message.block !== undefined) take(message.block);
}

/** Whether this page is the one that reads. */
let reading = false;

function alive() {
  heardAt = performance.now();
  if (!stale.value) return;
  stale.value = false;
  whenBack.forEach((listener) => listener());
}

function quiet() {
  stale.value = true;
}

export function stop() {
  running?.abort();
  running = null;
  lastId = "";
  stale.value = true;
}

async function keepReading(ended) {
  let pause = FIRST_PAUSE_MS;
  reading = true;
  while (!ended.aborted) {
    try {
      await readOnce(ended, () => (pause = FIRST_PAUSE_MS));
    } catch {
      // It broke off, or there was none: the same either way.
    }
    quiet();
    channel.postMessage({ alive: false });
    if (ended.aborted) {
      reading = false;
      return;
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

async function readOnce(ended, opened) {
  const quiet = new AbortController();
  const give_up = () => quiet.abort();
  let timer = setTimeout(give_up, QUIET_MS);
  ended.addEventListener("abort", give_up);
  try {
    const headers = lastId ? { accept: "text/event-stream", "last-event-id": lastId } : { accept: "text/event-stream" };
    const answer = await raw("GET", "/events", undefined, { signal: quiet.signal, headers });
    if (answer.status === 400) lastId = ""; // another gateway, or another log: begin anew
    if (answer.status === 401) await get("/session"); // which tells everybody that this browser is signed out
    if (!answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(give_up, QUIET_MS);
      opened();
      alive();
      channel.postMessage({ alive: true });
      rest = takeWhole(rest + value);
    }
  } finally {
    clearTimeout(timer);
    ended.removeEventListener("abort", give_up);
  }
}

/** Tell of every whole event in the text, and return what is left of it. */
function takeWhole(text) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  for (const block of blocks) {
    channel.postMessage({ block });
    take(block);
  }
  return rest;
}

function take(block) {
  let name = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) lastId = line.slice(4);
    else if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!name || !data) return;
  const event = parsed(data);
  for (const listener of listeners.get(name.split(".")[0]) || []) listener(event, name);
}
