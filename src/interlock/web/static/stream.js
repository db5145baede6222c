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
  if (!running) {
    running = new AbortController();
    keepReading(running.signal);
  }
}

export function stop() {
  running?.abort();
  running = null;
  lastId = "";
  stale.value = true;
}

async function keepReading(ended) {
  let pause = FIRST_PAUSE_MS;
  while (!ended.aborted) {
    try {
      await readOnce(ended, () => (pause = FIRST_PAUSE_MS));
    } catch {
      // It broke off, or there was none: the same either way.
    }
    stale.value = true;
    if (ended.aborted) return;
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
      if (stale.value) {
        stale.value = false;
        opened();
        whenBack.forEach((listener) => listener());
      }
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
  blocks.forEach(take);
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
