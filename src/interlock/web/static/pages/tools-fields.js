// A form from an input schema. A schema is the word of a stranger: what is plain becomes a field of its kind, and
// everything else a field for JSON, so that there is nothing that cannot be typed. The gateway checks it all again.

import { html } from "../html.js";
import { Long, Said, isPlain, plainly } from "../text.js";

const MOST_FIELDS = 60;
const MOST_CHOICES = 200;
const COMPOSED = ["$ref", "oneOf", "anyOf", "allOf", "not", "if", "patternProperties"];

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isScalar = (value) => value === null || typeof value !== "object";

/** The fields of a schema, or null when it is not a plain list of properties. */
export function fieldsOf(schema) {
  const properties = isObject(schema) ? (schema.properties ?? {}) : null;
  if (!isObject(properties) || COMPOSED.some((word) => word in schema)) return null;
  const entries = Object.entries(properties);
  if (entries.length > MOST_FIELDS) return null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return entries.map(([name, each]) => fieldOf(name, isObject(each) ? each : {}, required.has(name)));
}

function fieldOf(name, schema, required) {
  const plain = withoutNull(schema);
  const choices = Array.isArray(plain.enum) && plain.enum.length <= MOST_CHOICES && plain.enum.every(isScalar) ? plain.enum : null;
  return {
    name,
    required,
    kind: choices ? "choice" : (KIND_OF_TYPE.get(plain.type) ?? "json"),
    choices: choices || [],
    description: typeof schema.description === "string" ? schema.description : "",
    initial: "default" in schema ? schema.default : plain.default,
    hint: choices ? `one of ${choices.length}` : hintOf(plain),
  };
}

const KIND_OF_TYPE = new Map([["string", "text"], ["integer", "integer"], ["number", "number"], ["boolean", "boolean"]]);

/** `string or null` is a string that may be left out: that is how most servers write an optional one. */
function withoutNull(schema) {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((each) => each !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : { ...schema, type: undefined };
  }
  const either = Array.isArray(schema.anyOf) ? schema.anyOf.filter((each) => isObject(each) && each.type !== "null") : [];
  if (either.length === 1 && schema.anyOf.length === 2) return { ...either[0], default: schema.default };
  return COMPOSED.some((word) => word in schema) ? { ...schema, type: undefined } : schema;
}

const LIMITS = [["minimum", "at least"], ["maximum", "at most"], ["minLength", "characters, at least"], ["maxLength", "characters, at most"], ["format", "as"], ["pattern", "like"]];

function hintOf(schema) {
  const limits = LIMITS.filter(([word]) => ["string", "number"].includes(typeof schema[word])).map(([word, says]) => `${says} ${schema[word]}`);
  const type = typeof schema.type === "string" ? schema.type : "any";
  return [type, ...limits].join(", ").slice(0, 300);
}

// What is typed --------------------------------------------------------------------------------------------------

/** What a field holds at first, as text. */
export function initialText(field) {
  if (field.initial === undefined || field.initial === null) return "";
  if (field.kind === "text" && typeof field.initial === "string") return field.initial;
  if (field.kind === "choice") return String(Math.max(-1, field.choices.indexOf(field.initial)));
  return JSON.stringify(field.initial);
}

/** The value of a field: `{value}`, `{left: true}` when it is left out, or `{problem}`. */
export function valueOf(field, text) {
  if (text === "" || (field.kind === "choice" && text === "-1")) {
    if (!field.required) return { left: true };
    return field.kind === "text" ? { value: "" } : { problem: "It is required." };
  }
  return READ[field.kind](text, field);
}

const NUMBER = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/;
const READ = {
  __proto__: null,
  text: (text) => ({ value: text }),
  choice: (text, field) => ({ value: field.choices[Number(text)] }),
  boolean: (text) => ({ value: text === "true" }),
  number: (text) => (NUMBER.test(text.trim()) && Number.isFinite(Number(text)) ? { value: Number(text) } : { problem: "Write a number, such as 2.5." }),
  integer: (text) => (/^-?\d+$/.test(text.trim()) && Number.isSafeInteger(Number(text)) ? { value: Number(text) } : { problem: "Write a whole number, such as 2." }),
  json: (text) => parsed(text),
};

/** Text as JSON: `{value}` or `{problem}` with where it stops to be JSON. */
export function parsed(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (bad) {
    return { problem: `This is not JSON: ${bad.message}` };
  }
}

/** Text as the JSON object that arguments are. */
export function parsedObject(text) {
  const found = text.trim() ? parsed(text) : { value: {} };
  return found.problem || isObject(found.value) ? found : { problem: "Arguments are a JSON object: { … }" };
}

/** All arguments: `{value}`, or `{problems: {name: sentence}}`. */
export function argumentsOf(fields, texts) {
  const [value, problems] = [Object.create(null), Object.create(null)]; // a field may be called __proto__
  for (const field of fields) {
    const found = valueOf(field, texts[field.name] ?? "");
    if (found.problem) problems[field.name] = found.problem;
    else if (!found.left) value[field.name] = found.value;
  }
  return Object.keys(problems).length ? { problems } : { value };
}

// The fields -----------------------------------------------------------------------------------------------------

export function Field({ field, text, problem, onText, at }) {
  const [id, about, wrong] = [`field-${at}`, `field-${at}-about`, `field-${at}-wrong`];
  const attributes = { id, "aria-describedby": `${about}${problem ? ` ${wrong}` : ""}`, "aria-invalid": Boolean(problem), "aria-required": field.required };
  return html`<div class="field">
    <label for=${id}><${Said} text=${field.name} most=${100} />${field.required ? html` <span class="dull">(required)</span>` : ""}</label>
    <${Input} field=${field} text=${text} attributes=${attributes} onText=${(event) => onText(event.target.value)} />
    <p id=${about} class="dull"><span class="hint"><${Said} text=${field.hint} />${field.kind === "json" ? ", as JSON" : ""}</span>${field.description && html`: <q><${Long} text=${field.description} /></q>`}</p>
    ${!isPlain(text, { lines: true }) && html`<p class="dull">With what is not seen in it: <${Long} text=${text} quoted=${true} /></p>`}
    ${problem && html`<p id=${wrong} class="wrong">${problem}</p>`}
  </div>`;
}

function Input({ field, text, attributes, onText }) {
  if (field.kind === "choice") {
    return html`<select ...${attributes} value=${text === "" ? "-1" : text} onChange=${onText}><option value="-1">${field.required ? "choose" : "left out"}</option>${field.choices.map((each, at) => html`<option key=${at} value=${String(at)}>${shown(each)}</option>`)}</select>`;
  }
  if (field.kind === "boolean") {
    return html`<select ...${attributes} value=${text} onChange=${onText}><option value="">${field.required ? "choose" : "left out"}</option><option value="true">true</option><option value="false">false</option></select>`;
  }
  if (field.kind === "json" || field.kind === "text") {
    const rows = field.kind === "json" || text.includes("\n") || text.length > 100 ? 3 : 1;
    return html`<textarea ...${attributes} rows=${rows} spellcheck=${false} placeholder=${field.required ? "" : "left out"} value=${text} onInput=${onText}></textarea>`;
  }
  return html`<input ...${attributes} inputmode="decimal" autocomplete="off" placeholder=${field.required ? "" : "left out"} value=${text} onInput=${onText} />`;
}

const shown = (value) => plainly((typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200));
