// Keys: each page says which it knows and what they do, and `?` shows all that count now. While somebody types into a
// field, or a dialog is open, none of them do anything.

import { signal, useLayoutEffect } from "./html.js";

/** The keys that count now: a list of groups `{title, keys: [{key, says, does}]}`. */
export const known = signal([]);

/** Know these keys as long as the component is shown. */
export function useKeys(title, keys) {
  useLayoutEffect(() => {
    const group = { title, keys };
    known.value = [...known.value, group];
    return () => (known.value = known.value.filter((each) => each !== group));
  });
}

const FIELDS = "input, textarea, select, [contenteditable]";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.(FIELDS) || document.querySelector("dialog[open]")) return;
  for (const group of known.value.toReversed()) {
    const found = group.keys.find((each) => each.key === event.key);
    if (found) {
      event.preventDefault();
      // A key that is held down moves, and does nothing else: one press, one deed.
      if (!event.repeat || found.moves) found.does(event);
      return;
    }
  }
});
