// The official TypeScript client, made to follow a script:
//
//   node client.mjs '{"to": "http://…" or [command, argument, …], "steps": [{"do": "list"}, {"do": "call", …}]}'
//
// One JSON line is printed for each thing that happens: every message in either direction, every progress report, what
// came of each step, and what the client complains of on the way. A step with `abort` is given up at its first progress.
// Whatever it is asked it answers with a word of its own.
import { setTimeout } from "node:timers/promises";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const PAUSE = 50;
const say = (line) => console.log(JSON.stringify(line));

function open(to) {
  if (typeof to === "string") return new StreamableHTTPClientTransport(new URL(to));
  const [command, ...args] = to;
  return new StdioClientTransport({ command, args });
}

// Resolves once everything that the client has sent so far has really left: giving up a call sends without waiting.
function watch(transport) {
  const leaving = [];
  const send = transport.send.bind(transport);
  transport.onmessage = (message) => say({ wire: "in", message });
  transport.send = (message, options) => {
    say({ wire: "out", message });
    const left = send(message, options);
    leaving.push(left);
    return left;
  };
  return () => Promise.allSettled(leaving);
}

async function list(client, wanted) {
  for (;;) {
    const listed = await client.listTools();
    const names = listed.tools.map((tool) => tool.name);
    if (wanted.every((name) => names.includes(name))) return listed;
    await setTimeout(PAUSE);
  }
}

async function call(client, number, { name, arguments: given, progress, abort }) {
  const giveUp = new AbortController();
  const onprogress = (report) => {
    say({ step: number, progress: report });
    if (abort) giveUp.abort("not needed any more");
  };
  const options = { signal: giveUp.signal, ...(progress ? { onprogress } : {}) };
  try {
    say({ step: number, result: await client.callTool({ name, arguments: given }, undefined, options) });
  } catch (error) {
    if (giveUp.signal.aborted) say({ step: number, aborted: true });
    else say({ step: number, error: { code: error.code, message: error.message, data: error.data } });
  }
}

const { to, steps } = JSON.parse(process.argv[2]);
const transport = open(to);
const everythingLeft = watch(transport);
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const client = new Client({ name: "official-typescript", version: "1.0.0" }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, ({ params: { mode, message } }) =>
  mode === "url" ? { action: "accept" } : { action: "accept", content: { word: `typescript ${message}` } },
);
client.setRequestHandler(CreateMessageRequestSchema, () => ({
  ...{ role: "assistant", content: { type: "text", text: "typescript" }, model: "m", stopReason: "endTurn" },
}));
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///here", name: "typescript" }] }));
client.onerror = (error) => say({ complaint: String(error) });

await client.connect(transport);
for (const [number, step] of steps.entries()) {
  if (step.do === "list") say({ step: number, result: await list(client, step.until) });
  else await call(client, number, step);
  await everythingLeft();
}
await transport.terminateSession?.();
client.onerror = undefined; // closing breaks off whatever is still open, and the client says so
await client.close();
