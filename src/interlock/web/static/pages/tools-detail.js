// One tool: what it says of itself, which class it has and why, what it was before, and a way to try it.

import { html, useState } from "../html.js";
import { get, pathOf, post } from "../api.js";
import { isAdmin } from "../session.js";
import { stale } from "../stream.js";
import { choose, query } from "../router.js";
import { Card, ClassBadge, Empty, Facts, Fetched, Page, Sign, Time, Trouble, toast, useFetched } from "../parts.js";
import { Long, Said, plainly } from "../text.js";
import { Whole } from "../tree.js";
import { CLASSES } from "../words.js";
import { useLive } from "./tools-live.js";
import { FINDINGS, SOURCES, StandingBadge } from "./tools-marks.js";
import { History, Unsettled } from "./tools-history.js";
import { TryIt } from "./tools-try.js";

const VIEWS = [["", "About"], ["definition", "Definition"], ["try", "Try it"]];

export function ToolDetail({ server, tool }) {
  const from = useLive(() => get(pathOf("tools", server, tool)), ["tool", "server", "config"]);
  const { view = "" } = query.value;
  const found = from.value;
  const back = new URLSearchParams(location.search);
  back.delete("view");
  return html`<${Page} title=${html`<${Said} text=${`${server}:${tool}`} most=${120} />`} about=${html`<a href=${`/tools${back.size ? `?${back}` : ""}`}>All tools</a> · <a href=${pathOf("servers", server)}>Server <${Said} text=${server} most=${40} /></a>`}
    actions=${html`<div class="tabs" role="group" aria-label="What to see">${VIEWS.filter(([value]) => value !== "try" || isAdmin.value).map(([value, word]) => html`<button type="button" key=${value} aria-pressed=${view === value} onClick=${() => choose({ view: value })}>${word}</button>`)}</div>`}>
    <${Fetched} from=${from}>${() => html`
      <div class="tool-head"><${ClassBadge} safetyClass=${found.safety_class} /><${StandingBadge} standing=${found.standing} /><a href=${`/activity?${new URLSearchParams({ server: found.server, tool: found.tool })}`}>Its calls</a></div>
      ${found.standing !== "known" && html`<${Unsettled} found=${found} changed=${from.again} />`}
      ${view === "try" && isAdmin.value ? html`<${TryIt} found=${found} />` : view === "definition" ? html`<${Definition} found=${found} />` : html`<${About} found=${found} changed=${from.again} />`}`}<//>
  <//>`;
}

// What it says and what we make of it ----------------------------------------------------------------------------

const About = ({ found, changed }) => html`
  ${found.findings.length > 0 && html`<${Card} title="Findings"><ul class="plain findings">${found.findings.map((each) => html`<li key=${each.text}><${Sign} name="alert" /><span><strong>${FINDINGS[each.code] || each.code}</strong>: <${Said} text=${each.text} most=${400} /></span></li>`)}</ul><//>`}
  <${Card} title=${html`What it says of itself <span class="dull">(the server's word; nobody checked it)</span>`}>
    <blockquote class="untrusted" tabindex="0" role="region" aria-label="Its description"><${Long} text=${found.description || "nothing"} quoted=${true} /></blockquote>
  <//>
  <${Evidence} found=${found} />
  ${isAdmin.value && html`<${Override} found=${found} changed=${changed} />`}`;

function Evidence({ found }) {
  const by = useOverrideBy(found);
  return html`<${Card} title="Why it has this class">
    <div class="table-box" tabindex="0" role="region" aria-label="Evidence"><table class="list"><thead><tr><th scope="col">Evidence</th><th scope="col">Says</th><th scope="col">What was seen</th><th scope="col">Counts</th></tr></thead>
    <tbody>${found.evidence.map((each, at) => html`<tr key=${at} class=${each.decided ? "decided" : ""}><th scope="row">${SOURCES[each.source] || each.source}</th><td><${ClassBadge} safetyClass=${each.says} /></td><td><${Said} text=${each.detail} most=${400} />${each.source === "override" && by && html` <span class="dull">by <${Said} text=${by.by || "the configuration file"} most=${60} /> <${Time} at=${by.at} /></span>`}</td><td>${each.decided ? html`<${Sign} name="check" /> decides` : ""}</td></tr>`)}</tbody></table></div>
    <${Facts} rows=${[
      ["Called with", html`<code>${found.call_with}</code>`],
      ["run-tool sees", found.views.prefix],
      ["The lab sees", found.views.exec],
      ["Fingerprint", html`<code title=${found.fingerprint}>${found.fingerprint.slice(0, 16)}</code>`],
    ]} />
  <//>`;
}

/** Who set the class, from the record; null when nobody did, or nothing is on record as for one in the file. */
function useOverrideBy(found) {
  const isSet = found.evidence.some((each) => each.source === "override");
  const look = () => (isSet ? get("/activity", { type: "tool_change", server: found.server, tool: found.tool, limit: 50 }) : Promise.resolve({ items: [] }));
  const from = useFetched(look, [isSet, found.safety_class]);
  return from.value?.items.find((each) => each.change === "overridden") || null;
}

const SETTABLE = Object.keys(CLASSES).filter((each) => each !== "unknown");

function Override({ found, changed }) {
  const isSet = found.evidence.some((each) => each.source === "override");
  const [wanted, setWanted] = useState(isSet ? found.safety_class : "");
  const [problem, setProblem] = useState(null);
  const set = async (event) => {
    event.preventDefault();
    setProblem(null);
    try {
      const answer = await post(pathOf("tools", found.server, found.tool, "override"), { safety_class: wanted || null });
      toast(`${plainly(found.name)} is ${answer.safety_class || "as its evidence says"} from now on.`);
      changed();
    } catch (refusal) {
      setProblem(refusal);
    }
  };
  return html`<${Card} title="Set its class for good"><form class="inline" onSubmit=${set}>
    <label>Class <select value=${wanted} onChange=${(event) => setWanted(event.target.value)}><option value="">as its evidence says</option>${SETTABLE.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <button type="submit" disabled=${stale.value || wanted === (isSet ? found.safety_class : "")}>Set it</button>
    </form>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <p class="dull">Your word replaces all evidence, in both directions, until you take it back. A lower class than its evidence says lets calls run that would be held.</p>
  <//>`;
}

// Its definition -------------------------------------------------------------------------------------------------

const Definition = ({ found }) => html`
  <${Card} title="Arguments that it takes"><${Schema} label="Input schema" value=${found.input_schema} none="It says nothing about its arguments." /><//>
  ${found.output_schema && html`<${Card} title="What it gives back"><${Schema} label="Output schema" value=${found.output_schema} /><//>`}
  <${Card} title="Annotations"><${Schema} label="Annotations" value=${found.annotations} none="None." /><//>
  <${History} found=${found} />
  <${Card} title="The whole definition as it was listed"><details><summary>Show it</summary><${Schema} label="Definition" value=${found.definition} /></details><//>`;

export const Schema = ({ value, label, none }) => (Object.keys(value).length ? html`<div tabindex="0" role="region" aria-label=${label}><${Whole} value=${value} /></div>` : html`<p class="dull">${none}</p>`);
