// One server: what it is, its log as it is written, its tools, and what an admin may do about it.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { del, get, pathOf, post } from "../api.js";
import { isAdmin } from "../session.js";
import { stale } from "../stream.js";
import { go } from "../router.js";
import { Card, ClassBadge, Command, Dialog, Empty, Facts, Fetched, Page, StateBadge, Time, Trouble, toast, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { Classes, LastProblem, TRUST_WORDS, eraOf, sinceOf, stateOf } from "./servers-parts.js";
import { counted, useLive, useTools } from "./tools-live.js";
import { StandingBadge } from "./tools-marks.js";

const LOG_LINES = 500;
const LOG_MS = 1500;
const SHOWN_TOOLS = 100;
const MOST_TRUSTED = 50;

export function ServerDetail({ id }) {
  const from = useLive(() => get(pathOf("servers", id)), ["server", "config"], [id]);
  const tools = useTools(id);
  const server = from.value;
  return html`<${Page} title=${html`<${Said} text=${id} most=${80} />`} about=${html`<a href="/servers">All servers</a>`}
    actions=${server && isAdmin.value && html`<${Actions} server=${server} tools=${tools.value?.items || []} changed=${from.again} />`}>
    <${Fetched} from=${from}>${() => html`
      ${server.health === "down" && html`<${LastProblem} server=${server} />`}
      <div class="cards"><${About} server=${server} /><${Card} title="Tools by class"><${Classes} server=${server} tools=${tools.value?.items} /><//></div>
      <${Log} id=${id} />
      <${ToolsOf} server=${server} tools=${tools.value?.items} />`}<//>
  <//>`;
}

const About = ({ server }) => html`<${Card} title="How it is doing"><${Facts} rows=${[
  ["State", html`<${StateBadge} state=${stateOf(server)} />`],
  ["So since", sinceOf(server) && html`<${Time} at=${server.since} />`],
  ["Id", html`<${Said} text=${server.id} />`],
  ["Namespace", html`<${Said} text=${server.namespace} />`],
  ["Transport", html`<${Said} text=${server.transport} most=${40} />`],
  ["Protocol", server.protocol_version ? html`<${Said} text=${server.protocol_version} most=${40} />, ${eraOf(server.protocol_version)}` : null],
  ["Restarts", String(server.restarts)],
  ["Calls itself", Boolean(server.says_name) && html`<${Said} text=${`${server.says_name} ${server.says_version}`} most=${120} />`],
  ["Quarantined", server.poisoned > 0 && html`<a href=${"/tools?standing=poisoned&server=" + encodeURIComponent(server.id)}>${counted(server.poisoned, "tool")} with signs of poison</a>`],
  ["Left out", server.left_out.length > 0 && html`<${Said} text=${server.left_out.map((each) => each.text).join("; ")} most=${400} />`],
  ["Last problem", Boolean(server.problem) && server.health !== "down" && html`<${Said} text=${server.problem} most=${400} />`],
  ["Trust", TRUST_WORDS[server.trusted]],
  ["Comes from", server.added ? "added while the gateway ran" : "the configuration file; to remove it, take it out there"],
]} /><//>`;

// What can be done about it --------------------------------------------------------------------------------------

const ASKS = {
  __proto__: null,
  restart: { word: "Restart", done: "was started anew.", says: "Calls under way may end; what it refers to is read anew." },
  disable: { word: "Disable", done: "is switched off.", says: "Its tools disappear for agents until it is enabled again. Calls under way may end." },
  remove: { word: "Remove", done: "was removed.", says: "Its tools disappear for agents, and its settings are forgotten. What it did stays on record." },
  trust: { word: "Trust its tools", done: "is trusted as it was listed.", says: "These tools count as reviewed as they are listed now: what is new is no longer held for that, and what changed can be called again." },
};

function Actions({ server, tools, changed }) {
  const [asked, setAsked] = useState("");
  // What is listed twice is no one thing that somebody could trust; what has signs of poison is trusted one by one.
  const unsettled = tools.filter((each) => !["known", "twice", "poisoned"].includes(each.standing));
  const off = stale.value;
  const done = () => {
    setAsked("");
    changed();
  };
  return html`
    ${server.enabled && html`<button type="button" disabled=${off} onClick=${() => setAsked("restart")}>Restart</button>`}
    ${server.enabled ? html`<button type="button" disabled=${off} onClick=${() => setAsked("disable")}>Disable</button>` : html`<${Enable} server=${server} changed=${changed} />`}
    ${unsettled.length > 0 && html`<button type="button" disabled=${off} onClick=${() => setAsked("trust")}>Trust its tools…</button>`}
    ${server.added && html`<button type="button" class="bad" disabled=${off} onClick=${() => setAsked("remove")}>Remove…</button>`}
    ${asked && html`<${Ask} key=${asked} server=${server} verb=${asked} unsettled=${unsettled} done=${done} onClose=${() => setAsked("")} />`}`;
}

function Enable({ server, changed }) {
  const enable = async () => {
    try {
      await post(pathOf("servers", server.id, "enable"));
      toast(`${server.id} is switched on.`);
    } catch (problem) {
      toast(`${problem.message} ${problem.fix}`, "bad");
    }
    changed();
  };
  return html`<button type="button" class="good" disabled=${stale.value} onClick=${enable}>Enable</button>`;
}

const ACTS = {
  __proto__: null,
  remove: (server) => del(pathOf("servers", server.id)),
  // One by one, each with the fingerprint that was listed when it was asked: a server cannot slip in another.
  trust: async (_, seen) => {
    for (const each of seen) await post(pathOf("tools", each.server, each.tool, "trust"), { fingerprint: each.fingerprint });
  },
};

/** Whatever takes something away from agents, or gives it to them, is asked once more. */
function Ask({ server, verb, unsettled, done, onClose }) {
  const [seen] = useState(unsettled);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = ASKS[verb];
  const tooMany = verb === "trust" && seen.length > MOST_TRUSTED;
  const act = async () => {
    setBusy(true);
    try {
      await (ACTS[verb] ? ACTS[verb](server, seen) : post(pathOf("servers", server.id, verb)));
      toast(`${server.id} ${ask.done}`);
      if (verb === "remove") go("/servers");
      else done();
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`${ask.word}: ${server.id}`} onClose=${onClose}>
    <div class="ask"><p>${ask.says}</p>
    ${verb === "trust" && html`<${Reviewed} seen=${seen} />`}
    ${tooMany && html`<p>These are too many to have looked at. If you have: <${Command} text=${`interlock tool trust ${server.id} --all`} /></p>`}
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons"><button type="button" class=${verb === "remove" ? "bad" : ""} disabled=${busy || tooMany || stale.value} onClick=${act}>${ask.word}</button><button type="button" onClick=${onClose}>Leave it</button></div></div>
  <//>`;
}

const Reviewed = ({ seen }) => html`<p class="dull">Look at each first:</p>
  <ul class="plain asked">${seen.slice(0, MOST_TRUSTED).map((each) => html`<li key=${each.tool}><a href=${pathOf("tools", each.server, each.tool)}><${Said} text=${each.tool} most=${60} /></a> <${StandingBadge} standing=${each.standing} /></li>`)}</ul>`;

// Its log --------------------------------------------------------------------------------------------------------

function Log({ id }) {
  const [follows, setFollows] = useState(true);
  const [kept, keep] = useState([]);
  const from = useFetched(() => get(pathOf("servers", id, "logs"), { limit: LOG_LINES }));
  const latest = useRef(from);
  latest.current = from;
  const box = useRef(null);
  useEffect(() => {
    if (!follows) return undefined;
    const look = () => !document.hidden && !latest.current.loading && latest.current.again();
    const timer = setInterval(look, LOG_MS);
    return () => clearInterval(timer);
  }, [follows]);
  useEffect(() => {
    // The same lines again are no news: whoever selects a line to copy it keeps what is selected.
    if (from.value && follows && JSON.stringify(from.value.items) !== JSON.stringify(kept)) keep(from.value.items);
  }, [from.value, follows]);
  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [kept, follows]);
  return html`<${Card} title="What it wrote to its stderr" actions=${html`<button type="button" aria-pressed=${follows} onClick=${() => setFollows(!follows)}>${follows ? "Following" : "Paused"}</button>`}>
    ${from.problem && html`<${Trouble} problem=${from.problem} />`}
    ${kept.length ? html`<div ref=${box} class="log" tabindex="0" role="region" aria-label="Log">${kept.map((line, at) => html`<div key=${at}><${Said} text=${line} most=${2000} /></div>`)}</div>` : html`<p class="dull">Nothing, or it does not run.</p>`}
    <p class="dull">The last ${LOG_LINES} lines at most; secrets are hidden.</p>
  <//>`;
}

// Its tools ------------------------------------------------------------------------------------------------------

function ToolsOf({ server, tools }) {
  if (!tools) return null;
  const all = `/tools?${new URLSearchParams({ server: server.id })}`;
  if (!tools.length) return html`<${Empty} title="It lists no tools.">${server.enabled ? "As soon as it does, they stand here." : "It is switched off."}<//>`;
  return html`<${Card} title="Its tools" actions=${html`<a href=${all}>All ${counted(tools.length, "tool")}, to search</a>`}>
    <div class="table-box" tabindex="0" role="region" aria-label="Its tools"><table class="list"><thead><tr><th scope="col">Tool</th><th scope="col">Class</th><th scope="col">By its</th><th scope="col">Definition</th></tr></thead>
    <tbody>${tools.slice(0, SHOWN_TOOLS).map((each) => html`<tr key=${each.tool}><th scope="row"><a href=${pathOf("tools", each.server, each.tool)}><${Said} text=${each.tool} most=${80} /></a></th><td><${ClassBadge} safetyClass=${each.safety_class} /></td><td>${each.class_source}</td><td><${StandingBadge} standing=${each.standing} /></td></tr>`)}</tbody></table></div>
    ${tools.length > SHOWN_TOOLS && html`<p class="dull">The first ${SHOWN_TOOLS}. <a href=${all}>Search all of them</a></p>`}
  <//>`;
}
