// Every value in force, and where it came from: the same as `interlock config show` prints. Secrets are not among them.

import { html, useState } from "../html.js";
import { choose, query } from "../router.js";
import { Card, Command, Empty } from "../parts.js";
import { Said } from "../text.js";
import { Mark, Table } from "./agents-parts.js";

const STEP = 200;

/** Where a value came from, as one of a few words. */
const sourceOf = (from) => (from === "default" ? "default" : from.startsWith("environment ") ? "environment" : /:\d+:\d+$/.test(from) ? "file" : "other");
const SOURCES = [["", "anywhere"], ["set", "anywhere but the defaults"], ["file", "the file"], ["environment", "the environment"], ["default", "the defaults"]];

export function Effective({ rows, file }) {
  const { q = "", from = "" } = query.value;
  const [most, setMost] = useState(STEP);
  const fits = (each) => {
    const source = sourceOf(each.from);
    return (!from || source === from || (from === "set" && source !== "default")) && (!q || each.setting.toLowerCase().includes(q.toLowerCase()) || shown(each.value).toLowerCase().includes(q.toLowerCase()));
  };
  const found = rows.filter(fits);
  return html`<${Card} title="The configuration in force" actions=${html`<${Command} text="interlock config show" />`}>
    <p class="dull above">${file ? html`The file is <code><${Said} text=${file} most=${400} /></code>.` : "There is no file."} Secrets are shown as references only.</p>
    <div class="filters" role="search">
      <label>Setting or value <input type="search" value=${q} onInput=${(event) => choose({ q: event.target.value })} /></label>
      <label>From <select value=${from} onChange=${(event) => choose({ from: event.target.value })}>${SOURCES.map(([value, word]) => html`<option value=${value}>${word}</option>`)}</select></label>
      <span class="dull" role="status">${found.length} of ${rows.length}</span>
    </div>
    ${!found.length ? html`<${Empty} title="No setting fits." />` : html`<${Table} label="The configuration in force" columns=${["Setting", "Value", "From"]}>${found.slice(0, most).map((each) => html`<tr key=${each.setting}><th scope="row" class="mono"><${Said} text=${each.setting} most=${120} /></th><td class="mono"><${Said} text=${shown(each.value)} most=${300} /></td><td><${From} from=${each.from} /></td></tr>`)}<//>`}
    ${found.length > most && html`<button type="button" class="link" onClick=${() => setMost(most + STEP * 5)}>Show more: ${found.length - most} left</button>`}
  <//>`;
}

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

const From = ({ from }) => (from === "default" ? html`<span class="dull">default</span>` : html`<${Mark} tone="wait" sign="pencil"><${Said} text=${from} most=${120} /><//>`);
