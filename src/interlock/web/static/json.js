// JSON as it was sent. A browser rounds numbers that are longer than it can hold, and whoever approves a call must see
// the very number that the call carries: such a number is kept as its text.

/** A number that this browser cannot hold. */
export class Exact {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.text) : this.text;
  }
}

const DIGITS = 17; // no number of ours has more

function isHeld(value, text) {
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value);
  return text.replace(/e.*/i, "").replace(/^[-0.]*|\./g, "").length <= DIGITS;
}

/** The value of a JSON text. */
export const parsed = (text) =>
  JSON.parse(text, (_, value, context) => (typeof value === "number" && context && !isHeld(value, context.source) ? new Exact(context.source) : value));

/** A number as it is shown: where the browser may have rounded it without telling, that is said. */
export const shownNumber = (value) => (Number.isInteger(value) && !Number.isSafeInteger(value) ? `about ${value}` : String(value));
