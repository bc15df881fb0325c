import { css } from "lit";
import { baseStyles, tokenStyles } from "./base.styles.ts";

const own = css`
  :host { container: list / inline-size; }
  [part="title"] { font-size: 22px; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; margin-block-end: 16px; }
  .tasks { border-block-start: 1px solid var(--_line); }
  li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 16px; padding: 12px 0; border-block-end: 1px solid var(--_line); align-items: start; position: relative; content-visibility: auto; contain-intrinsic-size: auto 72px; }
  .title { font-weight: 620; line-height: 22px; }
  .title a { text-decoration: none; }
  .title a::after { content: ""; position: absolute; inset: 0; }
  li:hover .title a { text-decoration: underline; text-decoration-color: var(--_line-strong); }
  .title a:focus-visible { outline: none; }
  li:has(a:focus-visible) { outline: 2px solid var(--_accent); outline-offset: -1px; border-radius: 4px; }
  .summary, .at { font-size: 13px; color: var(--_ink-2); }
  .at { text-align: end; }
  li .chip { justify-self: end; }
  @container list (max-width: 520px) {
    li { grid-template-columns: minmax(0, 1fr); }
    li .chip { justify-self: start; }
    .at { text-align: start; }
  }
`;

export const taskListStyles = [tokenStyles, baseStyles, own];
