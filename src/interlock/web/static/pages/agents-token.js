// Tokens: made, listed without their secrets, revoked. The text of a new one lives in the dialog that shows it and
// nowhere else, neither in the address nor in what the browser keeps, and is gone with the dialog.

import { html, useState } from "../html.js";
import { del, get, pathOf, post } from "../api.js";
import { stale } from "../stream.js";
import { Dialog, Empty, Sign, Time, Trouble, now, toast, useFetched } from "../parts.js";
import { Said, plainly } from "../text.js";
import { Ask, Mark, Table } from "./agents-parts.js";

const ROLES = [
  ["agent", "calls tools"],
  ["approver", "answers what waits, and may stop agents"],
  ["auditor", "reads everything, changes nothing"],
  ["admin", "changes everything but answers nothing"],
];
const KINDS = [["", "by its roles"], ["human", "a person"], ["agent", "an agent"], ["service", "a service"]];
const CEILINGS = [["", "no limit"], ["read", "only reads"], ["write", "reads and writes"], ["destructive", "everything, destructive calls too"]];
const LASTS = [["1h", "1 hour"], ["12h", "12 hours"], ["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"], ["365d", "1 year"], ["", "until it is revoked"]];
const NAME = "[a-z0-9][a-z0-9._\\-]{0,63}";

/** A field to choose from. Nothing here is bound: what was filled in stays when the form is drawn again. */
const Choice = ({ label, options, first = "", ...rest }) => html`<label>${label} <select ...${rest}>${options.map(([value, word]) => html`<option value=${value} selected=${value === first}>${word}</option>`)}</select></label>`;

/** The words of a field that takes several; null, which is no limit, when it is empty. */
const several = (text) => {
  const found = String(text || "").split(",").map((each) => each.trim()).filter(Boolean);
  return found.length ? found : null;
};

function wanted(form) {
  const given = Object.fromEntries(form);
  const kept = ["name", "kind", "owner", "workspace_id", "ceiling", "label", "ttl"].filter((each) => given[each]?.trim());
  return { ...Object.fromEntries(kept.map((each) => [each, given[each].trim()])), roles: form.getAll("role"), servers: several(given.servers), tools: several(given.tools) };
}

export function MakeToken({ name = "", onClose }) {
  const [made, setMade] = useState(null);
  return html`<${Dialog} title=${made ? "The new token" : "Make a token"} onClose=${onClose} firm=${Boolean(made)}>
    ${made ? html`<${Once} token=${made} onClose=${onClose} />` : html`<${Wish} name=${name} onMade=${setMade} onClose=${onClose} />`}
  <//>`;
}

function Wish({ name, onMade, onClose }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const known = useFetched(() => get("/settings"));
  const workspaces = (known.value?.effective || []).filter((each) => /^workspaces\[\d+\]\.id$/.test(each.setting)).map((each) => each.value);
  const make = async (event) => {
    event.preventDefault();
    const wish = wanted(new FormData(event.target));
    if (!wish.roles.length) return setProblem({ message: "Choose at least one role.", code: "", fix: "" });
    setBusy(true);
    try {
      onMade(await post("/tokens", wish));
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return html`<form onSubmit=${make} autocomplete="off">
    <label>Whose it is: the name of a principal <input name="name" required pattern=${NAME} maxlength="64" defaultValue=${name} title="Lower-case letters, digits, dots, dashes and underscores" /></label>
    <fieldset><legend>What it may do</legend>${ROLES.map(([role, does]) => html`<label><input type="checkbox" name="role" value=${role} defaultChecked=${role === "agent"} /> ${role}: ${does}</label>`)}</fieldset>
    <div class="pairs">
      <${Choice} label="What the principal is" name="kind" options=${KINDS} />
      <${Choice} label="How long it is valid" name="ttl" first="30d" options=${LASTS} />
    </div>
    <details><summary>Owner, workspace and limits</summary><div class="pairs">
      <label>Owner (you, if empty) <input name="owner" maxlength="64" /></label>
      <label>Workspace <select name="workspace_id"><option value="">none of its own</option>${workspaces.map((each) => html`<option value=${each}>${plainly(each)}</option>`)}</select></label>
      <label>Servers it may reach, with commas (all, if empty) <input name="servers" placeholder="github, files-*" /></label>
      <label>Tools it may reach, with commas (all, if empty) <input name="tools" placeholder="list_*, get_*" /></label>
      <${Choice} label="The most it may do" name="ceiling" options=${CEILINGS} />
      <label>Label, such as the model behind it <input name="label" maxlength="200" /></label>
    </div></details>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons"><button type="submit" class="good" disabled=${busy || stale.value}>Make it</button><button type="button" onClick=${onClose}>Leave it</button></div>
  </form>`;
}

function Once({ token, onClose }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => setCopied(await navigator.clipboard.writeText(token.token).then(() => true, () => false));
  return html`<div class="once">
    <p>This is the token of <strong><${Said} text=${token.name} /></strong>. <strong>It is shown now and never again:</strong> only a hash of it is kept. Whoever loses it revokes it and makes another.</p>
    <p class="secret" tabindex="0" role="group" aria-label="The text of the token"><code>${token.token}</code></p>
    <div class="buttons"><button type="button" class="good" ref=${(button) => button && !button.dataset.seen && ((button.dataset.seen = "1"), button.focus())} onClick=${copy}><${Sign} name=${copied ? "check" : "copy"} />${copied ? "Copied" : "Copy"}</button><button type="button" onClick=${onClose}>I have it</button></div>
    <p class="dull">An agent sends it to <code>${`${location.origin}/mcp`}</code> as <code>Authorization: Bearer …</code></p>
    <p class="unseen" role="status">${copied ? "Copied" : ""}</p>
  </div>`;
}

// Tokens that there are -------------------------------------------------------------------------------------------

const stateOf = (token) => (token.revoked_at ? "revoked" : token.expires_at && Date.parse(token.expires_at) <= now.value ? "expired" : "live");
const MARKS = { __proto__: null, live: ["good", "check", "Live"], revoked: ["dull", "minus", "Revoked"], expired: ["dull", "clock", "Expired"] };

export function Tokens({ items, again }) {
  const [asked, setAsked] = useState(null);
  if (!items.length) return html`<${Empty} title="It has no token." />`;
  const columns = ["Token", "State", "Roles", "Limits", "Made", "Valid until", ""];
  return html`<${Table} label="Tokens" columns=${columns}>${items.map((each) => html`<${TokenRow} key=${each.id} token=${each} onRevoke=${() => setAsked(each)} />`)}<//>
    ${asked && html`<${Revoke} token=${asked} again=${again} onClose=${() => setAsked(null)} />`}`;
}

function TokenRow({ token, onRevoke }) {
  const state = stateOf(token);
  const [tone, sign, word] = MARKS[state];
  return html`<tr>
    <th scope="row"><code>${token.id}</code>${token.label && html`<br /><span class="dull"><${Said} text=${token.label} most=${60} /></span>`}</th>
    <td><${Mark} tone=${tone} sign=${sign}>${word}<//>${token.revoked_at && html` <${Time} at=${token.revoked_at} />`}</td>
    <td>${token.roles.join(", ")}</td>
    <td><${Limits} token=${token} /></td>
    <td><${Time} at=${token.created_at} />${token.minted_by && html` by <${Said} text=${token.minted_by} most=${64} />`}</td>
    <td>${token.expires_at ? html`<${Time} at=${token.expires_at} />` : "it is revoked by hand"}</td>
    <td>${state === "live" && html`<button type="button" class="bad" disabled=${stale.value} onClick=${onRevoke} aria-label=${`Revoke the token ${token.id}`}>Revoke</button>`}</td>
  </tr>`;
}

function Limits({ token }) {
  const limits = [["workspace", token.workspace_id], ["servers", token.servers?.join(", ")], ["tools", token.tools?.join(", ")], ["at most", token.ceiling]].filter(([, value]) => value !== null && value !== undefined);
  if (!limits.length) return html`<span class="dull">none</span>`;
  return html`<ul class="plain">${limits.map(([word, value]) => html`<li>${word} <${Said} text=${value || "nothing at all"} most=${120} /></li>`)}</ul>`;
}

function Revoke({ token, again, onClose }) {
  const revoke = async () => {
    await del(pathOf("tokens", token.id));
    toast(`Token ${token.id} is revoked.`);
    again();
  };
  return html`<${Ask} title="Revoke this token" verb="Revoke it for good" act=${revoke} onClose=${onClose}>
    <p>The next request that brings the token <code>${token.id}</code> of <strong><${Said} text=${token.name} /></strong> is refused. This cannot be taken back; another token can be made.</p>
  <//>`;
}
