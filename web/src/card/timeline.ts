/** Draws the evidence rail: what was observed, asked, refused or is missing, in order, with who said it. */
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Card, EvidenceRefs, TimelineRow } from "../model.ts";
import { markGlyph } from "../glyphs.ts";
import { dayInWords, exactTimeOfDay, moment, prose, sameDay } from "../clock.ts";
import { words } from "../words.ts";

type Drawn = TemplateResult | typeof nothing;

const refsOf = (row: TimelineRow): EvidenceRefs => row.refs ?? (row.ref ? [row.ref] : []);

/** Finds the lines of the rail on which a claim rests, counted from 1. */
export function lineNumbers(rows: readonly TimelineRow[], refs: EvidenceRefs | undefined): number[] {
  if (!refs?.length) return [];
  const wanted = new Set(refs);
  return rows.flatMap((row, index) => (refsOf(row).some((ref) => wanted.has(ref)) ? [index + 1] : []));
}

/** Writes line numbers as a footnote does: `1`, `2, 5`, `3–7`. */
export function footnote(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`)).join(", ");
}

/** Draws a claim's footnote: pressing it opens the rail at the lines that the claim cites. */
export function citation(card: Card, refs: EvidenceRefs | undefined, show: (numbers: readonly number[]) => void): Drawn {
  const numbers = lineNumbers(card.timeline?.rows ?? [], refs);
  if (numbers.length === 0) return nothing;
  const text = footnote(numbers);
  return html`<button type="button" class="cite" part="citation" aria-label=${words.evidence(text)} title=${words.evidence(text)}
    @click=${() => show(numbers)}>${markGlyph("fact")}${text}</button>`;
}

/** Draws the rail; `cited` are the lines that a claim just pointed at. */
export function timelineView(rows: readonly TimelineRow[], cited: ReadonlySet<number>): TemplateResult {
  let day = new Date();
  const keys = keysOf(rows);
  return html`<ol class="rail" part="timeline">${repeat(rows, (_, index) => keys[index], (row, index) => {
    const at = moment(row.at);
    const newDay = at !== null && !sameDay(at, day);
    if (at) day = at;
    return line(row, index + 1, at, newDay ? dayInWords(at) : null, cited.has(index + 1));
  })}</ol>`;
}

/** Keeps an opened line open when lines are put in before it. */
function keysOf(rows: readonly TimelineRow[]): string[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const base = row.ref ?? `${row.mark} ${row.text}`;
    const times = seen.get(base) ?? 0;
    seen.set(base, times + 1);
    return `${base} ${times}`;
  });
}

function line(row: TimelineRow, number: number, at: Date | null, day: string | null, isCited: boolean): TemplateResult {
  const word = words.mark[row.mark] ?? row.mark;
  return html`<li class="line ${row.mark}" data-line=${number} tabindex=${isCited ? "-1" : nothing} ?data-cited=${isCited}>
    ${day ? html`<p class="day">${day}</p>` : nothing}
    <span class="dot">${markGlyph(row.mark)}</span>
    <span class="number" aria-hidden="true">${number}</span>
    <span class="at">${at ? html`<time datetime=${row.at!} title=${row.at!}>${exactTimeOfDay(at)}</time>` : row.at ?? nothing}</span>
    <div class="what">${word ? html`<span class="hidden-word">${word}: </span>` : nothing}${what(row)}</div>
    <span class="who"><bdi>${row.owner ?? nothing}</bdi></span>
  </li>`;
}

function what(row: TimelineRow): TemplateResult {
  const text = html`<span dir="auto">${prose(row.text)}</span>`;
  const detail = row.detail ?? [];
  if (detail.length === 0 && !row.ref) return text;
  return html`<details class="detail"><summary>${text}</summary><dl>
    ${detail.map(({ term, text: value }) => html`<div class="row"><dt><bdi>${term}</bdi></dt><dd><bdi>${prose(value)}</bdi></dd></div>`)}
    ${row.ref ? html`<div class="row"><dt>${words.reference}</dt><dd class="mono">${row.ref}</dd></div>` : nothing}
  </dl></details>`;
}
