// The official TypeScript clients, made to follow a script:
//
//   node client.mjs '{"to": "http://…" or [command, argument, …], "mode": null, "steps": [{"do": "list"}, …]}'
//
// Without a mode it is the client of the first generation. The second one has three: `legacy`, `auto`, and the version
// of the modern protocol that it insists on.
//
// One JSON line is printed for each thing that happens: every message in either direction, every progress report, what
// came of each step, and what the client complains of on the way. A step with `abort` is given up at its first progress.
// Whatever it is asked it answers with a word of its own.
import { setTimeout } from "node:timers/promises";

const { to, mode, steps } = JSON.parse(process.argv[2]);
const FIRST = ["sdk/client/index.js", "sdk/client/stdio.js", "sdk/client/streamableHttp.js"];
const SECOND = ["client", "client/stdio"];
const parts = await Promise.all((mode ? SECOND : FIRST).map((part) => import(`@modelcontextprotocol/${part}`)));
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = Object.assign({}, ...parts);

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

function ask(client, { do: what, name, arguments: given }, options) {
  if (what === "resources") return client.listResources();
  if (what === "read") return client.readResource({ uri: name });
  if (what === "prompts") return client.listPrompts();
  if (what === "prompt") return client.getPrompt({ name, arguments: given });
  const call = { name, arguments: given };
  return mode ? client.callTool(call, options) : client.callTool(call, undefined, options);
}

async function take(client, number, step) {
  const { progress, abort } = step;
  const giveUp = new AbortController();
  const onprogress = (report) => {
    say({ step: number, progress: report });
    if (abort) giveUp.abort("not needed any more");
  };
  const options = { signal: giveUp.signal, ...(progress ? { onprogress } : {}) };
  try {
    say({ step: number, result: await ask(client, step, options) });
  } catch (error) {
    if (giveUp.signal.aborted) say({ step: number, aborted: true });
    else say({ step: number, error: { code: error.code, message: error.message, data: error.data } });
  }
}

const transport = open(to);
const everythingLeft = watch(transport);
const negotiation = mode === "legacy" || mode === "auto" ? mode : { pin: mode };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const options = mode ? { versionNegotiation: { mode: negotiation } } : { capabilities };
const client = new Client({ name: "official-typescript", version: "1.0.0" }, options);
if (!mode) {
  const asked = await import("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(asked.ElicitRequestSchema, ({ params: { mode, message } }) =>
    mode === "url" ? { action: "accept" } : { action: "accept", content: { word: `typescript ${message}` } },
  );
  client.setRequestHandler(asked.CreateMessageRequestSchema, () => ({
    ...{ role: "assistant", content: { type: "text", text: "typescript" }, model: "m", stopReason: "endTurn" },
  }));
  const roots = [{ uri: "file:///here", name: "typescript" }];
  client.setRequestHandler(asked.ListRootsRequestSchema, () => ({ roots }));
}
client.onerror = (error) => say({ complaint: String(error) });

await client.connect(transport);
for (const [number, step] of steps.entries()) {
  if (step.do === "list") say({ step: number, result: await list(client, step.until) });
  else await take(client, number, step);
  await everythingLeft();
}
await transport.terminateSession?.();
client.onerror = undefined; // closing breaks off whatever is still open, and the client says so
await client.close();
