// What an OpenAPI document says, in the shape that the page needs. Nothing here is shown; nothing here fetches.

const METHODS = ["get", "post", "put", "patch", "delete"];
const MOST_DEPTH = 4;

/** Every operation of the document, in its order. */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => operation(path, method, item[method])));
}

function operation(path, method, given) {
  const roles = given["x-roles"] || [];
  const says = given.description || given.summary || "";
  const found = {
    id: given.operationId,
    tag: given.tags?.[0] || "other",
    method: method.toUpperCase(),
    path,
    first: says.split("\n")[0],
    rest: says.split("\n").slice(1).join("\n").trim(),
    roles: roles.includes("visitor") ? ["anyone"] : roles,
    parameters: given.parameters || [],
    body: given.requestBody?.content?.["application/json"]?.schema,
    responses: given.responses,
    answers: answersOf(given.responses),
  };
  return { ...found, text: [found.method, path, found.id, says, found.tag, ...found.roles].join(" ").toLowerCase() };
}

const isGood = (status) => status.startsWith("2");

const answersOf = (responses) =>
  Object.entries(responses).filter(([status]) => isGood(status)).flatMap(([status, { content = {} }]) => Object.entries(content).map(([media, { schema }]) => ({ status, media, schema: schema || {} })));

export const refusalsOf = ({ responses }) => Object.entries(responses).filter(([status]) => !isGood(status)).map(([status, { description }]) => ({ status, says: description }));

/** The schema that a reference within the document names; other schemas are themselves. */
export function resolved(schema, schemas) {
  const name = schema.$ref?.match(/^#\/components\/schemas\/([^/]+)$/)?.[1];
  if (!name) return { schema };
  return { schema: schemas[name] || {}, name };
}

/** A shell word that stands for exactly this text. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The route as a command. The token is a variable, so that no secret is on the page or in the history of a shell. */
export function curlOf(operation, schemas, origin) {
  const parts = ["curl"];
  if (operation.method !== "GET") parts.push("-X", operation.method);
  if (!operation.roles.includes("anyone")) parts.push("-H", '"Authorization: Bearer $INTERLOCK_TOKEN"');
  if (operation.body) parts.push("-H", quoted("Content-Type: application/json"), "-d", quoted(JSON.stringify(example(operation.body, schemas))));
  return [...parts, quoted(origin + operation.path)].join(" ");
}

/** A value that fits a schema: what is required and nothing else. */
function example(given, schemas, depth = 0) {
  const { schema } = resolved(given, schemas);
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  const choice = (schema.anyOf || schema.oneOf || schema.allOf)?.[0];
  if (choice) return example(choice, schemas, depth);
  if (schema.type === "array") return schema.minItems && depth < MOST_DEPTH ? [example(schema.items || {}, schemas, depth + 1)] : [];
  if (schema.type === "object" || schema.properties) {
    const needed = depth < MOST_DEPTH ? schema.required || [] : [];
    return Object.fromEntries(needed.map((name) => [name, example(schema.properties?.[name] || {}, schemas, depth + 1)]));
  }
  return { string: "…", integer: 1, number: 1, boolean: true, null: null }[schema.type] ?? {};
}
