// The rules in the order in which they decide, how often each did, and what is wrong with them. Nothing is edited here:
// rules stand in a file that is read by people and kept with its history.

import { html } from "../html.js";
import { get } from "../api.js";
import { choose, query } from "../router.js";
import { Card, Command, Empty, Facts, Fetched, Page, Sign, StateBadge, Time, toast, useFetched } from "../parts.js";
import { Said } from "../text.js";
import { counted, useLive } from "./tools-live.js";
import { Choice } from "./tools-marks.js";
import { Terms, conditionsInWords, yamlOf } from "./rules-words.js";
import { Replay } from "./rules-replay.js";
import { TestRule } from "./rules-test.js";

const VIEWS = [["", "In force"], ["test", "Test"], ["replay", "Replay"]];
const PARTS = { __proto__: null, test: TestRule, replay: Replay };

export function Rules() {
  const { view = "", call } = query.value;
  const shown = call && !view ? "test" : view;
  const see = (value) => choose({ view: value, call: value === "test" ? call : "" });
  return html`<${Page} title="Rules" about="A deny always wins; then the highest priority, then the stricter; else the posture decides."
    actions=${html`<div class="tabs" role="group" aria-label="What to do">${VIEWS.map(([value, word]) => html`<button type="button" key=${value} aria-pressed=${shown === value} onClick=${() => see(value)}>${word}</button>`)}</div>`}>
    ${PARTS[shown] ? html`<${PARTS[shown]} />` : html`<${InForce} />`}
    <${WhereTheyStand} />
  <//>`;
}

const WhereTheyStand = () => html`<p class="dull where">Rules are edited in <code>interlock.yaml</code>, under <code>route_rules</code>. A changed file is taken up by itself; one with a fault is refused, and the old rules stay. Which file it is: <${Command} text="interlock config show" /></p>`;

// The list -------------------------------------------------------------------------------------------------------

/** Counting goes through the whole record, so it is not asked for with every call. */
const COUNT_MS = 5000;
const SPANS = [["24h", "24 hours"], ["30d", "30 days"], ["90d", "90 days"]];

function InForce() {
  const { since = "" } = query.value;
  const from = useLive(() => get("/rules", { since: since || "7d" }), ["config", "activity"], [since], { restMs: COUNT_MS });
  return html`<div class="filters"><${Choice} label="Count since" value=${since} none="7 days" options=${SPANS} onChange=${(event) => choose({ since: event.target.value })} /></div>
    <${Fetched} from=${from}>${(value) => html`
      ${value.items.length ? html`<ol class="plain rule-list">${value.items.map((each, at) => html`<${RuleCard} key=${each.id} rule=${each} place=${at + 1} />`)}</ol>` : html`<${NoRules} posture=${value.posture} />`}
      <${Postures} value=${value} />`}<//>
    <${Suggestions} />`;
}

/** Rules worth writing, from approvals that repeat. They are for people to copy; nothing puts them in force. */
function Suggestions() {
  const items = useFetched(() => get("/rules/suggestions", { since: "30d" })).value?.items || [];
  if (!items.length) return null;
  return html`<${Card} title="Worth a rule"><p class="dull">These calls were approved again and again in the last 30 days.</p>
    <ul class="plain history">${items.map((each, at) => html`<li key=${at}><p>Approved <strong>${each.approved}</strong> times, by <${Said} text=${each.approvers.join(", ")} most=${200} />, last <${Time} at=${each.last} /></p><${Yaml} text=${each.yaml.trimEnd()} /></li>`)}</ul>
  <//>`;
}

const NoRules = ({ posture }) => html`<${Empty} title="There are no rules." command="interlock rule explain sample:delete_note">The posture <code>${posture}</code> decides everything. What it says about a tool:<//>`;

function RuleCard({ rule, place }) {
  const conditions = conditionsInWords(rule.conditions);
  return html`<li class="card rule">
    <header><h2><span class="dull place">${place}.</span> <${Said} text=${rule.id} most=${100} /> ${rule.effect ? html`<${StateBadge} state=${rule.effect} />` : html`<span class="badge tone-dull">Decides nothing</span>`}</h2><${Hits} rule=${rule} /></header>
    ${rule.marks.map((each) => html`<p key=${each.code + each.text} class="mark"><${Sign} name="alert" /><span><strong>${MARKS[each.code] || each.code}</strong>: <${Said} text=${each.text} most=${400} /></span></p>`)}
    <p>${conditions.length ? html`When ${conditions.map((each, at) => html`${at ? ", and " : ""}${each}`)}.` : "Always."}</p>
    <${Facts} rows=${[
      ["Priority", rule.priority !== 0 && String(rule.priority)],
      ["Runs with", rule.auth_scope_id && html`<${Said} text=${rule.auth_scope_id} />`],
      ["Approval", rule.approval && html`<${Terms} terms=${rule.approval} />`],
    ]} />
    <details><summary>As YAML</summary><${Yaml} text=${yamlOf(rule)} /></details>
  </li>`;
}

/** How often a rule decided; one that never did may be one that nobody needs. */
function Hits({ rule }) {
  if (!rule.last_hit) return html`<span class="badge tone-dull"><${Sign} name="minus" />Never hit</span>`;
  return html`<p class="dull"><strong>${counted(rule.hits, "hit")}</strong>, last <${Time} at=${rule.last_hit} /></p>`;
}

const MARKS = { __proto__: null, shadowed: "Shadowed", "never-matches": "Never matches", contradictory: "Contradictory", "decides-nothing": "Decides nothing", "unreachable-workspace": "Nobody can be there" };

/** Text to copy as it is; it is shown with what would not be seen made visible. */
function Yaml({ text }) {
  return html`<div class="yaml"><pre tabindex="0" role="region" aria-label="The rule as YAML">${text.split("\n").map((line) => html`<${Said} text=${line} most=${2000} />${"\n"}`)}</pre><${Copy} text=${text} /></div>`;
}

function Copy({ text }) {
  const copy = () => navigator.clipboard?.writeText(text).then(() => toast("Copied."), () => toast("The browser did not let it be copied.", "bad"));
  return html`<button type="button" onClick=${copy}><${Sign} name="copy" />Copy</button>`;
}

function Postures({ value }) {
  const rows = [...value.postures, ...value.others];
  return html`<${Card} title=${html`Where no rule decides: posture <code>${value.posture}</code>`}>
    ${rows.length ? html`<div class="table-box" tabindex="0" role="region" aria-label="Postures and gates"><table class="list"><thead><tr><th scope="col">What decided</th><th scope="col" class="number">Hits</th><th scope="col">Last hit</th></tr></thead>
      <tbody>${rows.map((each) => html`<tr key=${each.id}><th scope="row"><${Said} text=${each.id} most=${100} /></th><td class="number">${each.hits.toLocaleString("en")}</td><td><${Time} at=${each.last_hit} /></td></tr>`)}</tbody></table></div>` : html`<p class="dull">It has decided nothing yet.</p>`}
    <p class="dull">${counted(value.items.length, "rule")} in force. Gates that come before the rules, and rules that are gone, are listed here too when they decided something.</p>
  <//>`;
}
