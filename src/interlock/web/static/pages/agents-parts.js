// What the pages of agents share: keeping up with the stream without running after it, and asking once more.

import { html, useEffect, useState } from "../html.js";
import { freezes } from "../freeze.js";
import { on, onOpen, stale } from "../stream.js";
import { Dialog, Sign, Trouble } from "../parts.js";

const PAUSE_MS = 1000;

/** A number that grows when one of these topics is heard, at most once a second however much is going on. */
export function useFresh(topics) {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let timer = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        setTurn((before) => before + 1);
      }, PAUSE_MS);
    };
    const heard = [onOpen(soon), ...topics.map((topic) => on(topic, soon))];
    return () => {
      clearTimeout(timer);
      heard.forEach((leave) => leave());
    };
  }, []);
  return turn;
}

/** Asks once more before `act` is done; a refusal stays in sight, and the question with it. */
export function Ask({ title, verb, act, onClose, children }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await act(new FormData(event.target));
      onClose();
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}><form onSubmit=${submit}>
    ${children}
    ${problem && html`<${Trouble} problem=${problem} />`}
    <div class="buttons"><button type="submit" class="bad" disabled=${busy || stale.value}>${verb}</button><button type="button" onClick=${onClose}>Leave it</button></div>
  </form><//>`;
}

export const Mark = ({ tone, sign, children }) => html`<span class=${`badge tone-${tone}`}><${Sign} name=${sign} />${children}</span>`;

/** A table that is wider than a small screen: it scrolls by itself, by keys too. */
export const Table = ({ label, columns, class: more = "", children }) => html`<div class=${`table-box ${more}`} role="region" tabindex="0" aria-label=${label}>
  <table class="list"><thead><tr>${columns.map((each) => html`<th scope="col">${each || html`<span class="unseen">What can be done</span>`}</th>`)}</tr></thead><tbody>${children}</tbody></table>
</div>`;

/** Says that somebody is stopped: from the list of stops, which the stream keeps up. */
export const Stopped = ({ name }) => freezes.value.some((each) => each.caller === name) && html`<${Mark} tone="bad" sign="stop">Stopped<//>`;
