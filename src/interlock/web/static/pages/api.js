// The interface of the gateway, described by the gateway: every route of its OpenAPI document, and a way to try those
// that only read. A route has an address of its own: `/api#list_tokens`.

import { html, useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { useKeys } from "../keys.js";
import { choose, query } from "../router.js";
import { Command, Empty, Fetched, Page, useFetched } from "../parts.js";
import { curlOf, operationsOf, refusalsOf } from "./api-document.js";
import { Schema } from "./api-schema.js";
import { TryIt } from "./api-try.js";

export function Api() {
  const from = useFetched(() => get("/openapi.json"));
  return html`<${Page} title="API" about=${html`Everything that this dashboard does can be done by a program, with a token. The description for tools: <a href="/api/v1/openapi.json">openapi.json</a>.`}>
    <${Fetched} from=${from}>${(document) => html`<${Routes} document=${document} />`}<//>
  <//>`;
}

const SEARCH = "api-search";
const fits = (operation, words) => words.every((word) => operation.text.includes(word));

function Routes({ document }) {
  const all = operationsOf(document);
  const wanted = useHash();
  const { q = "" } = query.value;
  const found = all.filter((each) => fits(each, q.toLowerCase().split(/\s+/).filter(Boolean)));
  const tags = [...new Set(found.map((each) => each.tag))];
  useKeys("API", [{ key: "/", says: "Search", does: () => globalThis.document.getElementById(SEARCH)?.focus() }]);
  return html`<div class="filters" role="search">
      <label>Search <input id=${SEARCH} type="search" value=${q} onInput=${(event) => choose({ q: event.target.value })} placeholder="token, POST, approver …" /></label>
      <span class="dull" role="status">${found.length} of ${all.length} routes</span>
    </div>
    ${!found.length && html`<${Empty} title="No route fits.">Look for less.<//>`}
    ${tags.map((tag) => html`<section class="card routes" key=${tag} aria-labelledby=${`tag-${tag}`}><h2 id=${`tag-${tag}`}>${tag}</h2>${found.filter((each) => each.tag === tag).map((each) => html`<${Operation} key=${each.id} operation=${each} schemas=${document.components.schemas} wanted=${each.id === wanted} />`)}</section>`)}`;
}

/** What stands behind the `#`: the route that a link leads to. */
function useHash() {
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => {
    const look = () => setHash(location.hash.slice(1));
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return hash;
}

function Operation({ operation, schemas, wanted }) {
  const [open, setOpen] = useState(wanted);
  useEffect(() => {
    if (!wanted) return;
    setOpen(true);
    const summary = globalThis.document.getElementById(operation.id)?.querySelector("summary");
    summary?.focus();
    summary?.scrollIntoView({ block: "start" });
  }, [wanted]);
  return html`<details id=${operation.id} class="operation" open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary><span class=${`method ${operation.method.toLowerCase()}`}>${operation.method}</span> <code>${operation.path}</code> <span class="dull">${operation.first}</span></summary>
    ${open && html`<${Described} operation=${operation} schemas=${schemas} />`}
  </details>`;
}

function Described({ operation, schemas }) {
  const { parameters, body, answers } = operation;
  return html`<div class="described">
    ${operation.rest && html`<p class="about">${operation.rest}</p>`}
    <p><span class="dull">For ${operation.roles.join(", ")}.</span> <a href=${`#${operation.id}`}>#${operation.id}</a></p>
    ${parameters.length > 0 && html`<h3>Parameters</h3><dl class="members">${parameters.map((each) => html`<div key=${each.name}><dt><code>${each.name}</code> <span class="dull">${each.in}${each.required ? ", required" : ""}</span></dt><dd><${Schema} schema=${each.schema} schemas=${schemas} /></dd></div>`)}</dl>`}
    ${body && html`<h3>Body</h3><${Schema} schema=${body} schemas=${schemas} />`}
    <h3>Answer</h3>${answers.map((each) => html`<div key=${each.status + each.media}><p class="dull">${each.status}, ${each.media}</p><${Schema} schema=${each.schema} schemas=${schemas} /></div>`)}
    <h3>Refusals</h3><ul class="plain">${refusalsOf(operation).map((each) => html`<li key=${each.status}><code>${each.status}</code> ${each.says}</li>`)}</ul>
    <h3>With curl</h3><${Command} text=${curlOf(operation, schemas, location.origin)} />
    ${operation.method === "GET" && html`<${TryIt} operation=${operation} />`}
  </div>`;
}
