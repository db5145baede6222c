// A list of any length of which only what is in sight is in the page. All rows have the same height.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

const SPARE = 8;

/** `row(item, at)` makes a row. `chosen` is the place of the row to keep in sight. */
export function Rows({ items, height, row, chosen = -1, class: more = "", ...rest }) {
  const frame = useRef(null);
  const [{ top, seen }, setView] = useState({ top: 0, seen: 800 });
  const look = () => setView({ top: frame.current.scrollTop, seen: frame.current.clientHeight });
  useLayoutEffect(() => {
    look();
    const watch = new ResizeObserver(look);
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (chosen < 0) return;
    const box = frame.current;
    const [start, end] = [chosen * height, (chosen + 1) * height];
    if (start < box.scrollTop) box.scrollTop = start;
    else if (end > box.scrollTop + box.clientHeight) box.scrollTop = end - box.clientHeight;
  }, [chosen, items.length]);
  const first = Math.max(0, Math.floor(top / height) - SPARE);
  const last = Math.min(items.length, Math.ceil((top + seen) / height) + SPARE);
  return html`<div ref=${frame} class=${`rows ${more}`} onScroll=${look} ...${rest}>
    <div class="rows-all" style=${{ height: `${items.length * height}px` }}>
      <div class="rows-seen" style=${{ transform: `translateY(${first * height}px)` }}>
        ${items.slice(first, last).map((item, at) => row(item, first + at))}
      </div>
    </div>
  </div>`;
}
