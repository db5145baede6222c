// Asking a route that only reads, as whoever is signed in. What changes something is not offered here: each page that
// does so asks first, and this one could not.

import { html, useState } from "../html.js";
import { queryOf, raw } from "../api.js";
import { Problem } from "../api.js";
import { stale } from "../stream.js";
import { Trouble } from "../parts.js";
import { Long } from "../text.js";
import { Whole } from "../tree.js";

const MOST_BYTES = 1_000_000;
const PREFIX = "/api/v1";

const isStream = (operation) => operation.answers.some((each) => each.media === "text/event-stream");

export function TryIt({ operation }) {
  const [state, setState] = useState(null);
  if (isStream(operation)) return html`<h3>Try it</h3><p class="dull">This answer never ends, so it is read with curl.</p>`;
  const ask = async (event) => {
    event.preventDefault();
    setState({ waits: true });
    setState(await asked(operation, new FormData(event.target)));
  };
  return html`<h3>Try it</h3><form class="try" onSubmit=${ask}>
    ${operation.parameters.length > 0 && html`<div class="pairs">${operation.parameters.map((each) => html`<label key=${each.name}>${each.name} <input name=${each.name} required=${each.required} placeholder=${placeholderOf(each.schema)} /></label>`)}</div>`}
    <div class="buttons"><button type="submit" disabled=${stale.value || state?.waits}>Ask</button></div>
    <div aria-live="polite">${state && !state.waits && html`<${Answer} state=${state} />`}</div>
  </form>`;
}

const placeholderOf = (schema = {}) => (Array.isArray(schema.default) || schema.default === undefined || schema.default === null ? "" : String(schema.default));

function addressOf({ path, parameters }, form) {
  const query = {};
  let address = path.slice(PREFIX.length);
  for (const each of parameters) {
    const value = form.get(each.name);
    if (each.in === "path") address = address.replace(`{${each.name}}`, encodeURIComponent(value));
    else query[each.name] = value;
  }
  return address + queryOf(query);
}

async function asked(operation, form) {
  const stop = new AbortController();
  const began = performance.now();
  try {
    const answer = await raw("GET", addressOf(operation, form), undefined, { signal: stop.signal, headers: { accept: "*/*" } });
    const { text, whole } = await beginning(answer.body);
    if (!whole) stop.abort();
    return { status: answer.status, text, whole, took: performance.now() - began, isJson: (answer.headers.get("content-type") || "").includes("json") };
  } catch {
    return { problem: new Problem(0, { detail: "The gateway cannot be reached.", code: "UNREACHABLE" }) };
  }
}

/** The beginning of a body: an export may be larger than a page can hold. */
async function beginning(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < MOST_BYTES) {
    const { value, done } = await reader.read();
    if (done) return { text, whole: true };
    text += value;
  }
  return { text, whole: false };
}

function Answer({ state }) {
  if (state.problem) return html`<${Trouble} problem=${state.problem} />`;
  const value = state.isJson && state.whole ? parsed(state.text) : undefined;
  return html`<p class="dull">${state.status}, ${state.text.length} characters in ${Math.round(state.took)} ms${state.whole ? "" : "; the rest was not read"}</p>
    ${value === undefined ? html`<div class="tree"><${Long} text=${state.text || "(nothing)"} /></div>` : html`<${Whole} value=${value} />`}`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
