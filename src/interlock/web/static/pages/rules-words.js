// A rule in words, and as YAML. Values in a rule are the operator's own, but may be of any shape, so all of them are
// shown as text.

import { html } from "../html.js";
import { span } from "../parts.js";
import { Said } from "../text.js";

const listed = (value) => (Array.isArray(value) ? value : [value]);
const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

const Quoted = ({ text }) => html`<code><${Said} text=${shown(text)} most=${200} /></code>`;
const anyOf = (values) => listed(values).map((each, at, all) => html`${at ? (at === all.length - 1 ? " or " : ", ") : ""}<${Quoted} text=${each} />`);

const WORDS = {
  __proto__: null,
  workspace_id: (value) => html`the caller is in workspace ${anyOf(value)}`,
  server_id: (value) => html`the server is ${anyOf(value)}`,
  tool_pattern: (value) => html`the tool is like ${anyOf(value)}`,
  safety_class: (value) => html`its class is ${anyOf(value)}`,
  operation_type: (value) => html`the operation is ${anyOf(value)}`,
  caller: (value) => html`the caller is like ${anyOf(value)}`,
};

const MATCHERS = {
  __proto__: null,
  equals: "is",
  not: "is not",
  in: "is one of",
  glob: "is like",
  matches: "matches",
  contains: "contains",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
};

/** The conditions of a rule, a sentence each; an empty list means always. */
export function conditionsInWords(conditions) {
  const { args = {}, ...others } = conditions;
  const plain = Object.entries(others).map(([name, value]) => (WORDS[name] ? WORDS[name](value) : html`<${Said} text=${name} /> is ${anyOf(value)}`));
  return [...plain, ...Object.entries(args).map(([path, wanted]) => argument(path, wanted))];
}

function argument(path, wanted) {
  const name = html`the argument <${Quoted} text=${path} />`;
  if (wanted === null || typeof wanted !== "object") return html`${name} is ${typeof wanted === "string" ? "like " : ""}<${Quoted} text=${wanted} />`;
  if (Array.isArray(wanted)) return html`${name} is ${anyOf(wanted)}`;
  return html`${name} ${Object.entries(wanted).map(([matcher, value], at) => html`${at ? " and " : ""}${matched(matcher, value)}`)}`;
}

function matched(matcher, value) {
  if (matcher === "absent") return value ? "is absent" : "is there";
  return html`${MATCHERS[matcher] || matcher} ${matcher === "in" ? anyOf(value) : html`<${Quoted} text=${value} />`}`;
}

/** How a held call may be approved. */
export function Terms({ terms }) {
  const who = terms.approvers.length ? terms.approvers.join(", ") : "anyone with the role of an approver";
  return html`within ${span(terms.approval_timeout)}, by ${terms.approvals_needed > 1 ? `${terms.approvals_needed} of ` : ""}<${Said} text=${who} />${terms.four_eyes ? ", but not the owner" : ""}; ${terms.max_grant ? `a grant for ${span(terms.max_grant)} at most` : "this call only"}`;
}

// YAML -----------------------------------------------------------------------------------------------------------

const PLAIN = /^[a-z][a-z0-9_-]*$/i;
const WORDS_OF_YAML = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

/** A value in one line. JSON is YAML, so whatever is not plain is written as JSON. */
function inline(value) {
  if (typeof value === "string") return PLAIN.test(value) && !WORDS_OF_YAML.has(value.toLowerCase()) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${inline(name)}: ${inline(each)}`).join(", ")}}`;
  return String(value);
}

/** A rule as it may stand under `route_rules`. */
export function yamlOf(rule) {
  const lines = { id: rule.id, ...rule.conditions };
  if (rule.effect) lines.effect = rule.effect;
  if (rule.priority) lines.priority = rule.priority;
  if (rule.auth_scope_id) lines.auth_scope_id = rule.auth_scope_id;
  if (rule.approval) Object.assign(lines, termsOf(rule.approval));
  return Object.entries(lines).map(([name, value], at) => `${at ? "  " : "- "}${name}: ${inline(value)}`).join("\n");
}

function termsOf({ approvers, four_eyes, ...terms }) {
  const lines = { ...terms, max_grant: `${terms.max_grant}s` };
  if (approvers.length) lines.approvers = approvers;
  if (four_eyes) lines.four_eyes = true;
  return lines;
}
