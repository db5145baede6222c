// The catalogue: every tool of every server with its class and why. The whole list is here, so it is searched as one types.

import { html, signal, useMemo } from "../html.js";
import { pathOf } from "../api.js";
import { choose, go, query, words } from "../router.js";
import { useKeys } from "../keys.js";
import { ClassBadge, Empty, Fetched, Page } from "../parts.js";
import { Rows } from "../rows.js";
import { Said } from "../text.js";
import { CLASSES } from "../words.js";
import { counted, useTools } from "./tools-live.js";
import { Choice, FINDINGS, FindingsMark, SOURCES, STANDINGS, StandingBadge } from "./tools-marks.js";
import { ToolDetail } from "./tools-detail.js";

const ROW_HEIGHT = 68;

/** The row that keys move, by the name of its tool. */
const marked = signal("");

export function Tools() {
  const [, server, tool] = words.value;
  if (server && tool) return html`<${ToolDetail} key=${`${server}\n${tool}`} server=${server} tool=${tool} />`;
  return html`<${Page} title="Tools" about="What the servers offer, the class that the gateway gave each tool, and on what evidence."><${Catalogue} /><//>`;
}

function Catalogue() {
  const from = useTools();
  return html`<${Fetched} from=${from}>${({ items }) => items.length
    ? html`<${Found} items=${items} />`
    : html`<${Empty} title="No server lists a tool yet." command="interlock server list">As soon as a server is ready, its tools stand here. How they are doing:<//>`}<//>`;
}

// Choosing -------------------------------------------------------------------------------------------------------

const FITS = {
  __proto__: null,
  server: (each, wanted) => each.server === wanted,
  class: (each, wanted) => each.safety_class === wanted,
  source: (each, wanted) => each.class_source === wanted,
  standing: (each, wanted) => (wanted === "unsettled" ? each.standing !== "known" : each.standing === wanted),
  findings: (each, wanted) => (wanted === "any" ? each.findings.length > 0 : each.findings.some((one) => one.code === wanted)),
};

/** All words must be in the name or the description, in any order. */
function chosen(items, wanted) {
  const tests = Object.entries(FITS).filter(([name]) => wanted[name]);
  const sought = (wanted.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter((each) => tests.every(([name, fits]) => fits(each, wanted[name])) && mentions(each, sought));
}

function mentions(each, sought) {
  if (!sought.length) return true;
  const text = `${each.name} ${each.description}`.toLowerCase();
  return sought.every((word) => text.includes(word));
}

function Found({ items }) {
  const wanted = query.value;
  const found = useMemo(() => chosen(items, wanted), [items, JSON.stringify(wanted)]);
  const at = found.findIndex((each) => each.name === marked.value);
  const move = (by) => found.length && (marked.value = found[Math.min(found.length - 1, Math.max(0, at < 0 ? 0 : at + by))].name);
  useKeys("Tools", [
    { key: "j", says: "Next", does: () => move(1) },
    { key: "k", says: "Previous", does: () => move(-1) },
    { key: "Enter", says: "Open it", does: ({ target }) => (target.closest?.("a, button, summary") || at < 0 ? target.click() : go(addressOf(found[at]))) },
    { key: "/", says: "Search", does: () => document.getElementById("tool-search")?.focus() },
  ]);
  return html`<${Filters} items=${items} wanted=${wanted} />
    <p class="dull summary" role="status">${found.length === items.length ? counted(items.length, "tool") : `${found.length.toLocaleString("en")} of ${counted(items.length, "tool")}`}</p>
    ${found.length
      ? html`<${Rows} class="catalogue" items=${found} height=${ROW_HEIGHT} chosen=${at} role="list" tabindex="0" aria-label="Tools" row=${(each, place) => html`<${Row} key=${each.name} tool=${each} marked=${each.name === marked.value} place=${place} total=${found.length} />`} />`
      : html`<${Empty} title="No tool is like that."><button type="button" onClick=${() => go("/tools", { replace: true })}>Show all</button><//>`}`;
}

function Filters({ items, wanted }) {
  const servers = useMemo(() => [...new Set(items.map((each) => each.server))], [items]);
  const set = (name) => (event) => choose({ [name]: event.target.value });
  const named = (table, word = (each) => each) => Object.entries(table).map(([value, each]) => [value, word(each)]);
  return html`<div class="filters catalogue-filters" role="search">
    <label>Search <input id="tool-search" type="search" value=${wanted.q || ""} maxlength="200" placeholder="name or description" onInput=${set("q")} /></label>
    <${Choice} label="Server" value=${wanted.server} onChange=${set("server")} options=${servers.map((each) => [each, each])} />
    <${Choice} label="Class" value=${wanted.class} onChange=${set("class")} options=${named(CLASSES, (each) => each.word)} />
    <${Choice} label="Class comes from" value=${wanted.source} onChange=${set("source")} options=${named(SOURCES)} />
    <${Choice} label="Definition" value=${wanted.standing} onChange=${set("standing")} options=${[["unsettled", "New or quarantined"], ...named(STANDINGS, (each) => each.word)]} />
    <${Choice} label="Findings" value=${wanted.findings} onChange=${set("findings")} options=${[["any", "With findings"], ...named(FINDINGS)]} />
  </div>`;
}

// A row ----------------------------------------------------------------------------------------------------------

/** The filters stay in the address, so that the way back leads to the same list. */
const addressOf = (tool) => pathOf("tools", tool.server, tool.tool) + location.search;

function Row({ tool, marked: isMarked, place, total }) {
  return html`<div class=${`row ${isMarked ? "marked" : ""}`} role="listitem" aria-posinset=${place + 1} aria-setsize=${total}>
    <div class="line"><a class="tool" href=${addressOf(tool)}><${Said} text=${tool.name} most=${100} /></a><span class="marks"><${FindingsMark} findings=${tool.findings} />${tool.standing !== "known" && html`<${StandingBadge} standing=${tool.standing} />`}<${ClassBadge} safetyClass=${tool.safety_class} /></span></div>
    <div class="line dull"><span class="from"><${Said} text=${tool.description.slice(0, 300).replace(/\s+/g, " ") || "It says nothing about itself."} most=${200} /></span><span class="source">by its ${SOURCES[tool.class_source] || tool.class_source}</span></div>
  </div>`;
}
