/**
 * One glyph for each state, drawn on a 12 × 12 grid in the colour of the text beside it.
 *
 * No two share an outline, so that the state is told apart without colour; the word stands beside it always.
 */
import { svg, type SVGTemplateResult } from "lit";

const drawings: Record<string, SVGTemplateResult> = {
  proposed: svg`<circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6"/>`,
  awaiting_input: svg`<path d="M3 1.5h2l1 .8 1-.8h2M6 2.3v7.4M3 10.5h2l1-.8 1 .8h2" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  awaiting_approval: svg`<path d="M2.2 1.2h2.6v9.6H2.2zM7.2 1.2h2.6v9.6H7.2z" fill="currentColor"/>`,
  queued: svg`<path d="M1 2.6h10M1 6h7M1 9.4h4" fill="none" stroke="currentColor" stroke-width="1.7"/>`,
  running: svg`<circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" stroke-width="1.4"/><circle cx="6" cy="6" r="2.2" fill="currentColor"/>`,
  streaming: svg`<path d="M2.2 1.2l8.4 4.8-8.4 4.8z" fill="currentColor"/>`,
  partially_complete: svg`<path d="M6 1a5 5 0 0 1 0 10z" fill="currentColor"/><circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" stroke-width="1.4"/>`,
  succeeded: svg`<path d="M1.6 6.5 4.8 9.6 10.4 2.8" fill="none" stroke="currentColor" stroke-width="2"/>`,
  failed: svg`<path d="M2.2 2.2l7.6 7.6m0-7.6l-7.6 7.6" fill="none" stroke="currentColor" stroke-width="2"/>`,
  cancelled: svg`<rect x="2" y="2" width="8" height="8" fill="none" stroke="currentColor" stroke-width="1.9"/>`,
  expired: svg`<path d="M2.6 1.2h6.8L2.6 10.8h6.8z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round"/>`,
};

const unknown = svg`<path d="M3.6 4.2a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .7-1 1.4M6 9.4v1.6" fill="none" stroke="currentColor" stroke-width="1.6"/>`;

const marks: Record<string, SVGTemplateResult> = {
  fact: svg`<circle cx="6" cy="6" r="4.2" fill="currentColor"/>`,
  gap: svg`<circle cx="6" cy="6" r="4.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.4 2.4"/>`,
  request: svg`<circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-width="2"/>`,
  violation: svg`<path d="M6 .9 11.5 11H.5z" fill="currentColor"/>`,
  refused: svg`<circle cx="6" cy="6" r="4.7" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M2.8 9.2l6.4-6.4" stroke="currentColor" stroke-width="1.5"/>`,
  held: svg`<path d="M6 1.2a4.8 4.8 0 0 0 0 9.6z" fill="currentColor"/><circle cx="6" cy="6" r="4.7" fill="none" stroke="currentColor" stroke-width="1.3" stroke-dasharray="2 2"/>`,
  warning: svg`<path d="M6 1.4 11 10.6H1z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round"/>`,
  note: svg`<path d="M2 6h8" stroke="currentColor" stroke-width="2"/>`,
};

const frame = (drawing: SVGTemplateResult, name: string) =>
  svg`<svg viewBox="0 0 12 12" aria-hidden="true" focusable="false" data-glyph=${name}>${drawing}</svg>`;

/** The states that have a glyph of their own. */
export const glyphNames: readonly string[] = Object.keys(drawings);

/** Draws the glyph of a state; a word that is not known gets a question mark, never another state's glyph. */
export const stateGlyph = (name: string) => (Object.hasOwn(drawings, name) ? frame(drawings[name]!, name) : frame(unknown, "unknown"));

/** Draws the mark of a line of evidence, of a request or of a finding. */
export const markGlyph = (name: string) => (Object.hasOwn(marks, name) ? frame(marks[name]!, name) : frame(unknown, "unknown"));
