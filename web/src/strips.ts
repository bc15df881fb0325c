/** Draws the chip and the strips that cards and tasks share. */
import { html, nothing, type TemplateResult } from "lit";
import type { Finding, Request } from "./model.ts";
import type { Refusal } from "./card/asking.ts";
import { markGlyph, stateGlyph } from "./glyphs.ts";
import { prose, timeElement } from "./clock.ts";
import { words } from "./words.ts";

type Drawn = TemplateResult | typeof nothing;

/** Draws a state: glyph and word, and a tone that only repeats them. */
export const chip = (state: { tone: string; glyph: string; label: string }): TemplateResult =>
  html`<span class="chip ${state.tone}" part="chip">${stateGlyph(state.glyph)}<span dir="auto">${state.label}</span></span>`;

/** Draws what is known to be wrong: the fact in bold, the consequence in plain words. */
export function findingStrip(finding: Finding, cite: Drawn): TemplateResult {
  const word = words.severity[finding.severity] ?? finding.severity;
  return html`<div class="strip finding ${finding.severity}" part="finding" data-code=${finding.code}>
    ${markGlyph(finding.severity)}<p><span class="hidden-word">${word}: </span><b dir="auto">${prose(finding.headline)}</b> <span dir="auto">${prose(finding.detail)}</span></p>${cite}</div>`;
}

/** Draws a request: what was asked, when and by whom, and that it is not yet so. */
export function requestStrip(request: Request, cite: Drawn): TemplateResult {
  return html`<div class="strip request" part="request" data-kind=${request.kind}>
    ${markGlyph("request")}<p><span class="hidden-word">${words.request}: </span>${request.lead && request.text.startsWith(request.lead)
      ? html`<b dir="auto">${prose(request.lead)}</b><span dir="auto">${prose(request.text.slice(request.lead.length))}</span>`
      : composed(request)}</p>${cite}</div>`;
}

const firstSentence = /^(.+?)\.(?:\s+([\s\S]+))?$/;

/** Sets a request whose text says what, and leaves when and by whom to the fields: what first, then when and by whom, then the rest. */
function composed(request: Request): TemplateResult {
  const [, first, rest] = firstSentence.exec(request.text) ?? [null, request.text, undefined];
  return html`<b dir="auto">${prose(first ?? request.text)}</b>
    ${timeElement(request.at)}${request.by ? html` <span dir="auto">${words.by(request.by)}</span>` : nothing}.${rest ? html` <span dir="auto">${prose(rest)}</span>` : nothing}`;
}

const sentence = (text: string): string => (/[.!?…。؟]$/.test(text.trim()) ? text : `${text}.`);

/** Draws the host's refusal where the person pressed. */
export function refusalStrip(refusal: Refusal | null, dismiss: () => void): TemplateResult {
  return html`<div class="alert" role="alert">${refusal ? html`<div class="strip finding warning refusal" part="refusal">
    ${markGlyph("refused")}<p><b dir="auto">${refusal.label}: ${prose(sentence(refusal.problem.title ?? words.refused))}</b>
    <span dir="auto">${prose([refusal.problem.detail, refusal.problem.remedy].filter(Boolean).join(" "))}</span></p>
    <button type="button" class="link" @click=${dismiss}>${words.dismissNotice}</button></div>` : nothing}</div>`;
}
