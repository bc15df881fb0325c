import { css } from "lit";
import { baseStyles, tokenStyles } from "./base.styles.ts";

const own = css`
  [part="title"] { font-size: 22px; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; margin-block-end: 20px; }
  .empty { color: var(--_ink-2); }
  .cards li { padding-block-end: 12px; }
  .answered { font-size: 13px; color: var(--_ink-3); border-block-start: 1px solid var(--_line); padding-block: 12px 8px; margin-block-start: 12px; }
  .task { border-block-start: 1px solid var(--_line); padding: 8px 16px; font-size: 13.5px; line-height: 20px; color: var(--_ink-2); }
`;

export const inboxStyles = [tokenStyles, baseStyles, own];
