// Text that others wrote. It is shown as text and nothing else; characters that would not be seen, or would turn the
// text around, are shown by their number; and what is long is folded, never cut without a word.

import { html, useState } from "./html.js";

const FOLD = 600;
const STEP = 20_000;

// Controls, formats (bidi, zero width, tags), line and paragraph separators, surrogates that stand alone, private use,
// the fillers that look like nothing, and spaces that are not the plain one.
const ODD =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;
const PLAIN = new Set(["\n", "\t"]);

const NAMES = {
  __proto__: null,
  0x00: "NUL", 0x07: "BELL", 0x08: "BACKSPACE", 0x0d: "CARRIAGE RETURN", 0x1b: "ESCAPE", 0x7f: "DELETE",
  0xa0: "NO-BREAK SPACE", 0xad: "SOFT HYPHEN", 0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER",
  0x200d: "ZERO WIDTH JOINER", 0x200e: "LEFT-TO-RIGHT MARK", 0x200f: "RIGHT-TO-LEFT MARK", 0x2028: "LINE SEPARATOR",
  0x2029: "PARAGRAPH SEPARATOR", 0x202a: "LEFT-TO-RIGHT EMBEDDING", 0x202b: "RIGHT-TO-LEFT EMBEDDING",
  0x202c: "POP DIRECTIONAL FORMATTING", 0x202d: "LEFT-TO-RIGHT OVERRIDE", 0x202e: "RIGHT-TO-LEFT OVERRIDE",
  0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE", 0x2068: "FIRST STRONG ISOLATE",
  0x2069: "POP DIRECTIONAL ISOLATE", 0xfeff: "BYTE ORDER MARK",
};

/** The text in pieces: plain strings, and marks for what would not be seen. `lines` keeps line ends as they are. */
export function seen(text, { lines = false } = {}) {
  const pieces = [];
  let from = 0;
  for (const found of String(text).matchAll(ODD)) {
    if (lines && PLAIN.has(found[0])) continue;
    if (found.index > from) pieces.push(text.slice(from, found.index));
    pieces.push(html`<${Odd} character=${found[0]} />`);
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

const numberOf = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function Odd({ character }) {
  const number = numberOf(character);
  return html`<span class="odd" title=${`${number} ${NAMES[character.codePointAt(0)] || "a character that is not seen"}`}>${number}</span>`;
}

/** Somebody else's text where only text may stand, as in a choice or a message: what would not be seen, by its number. */
export const plainly = (text) => String(text).replace(ODD, (character) => `[${numberOf(character)}]`);

/** Whether everything in a text is seen. `lines` lets line ends pass. */
export const isPlain = (text, { lines = false } = {}) => !(String(text).match(ODD) || []).some((each) => !(lines && PLAIN.has(each)));

/** One line of somebody else's text, such as a name. */
export function Said({ text, most = 200 }) {
  const whole = String(text ?? "");
  if (whole.length <= most) return html`<bdi class="said">${seen(whole)}</bdi>`;
  return html`<bdi class="said" title=${`${whole.length} characters`}>${seen(whole.slice(0, most))}<span class="more">… ${whole.length - most} more characters</span></bdi>`;
}

/** A long text: its beginning, and the rest on demand, piece by piece so that a megabyte does not stop the page. */
export function Long({ text, quoted = false }) {
  const [shown, show] = useState(FOLD);
  const whole = String(text ?? "");
  const left = whole.length - shown;
  return html`<span class="long">
    <bdi class=${quoted ? "said quoted" : "said"}>${seen(whole.slice(0, shown), { lines: true })}</bdi>
    ${left > 0 && html`<button type="button" class="link" onClick=${() => show(shown + STEP)}>Show ${Math.min(left, STEP)} more of ${whole.length} characters</button>`}
    ${left <= 0 && whole.length > FOLD && html`<button type="button" class="link" onClick=${() => show(FOLD)}>Show less</button>`}
  </span>`;
}
