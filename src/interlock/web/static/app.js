// The frame around every page: who is signed in, where one can go, whether what is seen is up to date.

import { effect, html, render, useState } from "./html.js";
import * as attention from "./attention.js";
import * as freeze from "./freeze.js";
import * as queue from "./queue.js";
import * as session from "./session.js";
import * as stream from "./stream.js";
import { THEMES, theme } from "./theme.js";
import { go, page } from "./router.js";
import { known, useKeys } from "./keys.js";
import { Command, Dialog, Empty, Page, Sign, Toasts, Trouble, Waiting } from "./parts.js";
import { Activity } from "./pages/activity.js";
import { Agents } from "./pages/agents.js";
import { Api } from "./pages/api.js";
import { Approvals } from "./pages/approvals.js";
import { Audit } from "./pages/audit.js";
import { Lab } from "./pages/lab.js";
import { Overview } from "./pages/overview.js";
import { Rules } from "./pages/rules.js";
import { Servers } from "./pages/servers.js";
import { Settings } from "./pages/settings.js";
import { Tools } from "./pages/tools.js";

const PAGES = [
  { path: "approvals", title: "Approvals", key: "1", shows: Approvals },
  { path: "overview", title: "Overview", key: "2", shows: Overview },
  { path: "activity", title: "Activity", key: "3", shows: Activity },
  { path: "servers", title: "Servers", key: "4", shows: Servers },
  { path: "tools", title: "Tools", key: "5", shows: Tools },
  { path: "rules", title: "Rules", key: "6", shows: Rules },
  { path: "agents", title: "Agents and grants", key: "7", shows: Agents },
  { path: "lab", title: "Lab", key: "8", shows: Lab },
  { path: "audit", title: "Audit", key: "-", shows: Audit },
  { path: "settings", title: "Settings", key: "9", shows: Settings },
  { path: "api", title: "API", key: "0", shows: Api },
];

function App() {
  if (session.me.value === undefined) return html`<${Waiting} />`;
  if (session.me.value === null) return html`<${SignedOut} />`;
  return html`<${Frame} />`;
}

function SignedOut() {
  attention.title.value = "Sign in";
  return html`<div class="sign-in"><${Page} title="Interlock">
    ${session.refused.value && html`<${Trouble} problem=${session.refused.value} />`}
    <${Empty} title="This browser is not signed in." command="interlock open">Run this where the gateway runs; it opens a link that signs you in once.<//>
  <//></div>`;
}

function Frame() {
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const shown = PAGES.find((each) => each.path === page.value);
  attention.title.value = shown?.title || "Nothing here";
  useKeys("Everywhere", [
    { key: "?", says: "Show the keys", does: () => setHelp(true) },
    ...PAGES.map((each) => ({ key: each.key, says: each.title, does: () => go(`/${each.path}`) })),
  ]);
  return html`<a class="skip" href="#main" onClick=${toMain}>Skip to the page</a>
    <header class="top">
      <a class="brand" href="/approvals"><img src="/assets/icon.svg" alt="" width="24" height="24" />Interlock</a>
      <button type="button" class="quiet menu" aria-expanded=${menu} aria-controls="pages" onClick=${() => setMenu(!menu)}>Menu</button>
      <span class="grow"></span>
      <${freeze.Stop} />
      <${Person} onHelp=${() => setHelp(true)} />
    </header>
    <nav id="pages" class=${menu ? "open" : ""} aria-label="Pages" onClick=${() => setMenu(false)}>
      ${PAGES.map((each) => html`<a key=${each.path} href=${`/${each.path}`} aria-current=${each === shown ? "page" : undefined}>${each.title}${each.path === "approvals" && queue.pending.value.length > 0 && html`<span class="count">${queue.pending.value.length}</span>`}</a>`)}
    </nav>
    <div class="content">
      <${freeze.Frozen} />
      <${Staleness} />
      ${shown ? html`<${shown.shows} key=${shown.path} />` : html`<${Page} title="There is nothing here"><p><a href="/approvals">To the approvals</a></p><//>`}
    </div>
    <${Toasts} />
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

const toMain = (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
};

function Staleness() {
  if (!stream.stale.value) return null;
  return html`<div class="banner wait" role="status"><${Sign} name="alert" /><span><strong>Not connected.</strong> What you see may be out of date, so nothing can be answered until the gateway is heard again.</span></div>`;
}

function Person({ onHelp }) {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length];
  return html`<details class="who">
    <summary><${Sign} name="person" /><span class="name">${session.me.value.name}</span><${Sign} name="down" /></summary>
    <div class="box">
      <p class="dull">${session.me.value.roles.join(", ")}</p>
      <button type="button" onClick=${() => (theme.value = next)}>Theme: ${theme.value}</button>
      <button type="button" aria-pressed=${attention.sound.value} onClick=${attention.toggleSound}>Sound: ${attention.sound.value ? "on" : "off"}</button>
      ${"Notification" in window && html`<button type="button" aria-pressed=${attention.notes.value} onClick=${attention.toggleNotes}>Desktop notifications: ${attention.notes.value ? "on" : "off"}</button>`}
      <button type="button" onClick=${onHelp}>Keys</button>
      <button type="button" onClick=${session.signOut}><${Sign} name="out" />Sign out</button>
    </div>
  </details>`;
}

function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    ${known.value.map((group) => html`<section><h3>${group.title}</h3><dl class="keys">${group.keys.map((each) => html`<div><dt><kbd>${each.key}</kbd></dt><dd>${each.says}</dd></div>`)}</dl></section>`)}
    <p class="dull">The same in a terminal:</p><${Command} text="interlock approval watch" />
  <//>`;
}

queue.begin();
attention.begin();
freeze.begin();
effect(() => {
  if (session.me.value) stream.start();
  else stream.stop();
});
effect(() => {
  if (session.me.value && !page.value) go("/approvals", { replace: true });
});
render(html`<${App} />`, document.getElementById("app"));
session.begin();
