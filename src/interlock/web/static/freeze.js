// The emergency stop: in the header of every page, because whoever needs it has no time to look for it.

import { html, signal, useState } from "./html.js";
import { get, post } from "./api.js";
import { on, onOpen, stale } from "./stream.js";
import { isAdmin, mayApprove } from "./session.js";
import { Dialog, Sign, Time, Trouble, toast } from "./parts.js";
import { Said } from "./text.js";

export const freezes = signal([]);

const look = () => get("/freezes").then((found) => (freezes.value = found.items), () => {});

export function begin() {
  onOpen(look);
  on("freeze", look);
}

const targetOf = ({ server, caller }) => ({ ...(server && { server }), ...(caller && { caller }) });
const named = (freeze) => (freeze.server ? `Server ${freeze.server}` : freeze.caller ? `Caller ${freeze.caller}` : "Everything");

export function Stop() {
  const [open, setOpen] = useState(false);
  if (!mayApprove.value && !isAdmin.value) return null;
  return html`<button type="button" class="stop" onClick=${() => setOpen(true)} disabled=${stale.value}><${Sign} name="stop" />Stop</button>
    ${open && html`<${StopDialog} onClose=${() => setOpen(false)} />`}`;
}

function StopDialog({ onClose }) {
  const [what, setWhat] = useState("all");
  const [name, setName] = useState("");
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState(null);
  const stop = async (event) => {
    event.preventDefault();
    try {
      await post("/freeze", { reason, ...(what === "all" ? {} : { [what]: name }) });
      await look();
      toast(what === "all" ? "Everything is stopped." : `${name} is stopped.`, "bad");
      onClose();
    } catch (refusal) {
      setProblem(refusal);
    }
  };
  return html`<${Dialog} title="Emergency stop" onClose=${onClose}>
    <form onSubmit=${stop}>
      <p>No call of what is stopped runs until somebody lets it go on. Nothing is lost: calls are refused and told so.</p>
      <fieldset><legend>What</legend>
        ${[["all", "Everything"], ["server", "One server"], ["caller", "One caller"]].map(([value, word]) => html`<label><input type="radio" name="what" value=${value} checked=${what === value} onChange=${() => setWhat(value)} /> ${word}</label>`)}
      </fieldset>
      ${what !== "all" && html`<label>Its name <input required value=${name} onInput=${(event) => setName(event.target.value)} /></label>`}
      <label>Why (callers are told) <input value=${reason} maxlength="1000" onInput=${(event) => setReason(event.target.value)} /></label>
      ${problem && html`<${Trouble} problem=${problem} />`}
      <div class="buttons"><button type="submit" class="bad">Stop ${what === "all" ? "everything" : ""}</button><button type="button" onClick=${onClose}>Leave it</button></div>
    </form>
  <//>`;
}

/** What is stopped now, over every page. */
export function Frozen() {
  return freezes.value.map((each) => html`<div class="banner bad" role="status" key=${named(each)}>
    <${Sign} name="stop" />
    <span><strong><${Said} text=${named(each)} /> is stopped</strong> by <${Said} text=${each.by} /> <${Time} at=${each.at} />${each.reason && html`: <q><${Said} text=${each.reason} /></q>`}</span>
    ${isAdmin.value && html`<button type="button" onClick=${() => thaw(each)}>Let it go on</button>`}
  </div>`);
}

async function thaw(freeze) {
  try {
    await post("/thaw", targetOf(freeze));
    toast(`${named(freeze)} may go on.`);
  } catch (problem) {
    toast(problem.message, "bad");
  }
  await look();
}
