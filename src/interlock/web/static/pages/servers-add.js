// Adding a server. It runs as soon as it is added, because only then its tools are known; what would become of their
// calls is shown before anybody decides whether it stays.

import { html, useState } from "../html.js";
import { del, pathOf, post } from "../api.js";
import { stale } from "../stream.js";
import { choose, go } from "../router.js";
import { Card, ClassBadge, Command, StateBadge, Trouble, toast } from "../parts.js";
import { Said } from "../text.js";
import { LastProblem } from "./servers-parts.js";
import { counted } from "./tools-live.js";

const leave = () => choose({ view: "" });

export function AddServer() {
  const [added, setAdded] = useState(null); // {wanted, answer}
  return added ? html`<${Preview} added=${added} setAdded=${setAdded} />` : html`<${Form} onAdded=${setAdded} />`;
}

// The form -------------------------------------------------------------------------------------------------------

const field = (setValue) => (event) => setValue(event.target.value);

function Form({ onAdded }) {
  const [id, setId] = useState("");
  const [kind, setKind] = useState("command");
  const [where, setWhere] = useState("");
  const [pairs, setPairs] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const parts = kind === "command" ? commandParts(where) : null;
  const add = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const wanted = definition(id, kind, where, pairs);
      onAdded({ wanted, answer: await post("/servers", wanted) });
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return html`<${Card} title="Add a server"><form class="narrow" onSubmit=${add}>
    <label>Its id <span class="dull">(lower-case letters, digits and -)</span><input required pattern="[a-z0-9][a-z0-9\\-]*" maxlength="60" autocomplete="off" value=${id} onInput=${field(setId)} /></label>
    <fieldset><legend>How it is reached</legend>
      <label><input type="radio" name="kind" checked=${kind === "command"} onChange=${() => setKind("command")} /> A program that the gateway starts</label>
      <label><input type="radio" name="kind" checked=${kind === "url"} onChange=${() => setKind("url")} /> An address where it listens</label>
    </fieldset>
    ${kind === "command"
      ? html`<label>Command line<input required autocomplete="off" spellcheck=${false} placeholder="npx -y @modelcontextprotocol/server-filesystem ." value=${where} onInput=${field(setWhere)} /></label>
        ${where && html`<p class="dull parts">${parts === null ? "A quote is not closed." : html`Starts ${parts.map((each, at) => html`<code key=${at}>${each || "(empty)"}</code> `)}`}</p>`}`
      : html`<label>Address<input required type="url" autocomplete="off" placeholder="https://example.com/mcp" value=${where} onInput=${field(setWhere)} /></label>`}
    <label>${kind === "command" ? "Environment" : "Headers"} <span class="dull">(NAME=VALUE, one in a line; a secret only by reference, as in <code>TOKEN=${"${env:TOKEN}"}</code>)</span><textarea rows="3" spellcheck=${false} value=${pairs} onInput=${field(setPairs)}></textarea></label>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons"><button type="submit" class="good" disabled=${busy || stale.value}>${busy ? "Starting it…" : "Start it and look"}</button><button type="button" onClick=${leave}>Leave it</button></div>
    <p class="dull">Next you see how many of its tools would be held, and keep it or not. In a terminal: <${Command} text=${inTerminal(id, kind, where)} /></p>
  </form><//>`;
}

const inTerminal = (id, kind, where) => `interlock server add ${id || "ID"} --${kind} ${where ? `'${where.replaceAll("'", "'\\''")}'` : "…"}`;

/** Words as a shell would take them, without anything that a shell would do; null while a quote is open. */
export function commandParts(text) {
  const parts = [];
  let part = null;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const each = text[at];
    const escapes = each === "\\" && quote !== "'" && at + 1 < text.length;
    if (escapes) part = (part ?? "") + text[(at += 1)];
    else if (quote) [part, quote] = each === quote ? [part, ""] : [part + each, quote];
    else if (each === "'" || each === '"') [part, quote] = [part ?? "", each];
    else if (!/\s/.test(each)) part = (part ?? "") + each;
    else {
      parts.push(part);
      part = null;
    }
  }
  return quote ? null : [...parts, part].filter((each) => each !== null);
}

function refusal(message, fix) {
  return Object.assign(new Error(message), { code: "", fix });
}

function definition(id, kind, where, pairs) {
  const given = pairsOf(pairs);
  const more = Object.keys(given).length ? { [kind === "command" ? "env" : "headers"]: given } : {};
  if (kind === "url") return { id, url: where, ...more };
  const [command, ...args] = commandParts(where) ?? [];
  if (!command) throw refusal("The command line is not whole.", "Close its quotes and name a program.");
  return { id, command, args, ...more };
}

function pairsOf(text) {
  const pairs = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const at = line.indexOf("=");
    // The line is not repeated: it may be a secret.
    if (at < 1) throw refusal("A line has no name before an =.", "Write NAME=VALUE, one in a line.");
    pairs[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return pairs;
}

// What would become of its tools ---------------------------------------------------------------------------------

const VERDICT_WORDS = { __proto__: null, allow: "would run at once", hold: "would wait for approval", deny: "would be refused" };

function Preview({ added, setAdded }) {
  const { wanted, answer } = added;
  const { server, tools } = answer;
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const stopped = (tools.by_verdict.hold || 0) + (tools.by_verdict.deny || 0);
  const attempt = (work) => async () => {
    setBusy(true);
    setProblem(null);
    await work().catch(setProblem);
    setBusy(false);
  };
  const keep = () => go(pathOf("servers", server.id));
  const drop = async () => {
    await del(pathOf("servers", server.id));
    toast(`${server.id} was removed again.`);
    setAdded(null);
  };
  const believe = async () => {
    await del(pathOf("servers", server.id));
    setAdded({ wanted, answer: await post("/servers", { ...wanted, trusted: true }) });
  };
  const off = busy || stale.value;
  return html`<${Card} title=${html`Keep <${Said} text=${server.id} />?`} actions=${html`<${StateBadge} state=${server.health} />`}>
    <div class="preview" role="status">
    ${server.problem && html`<${LastProblem} server=${server} />`}
    ${tools.total > 0 ? html`<${Foreseen} tools=${tools} />` : html`<p>It has listed no tools so far.</p>`}
    ${server.trusted && html`<p>What it says of its tools is believed.</p>`}
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons">
      <button type="button" class="good" disabled=${off} onClick=${keep}>Keep it</button>
      ${!server.trusted && stopped > 0 && html`<button type="button" disabled=${off} onClick=${attempt(believe)}>Believe what it says of its tools, and look again</button>`}
      <button type="button" class="bad" disabled=${off} onClick=${attempt(drop)}>Remove it again</button>
    </div>
    <p class="dull">It runs already, and stays unless you remove it. Rules that look at arguments are left out of account here.</p></div>
  <//>`;
}

const Foreseen = ({ tools }) => html`<p>${counted(tools.total, "tool")}: ${Object.entries(tools.by_verdict).map(([verdict, count], at) => html`${at ? ", " : ""}<strong>${count}</strong> ${VERDICT_WORDS[verdict] || verdict}`)}.</p>
  <ul class="plain class-counts">${Object.entries(tools.by_class).map(([each, count]) => html`<li key=${each}><${ClassBadge} safetyClass=${each} /> ${count}</li>`)}</ul>`;
