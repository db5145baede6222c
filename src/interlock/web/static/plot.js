// Lines over time. A canvas is a picture: so each plot has words that sum it up, a legend that does not need colours,
// and the same numbers as a table. Colours are those of the sheet, in either theme.

import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

const HEIGHT = 200;
const DAY = 86_400;
/** The dashes of the lines, in the order of the lines: who does not see colours tells them apart by these. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4], [1, 5], [6, 2, 1, 2]];

/** Moves when the colours of the page change. */
const theme = signal(0);
const recolour = () => (theme.value += 1);
new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);

/** A colour of the sheet as a canvas takes it: `light-dark()` is resolved only in the colour of an element. */
function colour(name) {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const plain = (value) => (value === null ? "–" : value.toLocaleString(undefined, { maximumFractionDigits: 1 }));

/** A moment as the axis and the table say it: the time on one day, the day as well over several. */
function moment(seconds, spread) {
  const shape = spread > 1.5 * DAY ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" };
  return new Date(seconds * 1000).toLocaleString(undefined, shape);
}

const day = (seconds) => new Date(seconds * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" });

/**
 * `times` in seconds; `lines` are `{word, colour, values}`, with null where there is no value; `says` turns a value into
 * words. `onSelect(from, until)` hears of a stretch, in seconds, that was dragged over or chosen in the table.
 */
export function Plot({ title, times, lines, says = plain, onSelect }) {
  const [at, setAt] = useState(null);
  const spread = times.length ? times.at(-1) - times[0] : 0;
  const width = times.length > 1 ? times[1] - times[0] : 60;
  return html`<figure class="plot">
    <ul class="plain legend">${lines.map((line, place) => html`<li key=${line.word}><${Swatch} line=${line} place=${place} />${line.word}${at !== null && html` <strong>${said(line.values[at], says)}</strong>`}</li>`)}
      <li class="dull grow moment">${at === null ? "" : moment(times[at], spread)}</li></ul>
    <${Canvas} label=${summary(title, times, lines, says)} times=${times} lines=${lines} says=${says} onCursor=${setAt} onSelect=${onSelect} />
    <${Twin} title=${title} times=${times} lines=${lines} says=${says} spread=${spread} onTime=${onSelect && ((from) => onSelect(from, from + width))} />
  </figure>`;
}

const said = (value, says) => (value === null || value === undefined ? "–" : says(value));

const Swatch = ({ line, place }) => html`<svg class="swatch" viewBox="0 0 28 8" aria-hidden="true" focusable="false">
  <path d="M0 4h28" stroke-dasharray=${DASHES[place % DASHES.length].join(" ") || null} style=${{ stroke: `var(--${line.colour})` }} />
</svg>`;

/** What the picture shows, for whoever does not see it. */
function summary(title, times, lines, says) {
  if (!times.length) return `${title}: nothing`;
  const spread = times.at(-1) - times[0];
  const told = lines.map(({ word, values }) => {
    const highest = values.reduce((best, value, at) => (value !== null && (best < 0 || value > values[best]) ? at : best), -1);
    return highest < 0 || !values[highest] ? `${word}: none` : `${word}: at most ${says(values[highest])}, at ${moment(times[highest], spread)}`;
  });
  return `${title}, from ${moment(times[0], spread)} to ${moment(times.at(-1), spread)}. ${told.join("; ")}.`;
}

/** The picture itself. It is made anew only when the theme or the lines change; else it gets new numbers. */
function Canvas({ label, times, lines, says, onCursor, onSelect }) {
  const box = useRef(null);
  const plot = useRef(null);
  const heard = useRef({});
  heard.current = { onCursor, onSelect };
  const turn = theme.value;
  const words = lines.map((line) => line.word).join();
  useLayoutEffect(() => {
    plot.current = new uPlot(optionsOf(box.current.clientWidth, lines, says, heard), numbers(times, lines), box.current);
    const watch = new ResizeObserver(([{ contentRect }]) => contentRect.width > 0 && plot.current.setSize({ width: contentRect.width, height: HEIGHT }));
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      plot.current.destroy();
    };
  }, [turn, words]);
  useEffect(() => plot.current.setData(numbers(times, lines)), [times, lines]);
  return html`<div class="canvas" role="img" aria-label=${label} ref=${box} style=${{ height: `${HEIGHT}px` }}></div>`;
}

const numbers = (times, lines) => [times, ...lines.map((line) => line.values)];

function optionsOf(width, lines, says, heard) {
  const [ink, grid] = [colour("dull"), colour("line")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
  const spaced = (_, splits) => splits.map((each) => (splits.at(-1) - splits[0] > 1.5 * DAY ? day(each) : moment(each, 0)));
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: Boolean(heard.current.onSelect), y: false, setScale: false } },
    scales: { y: { range: (_, least, most) => [0, Math.max(1, most || 0) * 1.08] } },
    axes: [{ ...axis, values: spaced, space: 70 }, { ...axis, size: 56, values: (_, splits) => splits.map((each) => (Number.isInteger(each) ? says(each) : "")) }],
    series: [{}, ...lines.map((line, place) => ({ stroke: colour(line.colour), width: 2, dash: DASHES[place % DASHES.length], points: { show: line.points || false, size: 5, fill: colour(line.colour) }, spanGaps: false }))],
    hooks: {
      setCursor: [(plot) => heard.current.onCursor(plot.cursor.idx ?? null)],
      setSelect: [(plot) => plot.select.width > 4 && chosen(plot, heard.current.onSelect)],
    },
  };
}

function chosen(plot, onSelect) {
  const [from, until] = [plot.select.left, plot.select.left + plot.select.width].map((pixel) => plot.posToVal(pixel, "x"));
  plot.setSelect({ width: 0, height: 0 }, false);
  onSelect(from, until);
}

/** The same numbers as a table; rows are made only while it is open. Where nothing happened, there is no row. */
function Twin({ title, times, lines, says, spread, onTime }) {
  const [open, setOpen] = useState(false);
  const rows = open ? times.map((_, at) => at).filter((at) => lines.some((line) => line.values[at])).reverse() : [];
  return html`<details class="twin" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>View as a table</summary>
    ${open && html`<div class="table-box" tabindex="0" role="region" aria-label=${`${title}, as a table`}><table class="list">
      <thead><tr><th scope="col">From</th>${lines.map((line) => html`<th scope="col" class="number">${line.word}</th>`)}</tr></thead>
      <tbody>${rows.map((at) => html`<tr key=${times[at]}><th scope="row">${onTime ? html`<button type="button" class="link" onClick=${() => onTime(times[at])}>${moment(times[at], spread)}</button>` : moment(times[at], spread)}</th>${lines.map((line) => html`<td class="number">${said(line.values[at], says)}</td>`)}</tr>`)}
      ${!rows.length && html`<tr><td colspan=${lines.length + 1}>Nothing happened in this time.</td></tr>`}</tbody>
    </table></div>`}
  </details>`;
}
