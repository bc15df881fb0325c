import { css } from "lit";
import { baseStyles, tokenStyles } from "./base.styles.ts";
import { controlStyles } from "./card/controls.styles.ts";

const own = css`
  :host { container: card / inline-size; --_indent: var(--tw-indent, 32px); }
  [part="title"] { font-size: 22px; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; margin-block-end: 4px; }
  .subtitle { color: var(--_ink-2); margin-block-end: 16px; }
  .summary { display: flex; gap: 8px; flex-wrap: wrap; align-items: center; margin-block-end: 24px; }
  .aside { border: 1px solid var(--_line); border-radius: var(--_radius); overflow: clip; background: var(--_surface); margin-block-end: 12px; }
  .aside > :first-child { border-block-start: 0; }
  .alert:empty { display: none; }
  .cards li { padding-block-end: 12px; padding-inline-start: calc(min(var(--depth), 5) * var(--_indent)); position: relative; }
  .cards li::before { content: ""; position: absolute; inset-block: 0; inset-inline-start: calc(var(--_indent) / 2 - 1px); inline-size: calc(min(var(--depth), 5) * var(--_indent)); background: repeating-linear-gradient(to right, var(--_line-strong) 0 1px, transparent 1px var(--_indent)); pointer-events: none; clip-path: inset(0 calc(var(--_indent) / 2) 0 0); }
  .cards li:dir(rtl)::before { background: repeating-linear-gradient(to left, var(--_line-strong) 0 1px, transparent 1px var(--_indent)); clip-path: inset(0 0 0 calc(var(--_indent) / 2)); }
  .cards tool-call-card { position: relative; scroll-margin-block-start: 48px; }
  @container card (max-width: 520px) {
    .cards li { --_indent: 12px; padding-inline-start: calc(min(var(--depth), 2) * var(--_indent)); }
    .cards li::before { inset-inline-start: 2px; inline-size: calc(min(var(--depth), 2) * var(--_indent)); clip-path: none; }
  }
`;

export const taskStyles = [tokenStyles, baseStyles, controlStyles, own];
