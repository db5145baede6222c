// Requests to REST. A refusal becomes a Problem with the code, the sentence and the fix that the gateway gave.

import { parsed } from "./json.js";

const PREFIX = "/api/v1";
const CSRF_KEY = "interlock.csrf";

/** Called when the gateway says that this browser is not signed in. */
let whenSignedOut = () => {};

export function onSignedOut(listener) {
  whenSignedOut = listener;
}

export class Problem extends Error {
  constructor(status, { detail, code, fix, winner } = {}) {
    super(detail || "The gateway gave an answer that is not understood.");
    this.status = status;
    this.code = code || "";
    this.fix = fix || "";
    this.winner = winner || null;
  }
}

/** The second secret of this browser. It is no cookie, so no other page and no other port ever sees it. */
export const csrf = {
  get: () => localStorage.getItem(CSRF_KEY) || "",
  set: (value) => localStorage.setItem(CSRF_KEY, value),
  clear: () => localStorage.removeItem(CSRF_KEY),
};

export const get = (path, query) => request("GET", path + queryOf(query));
export const post = (path, body) => request("POST", path, body ?? {});
export const del = (path) => request("DELETE", path);

/** A query from an object; what is empty is left out. */
export function queryOf(query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") words.set(name, value);
  }
  const text = words.toString();
  return text ? `?${text}` : "";
}

/** A path from parts of which any may hold any character. */
export const pathOf = (...parts) => "/" + parts.map(encodeURIComponent).join("/");

async function request(method, path, body) {
  let answer;
  try {
    answer = await raw(method, path, body);
  } catch (gone) {
    throw new Problem(0, { detail: "The gateway cannot be reached.", code: "UNREACHABLE", fix: "Is `interlock serve` running?" });
  }
  const found = await answer.text().then(parsed).catch(() => ({}));
  if (answer.ok) return found;
  if (answer.status === 401) whenSignedOut();
  throw new Problem(answer.status, found);
}

/** The plain answer, for whoever reads it piece by piece. */
export function raw(method, path, body, { signal, headers = {} } = {}) {
  const sent = { accept: "application/json", ...headers };
  if (method !== "GET") sent["x-csrf-token"] = csrf.get();
  if (body !== undefined) sent["content-type"] = "application/json";
  return fetch(PREFIX + path, {
    method,
    headers: sent,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
}
