// What is in force: how the gateway is set up and where each value came from, how it does, who is told, and what this
// browser was asked to do. Nothing is changed here but the browser: the configuration file is the operator's.

import { html } from "../html.js";
import { get } from "../api.js";
import * as attention from "../attention.js";
import { THEMES, theme } from "../theme.js";
import { me } from "../session.js";
import { Card, Command, Facts, Fetched, Page, Time, toast, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { Mark, useFresh } from "./agents-parts.js";
import { Effective } from "./settings-values.js";
import { Notices } from "./settings-notices.js";

export function Settings() {
  const turn = useFresh(["config", "server", "approval", "system"]);
  const from = useFetched(() => get("/settings"), [turn]);
  return html`<${Page} title="Settings" about="What is in force now. The configuration file changes it; a good change is taken up by itself.">
    <${Fetched} from=${from}>${(found) => html`
      <div class="cards halves">
        <${Gateway} found=${found} />
        <${Health} readiness=${found.readiness} listening=${found.listening} />
        <${Browser} />
        <${Identity} identity=${found.identity} />
      </div>
      <${Notices} turn=${turn} />
      <${Effective} rows=${found.effective} file=${found.file} />`}<//>
  <//>`;
}

const POSTURES = {
  __proto__: null,
  guarded: "reads and writes run; programs, what is dangerous and what is unknown wait",
  strict: "reads run; what is unknown is refused, everything else waits",
  open: "everything runs, unless a rule says otherwise",
  observe: "nothing waits; what would have is recorded, and deny rules still refuse",
};

function Gateway({ found }) {
  return html`<${Card} title="The gateway"><${Facts} rows=${[
    ["Version", found.version],
    ["Listens on", html`<code>${`${found.listen.host}:${found.listen.port}`}</code>`],
    ["Agents connect to", html`<code>${`${location.origin}/mcp`}</code>`],
    ["Posture", html`<strong>${found.posture}</strong>${POSTURES[found.posture] && html`<span class="dull">: ${POSTURES[found.posture]}</span>`}`],
    ["Tools are shown", EXPOSED[found.expose] || found.expose],
    ["Names", found.namespacing ? "server__tool" : "as the server gives them"],
    ["Default workspace", found.default_workspace ? html`<${Said} text=${found.default_workspace} />` : "none"],
    ["The record", found.record.wait === "all" ? "waits for every call" : "waits for every call that writes"],
    ["Servers", html`<a href="/servers">${found.servers || "the sample"}</a>`],
    ["Rules", html`<a href="/rules">${found.rules}</a>`],
  ]} /><//>`;
}

const EXPOSED = { __proto__: null, search: "by search", direct: "each by its name", both: "by search and by name" };

function Health({ readiness, listening }) {
  return html`<${Card} title="How it is" actions=${readiness.ready ? html`<${Mark} tone="good" sign="check">Ready<//>` : html`<${Mark} tone="bad" sign="alert">Not ready<//>`}>
    <ul class="plain checks">${readiness.checks.map((each) => html`<li key=${each.name}>${each.ok ? html`<${Mark} tone="good" sign="check">${each.name}<//>` : html`<${Mark} tone="bad" sign="alert">${each.name}<//>`} <${Said} text=${each.text} most=${400} /></li>`)}</ul>
    <h3>Who hears of a call that waits</h3>
    ${listening.length ? html`<ul>${listening.map((each) => html`<li>${each}</li>`)}</ul>` : html`<p>Nobody. Keep this page open, or run:</p><${Command} text="interlock approval watch" />`}
  <//>`;
}

/** These stay in this browser; the gateway never hears of them. */
function Browser() {
  const canNotify = "Notification" in window;
  const notify = async () => (await attention.toggleNotes()) || toast("The browser does not allow notifications from here.", "bad");
  return html`<${Card} title="This browser">
    <fieldset><legend>Theme</legend><div class="choices">${THEMES.map((each) => html`<label><input type="radio" name="theme" value=${each} checked=${theme.value === each} onChange=${() => (theme.value = each)} /> ${each === "auto" ? "as the system" : each}</label>`)}</div></fieldset>
    <fieldset><legend>When a call begins to wait</legend>
      <label><input type="checkbox" checked=${attention.sound.value} onChange=${attention.toggleSound} /> play a sound</label>
      <label class=${canNotify ? "" : "dull"}><input type="checkbox" checked=${attention.notes.value} disabled=${!canNotify} onChange=${notify} /> show a desktop notification while this page is hidden${canNotify ? "" : " (not possible here)"}</label>
    </fieldset>
    <${Facts} rows=${[["Signed in as", html`<${Said} text=${me.value.name} />`], ["Roles", me.value.roles.join(", ")], ["Until", html`<${Time} at=${me.value.expires_at} />`]]} />
  <//>`;
}

function Identity({ identity }) {
  if (!identity) return html`<${Card} title="Identity"><p>Only tokens of this gateway are taken. <span class="dull">An issuer of JWTs is named under <code>identity.jwt</code>.</span></p><//>`;
  return html`<${Card} title="Identity" actions=${identity.problem ? html`<${Mark} tone="bad" sign="alert">Trouble<//>` : html`<${Mark} tone="good" sign="check">Keys are known<//>`}><${Facts} rows=${[
    ["Issuer", html`<${Said} text=${identity.issuer} />`],
    ["Audience", html`<${Said} text=${identity.audience} />`],
    ["Keys", String(identity.keys)],
    ["Trouble", identity.problem && html`<${Said} text=${identity.problem} most=${400} />`],
  ]} /><//>`;
}
