// A schema as a tree. A reference is followed when somebody opens it, so that a schema that holds itself has no end to
// be reached; within its own branch it is only named.

import { html, useState } from "../html.js";
import { resolved } from "./api-document.js";

const OPEN_DEPTH = 1;

export function Schema({ schema, schemas, path = [] }) {
  const found = resolved(schema, schemas);
  const choices = (found.schema.anyOf || found.schema.oneOf || []).filter((each) => each.type !== "null");
  const inner = choices.length === 1 ? resolved(choices[0], schemas) : found;
  const shape = inner.schema;
  const name = inner.name || found.name;
  const items = shape.type === "array" && shape.items ? resolved(shape.items, schemas) : null;
  const members = (items?.schema || shape).properties;
  const word = wordOf(found.schema, schemas);
  const about = schema.description || found.schema.description;
  if (!members || path.includes(name || items?.name)) return html`<span class="shape"><code>${word}</code>${members && html` <span class="dull">as above</span>`}${about && html` <span class="about">${about}</span>`}</span>`;
  return html`<${Members} word=${word} about=${about} members=${members} required=${(items?.schema || shape).required || []} schemas=${schemas} path=${[...path, name || items?.name || "?"]} />`;
}

function Members({ word, about, members, required, schemas, path }) {
  const [open, setOpen] = useState(path.length <= OPEN_DEPTH);
  return html`<details class="shape" open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary><code>${word}</code>${about && html` <span class="about">${about}</span>`}</summary>
    ${open && html`<dl class="members">${Object.entries(members).map(([name, each]) => html`<div key=${name}><dt><code>${name}</code>${required.includes(name) && html` <span class="dull">required</span>`}</dt><dd><${Schema} schema=${each} schemas=${schemas} path=${path} /></dd></div>`)}</dl>`}
  </details>`;
}

const LIMITS = [["pattern", "fits"], ["minLength", "at least", "characters"], ["maxLength", "at most", "characters"], ["minimum", "at least"], ["maximum", "at most"], ["minItems", "at least", "items"], ["maxItems", "at most", "items"]];

/** What a schema allows, in a few words. */
function wordOf(schema, schemas, depth = 0) {
  if (schema.$ref) return resolved(schema, schemas).name || "?";
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf || schema.oneOf;
  if (choices && depth < 5) return [...new Set(choices.map((each) => wordOf(each, schemas, depth + 1)))].join(" | ") + defaultOf(schema);
  if (schema.type === "array" && depth < 5) return `list of ${wordOf(schema.items || {}, schemas, depth + 1)}${limitsOf(schema)}`;
  return `${schema.title && schema.properties ? schema.title : schema.type || "anything"}${limitsOf(schema)}${defaultOf(schema)}`;
}

const defaultOf = (schema) => (schema.default === undefined ? "" : `, by default ${JSON.stringify(schema.default)}`);

const limitsOf = (schema) => LIMITS.filter(([key]) => schema[key] !== undefined).map(([key, word, unit]) => `, ${[word, schema[key], unit].filter((each) => each !== undefined).join(" ")}`).join("");
