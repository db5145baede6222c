// The small pieces that pages are made of.

import { html, signal, useEffect, useRef, useState } from "./html.js";
import { CLASSES, STATES, signPath } from "./words.js";
import { Long, Said, plainly, seen } from "./text.js";
import { ahead } from "./session.js";

// Time -----------------------------------------------------------------------------------------------------------

/** The time at the gateway, in milliseconds; it moves once a second. */
export const now = signal(Date.now());
setInterval(() => (now.value = Date.now() + ahead.value), 1000);

const UNITS = [["d", 86_400, 3600, "h"], ["h", 3600, 60, "m"], ["m", 60, 1, "s"]];

/** A span in the two largest units: `4m 59s`, `2h`, `3d 1h`. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [unit, size, smaller, rest] = UNITS.find(([, least]) => whole >= least) || ["s", 1, 1, ""];
  const left = Math.floor((whole % size) / smaller);
  return `${Math.floor(whole / size)}${unit}${left ? ` ${left}${rest}` : ""}`;
}

/** A moment as a person says it; the exact one on hover. */
export function Time({ at, ago = true }) {
  if (!at) return html`<span class="dull">never</span>`;
  const then = Date.parse(at);
  const seconds = (now.value - then) / 1000;
  const said = !ago || Math.abs(seconds) > 86_400 ? new Date(then).toLocaleString() : seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
  return html`<time datetime=${at} title=${new Date(then).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" })}>${said}</time>`;
}

/** How long something that waits still may. */
export function Countdown({ until }) {
  const left = (Date.parse(until) - now.value) / 1000;
  const tone = left < 30 ? "soon" : "";
  return html`<span class=${`countdown ${tone}`}>${left > 0 ? `${span(left)} left` : "time is up"}</span>`;
}

// Signs ----------------------------------------------------------------------------------------------------------

export const Sign = ({ name }) =>
  html`<svg class="sign" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${signPath(name)} /></svg>`;

export function ClassBadge({ safetyClass }) {
  const known = CLASSES[safetyClass] || CLASSES.unknown;
  return html`<span class=${`badge class-${CLASSES[safetyClass] ? safetyClass : "unknown"}`} title=${known.does}><${Sign} name=${known.sign} />${known.word}</span>`;
}

export function StateBadge({ state }) {
  const known = STATES[state];
  if (!known) return html`<span class="badge tone-dull"><${Said} text=${state} most=${40} /></span>`;
  return html`<span class=${`badge tone-${known.tone}`}><${Sign} name=${known.sign} />${known.word}</span>`;
}

// Frames ---------------------------------------------------------------------------------------------------------

export const Page = ({ title, about, actions, children }) => html`<main id="main" tabindex="-1">
  <header class="page-head">
    <div><h1>${title}</h1>${about && html`<p class="dull">${about}</p>`}</div>
    ${actions && html`<div class="actions">${actions}</div>`}
  </header>
  ${children}
</main>`;

export const Card = ({ title, children, actions, class: more = "" }) => html`<section class=${`card ${more}`}>
  ${(title || actions) && html`<header><h2>${title}</h2>${actions}</header>`}
  ${children}
</section>`;

/** What a page says when there is nothing on it, and the command that changes that. */
export const Empty = ({ title, children, command }) => html`<div class="empty">
  <p class="title">${title}</p>
  ${children && html`<p>${children}</p>`}
  ${command && html`<${Command} text=${command} />`}
</div>`;

/** A command to copy. */
export function Command({ text }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return html`<span class="command"><code>${seen(text)}</code><button type="button" class="quiet" onClick=${copy} aria-label=${`Copy: ${plainly(text)}`}><${Sign} name=${copied ? "check" : "copy"} /></button></span>`;
}

/** Something that was refused: the sentence, and what to do. It may repeat a name that somebody else chose. */
export const Trouble = ({ problem, again }) => html`<div class="trouble" role="alert">
  <p><strong><${Long} text=${problem.message} /></strong> ${problem.code && html`<code>${problem.code}</code>`}</p>
  ${problem.fix && html`<p><${Long} text=${problem.fix} /></p>`}
  ${again && html`<button type="button" onClick=${again}>Try again</button>`}
</div>`;

export const Waiting = ({ rows = 4 }) => html`<div class="waiting" aria-busy="true"><span class="unseen">Loading</span>${Array.from({ length: rows }, () => html`<div class="bone"></div>`)}</div>`;

/** Names and what belongs to them. Rows whose value is null or undefined are left out. */
export const Facts = ({ rows }) => html`<dl class="facts">
  ${rows.filter(([, value]) => value !== null && value !== undefined && value !== false).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;

// Messages that go away by themselves ----------------------------------------------------------------------------

export const toasts = signal([]);

export function toast(text, tone = "good") {
  const each = { text, tone, id: Symbol() };
  toasts.value = [...toasts.value.slice(-3), each];
  setTimeout(() => (toasts.value = toasts.value.filter((other) => other !== each)), 6000);
}

export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">
  ${toasts.value.map((each) => html`<p key=${each.id} class=${`toast tone-${each.tone}`}><${Said} text=${each.text} most=${400} /></p>`)}
</div>`;

// Dialogs --------------------------------------------------------------------------------------------------------

/** A dialog over the page. The browser keeps the focus in it and gives it back; Escape closes it, unless it is firm. */
export function Dialog({ title, onClose, children, firm = false }) {
  const frame = useRef(null);
  useEffect(() => {
    const shown = frame.current;
    shown.showModal();
    shown.querySelector("form :is(input, select, textarea):not(:disabled)")?.focus();
    return () => shown.open && shown.close(); // whoever leaves without closing it would leave the focus nowhere
  }, []);
  return html`<dialog ref=${frame} onClose=${onClose} onCancel=${(event) => firm && event.preventDefault()} aria-labelledby="dialog-title">
    <header><h2 id="dialog-title">${title}</h2>${!firm && html`<button type="button" class="quiet" aria-label="Close" onClick=${() => frame.current.close()}><${Sign} name="cross" /></button>`}</header>
    ${children}
  </dialog>`;
}

// Fetching -------------------------------------------------------------------------------------------------------

/** Fetch when shown and whenever one of `reasons` changes: `{value, problem, loading, again}`. */
export function useFetched(fetch, reasons = []) {
  const [state, setState] = useState({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    setState((before) => ({ ...before, loading: true }));
    fetch().then(
      (value) => current && setState({ value, loading: false }),
      (problem) => current && setState((before) => ({ value: before.value, problem, loading: false })),
    );
    return () => (current = false);
  }, [...reasons, turn]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}

/** What was fetched, or what to say until it is there. */
export function Fetched({ from, children }) {
  if (from.value !== undefined) return html`${from.problem && html`<${Trouble} problem=${from.problem} again=${from.again} />`}${children(from.value)}`;
  return from.problem ? html`<${Trouble} problem=${from.problem} again=${from.again} />` : html`<${Waiting} />`;
}
