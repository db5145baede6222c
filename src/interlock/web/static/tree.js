// A JSON value as a tree: every key and value as text, folded where it is large, never cut without saying so.

import { html, useState } from "./html.js";
import { Exact, shownNumber } from "./json.js";
import { Long, Said } from "./text.js";

const OPEN_DEPTH = 3;
const STEP = 50;

/** A whole value, such as the arguments of a call: what an object holds stands without a frame around it. */
export function Whole({ value }) {
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isObject) return html`<div class="tree"><${Tree} value=${value} /></div>`;
  return html`<div class="tree"><${Twigs} entries=${Object.entries(value)} depth=${0} /></div>`;
}

function Tree({ value, name, depth = 0 }) {
  if (value === null || typeof value !== "object" || value instanceof Exact) {
    return html`<div class="leaf">${name !== undefined && html`<${Key} name=${name} />`}<${Leaf} value=${value} /></div>`;
  }
  return html`<${Branch} value=${value} name=${name} depth=${depth} />`;
}

function Branch({ value, name, depth }) {
  const entries = Array.isArray(value) ? value.map((each, at) => [at, each]) : Object.entries(value);
  const [open, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= STEP * 2);
  const size = counted(entries.length, Array.isArray(value) ? "item" : "key");
  if (!entries.length) {
    return html`<div class="leaf">${name !== undefined && html`<${Key} name=${name} />`}<span class="dull">${Array.isArray(value) ? "an empty list" : "nothing"}</span></div>`;
  }
  return html`<details class="branch" open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary>${name !== undefined && html`<${Key} name=${name} />`}<span class="dull">${size}</span></summary>
    ${open && html`<div class="twigs"><${Twigs} entries=${entries} depth=${depth + 1} /></div>`}
  </details>`;
}

function Twigs({ entries, depth }) {
  const [most, setMost] = useState(STEP);
  return html`${entries.slice(0, most).map(([key, each]) => html`<${Tree} key=${key} name=${key} value=${each} depth=${depth} />`)}
    ${entries.length > most && html`<button type="button" class="link" onClick=${() => setMost(most + STEP * 4)}>Show more: ${entries.length - most} left</button>`}`;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const Key = ({ name }) => html`<span class="key"><${Said} text=${name} /></span>`;

function Leaf({ value }) {
  const kind = value === null ? "null" : typeof value;
  if (kind === "string") return html`<span class="value text"><${Long} text=${value} /></span>`;
  if (value instanceof Exact || kind === "number") return html`<span class="value number">${value instanceof Exact ? value.text : shownNumber(value)}</span>`;
  return html`<span class=${`value ${kind}`}>${String(value)}</span>`;
}
