// A call as a command, to be made once more. What agents wrote ends up in somebody's shell, so it is quoted whole, and
// what would not be seen there is written by its number.

import { pathOf } from "../api.js";

const VERBS = { __proto__: null, read: "tool-read", write: "tool-write", destructive: "tool-destructive" };
const OPERATIONS = { __proto__: null, "read-only": "read", "write-capable": "write" };
const SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;
const PRINTABLE = /^[ -~]*$/;

/** JSON in plain characters only: everything else by its number, which is the same to JSON. */
const plainJson = (value) => JSON.stringify(value).replace(/[^ -~]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A word as a shell takes it for one word, whatever is in it. */
export function quoted(text) {
  if (SAFE.test(text)) return text;
  if (PRINTABLE.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(/[^ -~]/gu, (each) => `\\U${each.codePointAt(0).toString(16).padStart(8, "0")}`);
  return `$'${escaped}'`;
}

/** What the call was said to do; what nobody said is read from its class, and else it is the gravest. */
const operationOf = (call) => call.metadata?.intent?.operation_type || call.intent_type || OPERATIONS[call.safety_class] || "destructive";

export function callCommand(call) {
  const { data_sensitivity: sensitivity, reason } = call.metadata?.intent || {};
  const parts = ["interlock", "call", VERBS[operationOf(call)] || VERBS.destructive, "--tool-name", `${call.server}:${call.tool}`];
  if (Object.keys(call.arguments || {}).length) parts.push("--json_args", plainJson(call.arguments));
  if (reason) parts.push("--reason", reason);
  if (sensitivity) parts.push("--sensitivity", sensitivity);
  return parts.map(quoted).join(" ");
}

export function curlCommand(call, origin) {
  const intent = Object.fromEntries(Object.entries(call.metadata?.intent || {}).filter(([, value]) => value));
  const body = plainJson({ arguments: call.arguments || {}, entry: "call", variant: operationOf(call), intent: { ...intent, operation_type: operationOf(call) } });
  const address = `${origin}/api/v1${pathOf("tools", call.server, call.tool, "call")}`;
  // The token stays a name: it is filled in by the shell of whoever has one.
  return `curl -sS ${quoted(address)} -H "Authorization: Bearer $INTERLOCK_TOKEN" -H 'Content-Type: application/json' -d ${quoted(body)}`;
}
