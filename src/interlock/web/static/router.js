// Where we are: the address holds the page and everything that is chosen on it, so that a link leads to what was seen.

import { computed, signal } from "./html.js";

const where = signal(here());

function here() {
  return { path: location.pathname, query: location.search };
}

/** The words of the path: `/approvals/ap_1` is `["approvals", "ap_1"]`. */
export const words = computed(() => where.value.path.split("/").filter(Boolean).map(decoded));
export const page = computed(() => words.value[0] || "");
/** What stands behind the question mark, as an object. */
export const query = computed(() => Object.fromEntries(new URLSearchParams(where.value.query)));

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export function go(address, { replace = false } = {}) {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  where.value = here();
}

/** The same page with other choices; what is empty is left out. */
export function choose(changes, { replace = true } = {}) {
  const wanted = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "") wanted.delete(name);
    else wanted.set(name, value);
  }
  const text = wanted.toString();
  go(location.pathname + (text ? `?${text}` : ""), { replace });
}

window.addEventListener("popstate", () => (where.value = here()));

// Links of our own pages change the page without loading it anew.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !plain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.pathname.startsWith("/api/v1") || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(url.pathname + url.search);
});
