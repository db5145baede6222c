// Who is signed in. The code of a link stands in the fragment: it is used once, and removed from the address at once.

import { computed, signal } from "./html.js";
import { go } from "./router.js";
import { Problem, csrf, del, get, onSignedOut, post } from "./api.js";

/** undefined until it is known, null when nobody is. */
export const me = signal(undefined);
/** Why signing in did not work. */
export const refused = signal(null);
/** How much the clock of the gateway is ahead of ours, in milliseconds. */
export const ahead = signal(0);

export const mayApprove = computed(() => Boolean(me.value?.roles.includes("approver")));
export const isAdmin = computed(() => Boolean(me.value?.roles.includes("admin")));

/** Pages of one browser sign in and out together. */
const others = new BroadcastChannel("interlock.session");
others.onmessage = () => recognise();

onSignedOut(() => {
  me.value = null;
});

export async function begin() {
  const code = location.pathname === "/login" ? location.hash.slice(1) : "";
  if (code) {
    go("/", { replace: true });
    await signIn(code);
  }
  if (!me.value) await recognise();
}

async function signIn(code) {
  try {
    const found = await post("/session", { code });
    csrf.set(found.csrf);
    others.postMessage("in");
  } catch (problem) {
    refused.value = problem;
  }
}

async function recognise() {
  try {
    const found = csrf.get() ? await get("/session") : null;
    if (found) ahead.value = Date.parse(found.now) - Date.now();
    me.value = found;
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 401) refused.value = problem;
    me.value = null;
  }
}

export async function signOut() {
  await del("/session").catch(() => {});
  csrf.clear();
  others.postMessage("out");
  me.value = null;
}
