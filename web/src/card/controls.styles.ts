import { css } from "lit";

export const controlStyles = css`
  .act { display: flex; gap: 8px; flex-wrap: wrap; padding: 12px 16px; border-block-start: 1px solid var(--_line); align-items: center; }
  button { font: inherit; font-weight: 580; font-size: 14px; line-height: 20px; text-align: start; border-radius: 8px; padding: 7px 14px; min-block-size: 36px; border: 1px solid var(--_line-strong); background: var(--_surface); color: var(--_ink); cursor: pointer; overflow-wrap: anywhere; max-inline-size: 100%; }
  button:hover { border-color: var(--_ink-3); }
  button.go { background: var(--_accent); border-color: var(--_accent); color: var(--_accent-ink); }
  button.go:hover { border-color: var(--_ink); }
  button:focus-visible { border-radius: 8px; }
  button[aria-disabled="true"] { background: var(--_sunken); border: 1px dashed var(--_line-strong); color: var(--_ink-3); font-weight: 480; cursor: default; }
  button[aria-busy="true"] { background: var(--_surface); border: 1px dashed var(--_wait); color: var(--_ink-2); }
  button[aria-expanded="true"] { background: var(--_sunken); border-color: var(--_ink-3); color: var(--_ink); }
  .until { flex: 1 1 240px; color: var(--_ink-2); font-size: 13px; text-align: end; text-wrap: balance; }
  .asked { flex-basis: 100%; display: flex; gap: 8px; align-items: baseline; font-size: 13px; color: var(--_ink-2); }
  .asked svg { inline-size: 11px; block-size: 11px; flex: none; align-self: center; color: var(--_wait); }
  .asked.none { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; }
  .whys { flex: 1 1 240px; display: grid; gap: 2px; font-size: 13px; color: var(--_ink-2); }
  .whys.below { flex-basis: 100%; }
  .whys b { font-weight: 560; color: var(--_ink-2); }
  .ask { display: grid; gap: 12px; padding: 4px 16px 16px; }
  .field { display: grid; gap: 4px; max-inline-size: 560px; }
  .field label { font-size: 13px; color: var(--_ink-2); }
  input, textarea, select { font: inherit; color: var(--_ink); background: var(--_surface); border: 1px solid var(--_ink-3); border-radius: 6px; padding: 6px 10px; min-block-size: 36px; inline-size: 100%; }
  textarea { resize: vertical; }
  textarea.mono { font-family: var(--_mono); font-size: 13px; }
  [aria-invalid="true"] { border-color: var(--_bad); }
  .fault { font-size: 13px; color: var(--_bad); }
  .send { display: flex; gap: 8px; flex-wrap: wrap; }
  @media (pointer: coarse) {
    button, input, textarea, select { min-block-size: 44px; }
  }
  @container card (max-width: 520px) {
    .until { text-align: start; flex-basis: 100%; }
  }
`;
