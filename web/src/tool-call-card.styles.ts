import { css } from "lit";
import { baseStyles, tokenStyles } from "./base.styles.ts";
import { controlStyles } from "./card/controls.styles.ts";
import { timelineStyles } from "./card/timeline.styles.ts";

const own = css`
  :host { content-visibility: auto; contain-intrinsic-size: auto 160px; container: card / inline-size; }
  article { background: var(--_surface); border: 1px solid var(--_line); border-radius: var(--_radius); overflow: clip; }
  article:focus { outline: none; }
  article:focus-visible { outline: 2px solid var(--_accent); outline-offset: -2px; border-radius: var(--_radius); }
  header { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 12px; padding: 12px 16px; align-items: start; }
  [part="title"] { font-size: 15px; font-weight: 620; line-height: 22px; }
  h1[part="title"] { font-size: 22px; font-weight: 650; line-height: 28px; letter-spacing: -0.01em; }
  [part="title"] a { text-decoration: none; }
  [part="title"] a:hover { text-decoration: underline; text-decoration-color: var(--_line-strong); }
  .meta { grid-column: 1 / -1; color: var(--_ink-2); font-size: 13px; }
  .elapsed { font-variant-numeric: tabular-nums; }
  .lineage { grid-column: 1 / -1; font-size: 13px; color: var(--_ink-2); padding-block-start: 2px; }
  .lineage li { padding-inline-start: 18px; position: relative; }
  .lineage li::before { content: ""; position: absolute; inset-inline-start: 4px; inset-block-start: 4px; inline-size: 8px; block-size: 9px; border: solid var(--_ink-3); border-width: 0 0 1px; border-inline-start-width: 1px; }
  .lineage li, .blocked li { line-height: 24px; }
  .blocked { padding: 8px 16px; border-block-start: 1px solid var(--_line); font-size: 13.5px; color: var(--_ink-2); }

  dl { display: grid; grid-template-columns: fit-content(34%) minmax(0, 1fr) auto; gap: 6px 24px; }
  .row { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; align-items: baseline; }
  dt { color: var(--_ink-2); font-size: 13.5px; }
  dd { white-space: pre-line; }
  dd.big { font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.25; letter-spacing: -0.005em; }
  dd.ref { text-align: end; }
  .facts { padding: 12px 16px; border-block-start: 1px solid var(--_line); }

  .progress { display: grid; gap: 6px; padding: 8px 16px; border-block-start: 1px solid var(--_line); font-size: 13.5px; color: var(--_ink-2); font-variant-numeric: tabular-nums; }
  .bar { display: block; block-size: 3px; background: var(--_line); border-radius: 2px; }
  .bar span { display: block; block-size: 100%; background: var(--_live); border-radius: 2px; }

  details { border-block-start: 1px solid var(--_line); }
  summary { cursor: pointer; padding: 8px 16px; min-block-size: 36px; font-size: 13.5px; line-height: 20px; color: var(--_ink-2); list-style: none; display: flex; gap: 6px; }
  summary::-webkit-details-marker { display: none; }
  summary::before { content: ""; flex: none; inline-size: 5px; block-size: 5px; margin: 7px 4px 0 1px; border: solid var(--_ink-3); border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg); }
  summary:dir(rtl)::before { transform: rotate(135deg); }
  details[open] > summary::before { transform: rotate(45deg); margin-block-start: 5px; }
  summary:hover { color: var(--_ink); }
  summary:focus-visible { outline-offset: -2px; }
  .more { display: flex; flex-wrap: wrap; padding: 2px 8px; border-block-start: 1px solid var(--_line); }
  .more > details { border: 0; max-inline-size: 100%; }
  .more > details > summary { padding: 6px 8px; min-block-size: 32px; }
  .more > details[open] { flex-basis: 100%; }
  .more > details[open] > summary { color: var(--_ink); }
  .more .opened { padding-inline: 8px; }
  .opened { padding: 0 16px 16px; }
  .opened dl { padding-block: 4px 8px; font-size: 14px; }
  pre { margin: 0; padding: 12px; background: var(--_sunken); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.5 var(--_mono); tab-size: 2; }
  pre.text { font: 14px/1.5 var(--_sans); }
  .items { padding-block: 4px 8px; font-size: 14px; display: grid; gap: 4px; }
  .items li { padding-inline-start: 14px; position: relative; }
  .items li::before { content: "–"; position: absolute; inset-inline-start: 0; color: var(--_ink-3); }
  .note { font-size: 13px; color: var(--_ink-2); padding-block-start: 8px; }
  .head { display: flex; gap: 8px; align-items: center; font-size: 13px; padding-block-end: 8px; }
  button.small { font-size: 13px; padding: 3px 10px; min-block-size: 28px; border-radius: 6px; }
  button.link { all: unset; box-sizing: border-box; cursor: pointer; text-decoration: underline; text-decoration-color: var(--_line-strong); text-underline-offset: 3px; font-size: 13px; }
  button.link:hover { text-decoration-color: currentColor; }
  button.link:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; border-radius: 4px; }
  .alert:empty { display: none; }

  @media (pointer: coarse) {
    summary, .more > details > summary { min-block-size: 44px; padding-block: 12px; }
    .detail > summary { padding: 2px 0; min-block-size: 32px; }
    button.small { min-block-size: 44px; }
    .cite { min-block-size: 24px; }
  }
  @container card (max-width: 520px) {
    header { grid-template-columns: minmax(0, 1fr); }
    header .chip { justify-self: start; margin-block: 2px 4px; }
    dl { grid-template-columns: minmax(0, 1fr) auto; gap: 8px; }
    .row { row-gap: 0; }
    dt { grid-column: 1 / -1; }
  }
`;

export const cardStyles = [tokenStyles, baseStyles, controlStyles, timelineStyles, own];
