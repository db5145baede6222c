// What changes while it is looked at: fetched again when the stream tells of a change, but at most once a second, so
// that a server that floods moves nothing on the page.

import { useEffect, useRef } from "../html.js";
import { get } from "../api.js";
import { on, onOpen } from "../stream.js";
import { useFetched } from "../parts.js";

const REST_MS = 1000;

/** Like useFetched, and again after events of these topics, if they are worth it. */
export function useLive(fetch, topics, reasons = [], { isNews = () => true, restMs = REST_MS } = {}) {
  const from = useFetched(fetch, reasons);
  const latest = useRef(from);
  latest.current = from;
  useEffect(() => {
    let timer = null;
    const look = () => {
      timer = null;
      if (latest.current.loading) soon(); // an answer that is long must not be asked for twice at once
      else latest.current.again();
    };
    const soon = () => (timer ??= setTimeout(look, restMs));
    const leave = [...topics.map((topic) => on(topic, (event) => isNews(event) && soon())), onOpen(soon)];
    return () => {
      clearTimeout(timer);
      leave.forEach((each) => each());
    };
  }, []);
  return from;
}

/** All tools of all servers, or of one. The list is whole, so that searching it needs no further question. */
export function useTools(server = "") {
  const listed = useRef([]);
  // The list is long, and a server that crashes again and again tells of it each time: only one that lists something
  // else than before is worth asking again.
  const isNews = (event) => !event.health || event.health === "ready" || event.tools !== listed.current.filter((each) => each.server === event.id).length;
  const from = useLive(() => get("/tools", { server }), ["tool", "server", "config"], [server], { isNews });
  listed.current = from.value?.items || [];
  return from;
}

export const useServers = () => useLive(() => get("/servers"), ["server", "config"]);

/** How many of each: `{word: count}`, of a list and how to find the word. */
export function countBy(items, word) {
  const counts = {};
  for (const each of items) counts[word(each)] = (counts[word(each)] || 0) + 1;
  return counts;
}

export const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
