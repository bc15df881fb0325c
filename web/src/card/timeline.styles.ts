import { css } from "lit";

export const timelineStyles = css`
  .rail { padding: 0 16px 12px; }
  .line { display: grid; grid-template-columns: 16px auto 92px minmax(0, 1fr) auto; gap: 0 8px; padding: 1px 0; font-size: 13.5px; line-height: 20px; position: relative; }
  .line > span, .what > span, .detail > summary { padding-block: 2px; }
  .what > span { display: block; }
  .line::after { content: ""; position: absolute; inset-inline-start: 8px; inset-block: 20px -6px; inline-size: 1px; background: var(--_line-strong); }
  .line:last-child::after { display: none; }
  .line.gap::after { background: repeating-linear-gradient(var(--_line-strong) 0 3px, transparent 3px 6px); }
  .day { grid-column: 3 / -1; color: var(--_ink-3); font-size: 12.5px; padding-block: 4px 2px; }
  .day ~ .dot { grid-column: 1; }
  .line:has(.day)::after { inset-block-start: 46px; }
  .line > .dot { padding: 7px 0 0; padding-inline: 3px 0; color: var(--_ink-2); line-height: 0; }
  .dot svg { inline-size: 11px; block-size: 11px; }
  .gap .dot, .held .dot { color: var(--_ink-3); }
  .request .dot { color: var(--_wait); }
  .violation .dot, .refused .dot { color: var(--_bad); }
  .gap .what, .held .what { color: var(--_ink-3); }
  .violation .what { color: var(--_bad); font-weight: 560; }
  .number { min-inline-size: 1.6em; font: 11.5px/20px var(--_mono); color: var(--_ink-3); text-align: end; }
  .at { font: 12.5px/20px var(--_mono); color: var(--_ink-3); }
  .who { color: var(--_ink-3); font-size: 12.5px; text-align: end; max-inline-size: 160px; }
  .line[data-cited] { background: var(--_sunken); margin-inline: -8px; padding-inline: 8px; }
  .line[data-cited]::after { inset-inline-start: 16px; }
  .line[data-cited]:focus { outline: 1px solid transparent; outline-offset: -1px; }
  .detail { border: 0; }
  .detail > summary { padding: 2px 0; color: inherit; font-size: inherit; min-block-size: 24px; }
  .detail > summary::before { display: none; }
  .detail > summary > span { text-decoration: underline dotted var(--_line-strong); text-underline-offset: 4px; }
  .detail > summary:hover > span { text-decoration-color: currentColor; }
  .detail dl { padding: 4px 0 8px; font-size: 13px; font-weight: 400; color: var(--_ink); }
  .cite { all: unset; box-sizing: border-box; display: inline-flex; align-items: center; gap: 4px; min-block-size: 20px; padding-inline: 4px; margin-inline-end: -4px; font-size: 12px; font-variant-numeric: tabular-nums; color: var(--_ink-3); cursor: pointer; white-space: nowrap; }
  .cite svg { inline-size: 6px; block-size: 6px; }
  .cite:hover { color: var(--_ink); text-decoration: underline; }
  .cite:focus-visible { outline: 2px solid var(--_accent); border-radius: 4px; }
  .strip .cite { color: inherit; }
  @container card (max-width: 520px) {
    .line { grid-template-columns: 16px auto minmax(0, 1fr) auto; }
    .what { grid-column: 3; grid-row: 1; }
    .who { grid-column: 4; grid-row: 1; max-inline-size: 110px; }
    .at { grid-column: 3 / -1; grid-row: 2; }
    .line:has(.day) .what, .line:has(.day) .who, .line:has(.day) .dot, .line:has(.day) .number { grid-row: 2; }
    .line:has(.day) .at { grid-row: 3; }
  }
`;
