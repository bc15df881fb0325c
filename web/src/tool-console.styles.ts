import { css } from "lit";
import { baseStyles, tokenStyles } from "./base.styles.ts";

const own = css`
  :host { background: var(--_paper); min-block-size: 100vh; }
  .bar, main, .currency p { max-inline-size: var(--_measure); margin-inline: auto; padding-inline: 16px; }
  header { border-block-end: 1px solid var(--_line); }
  .bar { display: flex; flex-wrap: wrap; gap: 0 24px; align-items: center; }
  .name, .actor { line-height: 24px; padding-block: 12px; }
  .name { font-weight: 650; letter-spacing: -0.01em; text-decoration: none; }
  nav { display: flex; gap: 4px 20px; align-self: stretch; }
  nav a { display: inline-flex; align-items: center; gap: 6px; min-block-size: 48px; color: var(--_ink-2); text-decoration: none; border-block: 2px solid transparent; }
  nav a:hover { color: var(--_ink); }
  nav a[aria-current] { color: var(--_ink); font-weight: 560; border-block-end-color: var(--_ink); }
  .count { font-size: 12px; line-height: 18px; font-weight: 600; font-variant-numeric: tabular-nums; padding-inline: 6px; border-radius: 99px; background: var(--_wait-bg); color: var(--_wait); }
  .actor { margin-inline-start: auto; font-size: 13px; color: var(--_ink-2); }
  main { padding-block: 20px 48px; outline: none; }
  .currency p { display: flex; gap: 8px; align-items: center; font-size: 12.5px; line-height: 20px; padding-block: 12px 0; color: var(--_ink-3); }
  .currency svg { inline-size: 8px; block-size: 8px; flex: none; }
  .currency.live svg { color: var(--_ok); }
  .currency.broken { position: sticky; inset-block-start: 0; z-index: 2; background: var(--_wait-bg); color: var(--_wait); border-block-end: 1px solid var(--_line); }
  .currency.broken p { color: inherit; font-size: 13.5px; padding-block: 8px; }
  .up { font-size: 13.5px; margin-block-end: 12px; }
  .fault { color: var(--_bad); }
  .skip { all: unset; position: absolute; inset-block-start: -100px; inset-inline-start: 16px; padding: 8px 12px; background: var(--_surface); border: 1px solid var(--_line-strong); z-index: 3; }
  .skip:focus { inset-block-start: 8px; outline: 2px solid var(--_accent); }
  @media (max-width: 480px) {
    .bar { gap: 0 16px; }
    nav { order: 3; flex-basis: 100%; }
    nav a { min-block-size: 44px; }
    .name, .actor { padding-block: 10px 2px; }
  }
`;

export const consoleStyles = [tokenStyles, baseStyles, own];
