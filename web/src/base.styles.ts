/** What every element shares: the tokens, the reset, the chip, the strip, the visually hidden word. */
import { css, unsafeCSS } from "lit";
import { privateTokens } from "./tokens.ts";

export const tokenStyles = unsafeCSS(
  `:host{${privateTokens()}}:host([data-theme="light"]){color-scheme:light}:host([data-theme="dark"]){color-scheme:dark}`,
);

export const baseStyles = css`
  *, *::before, *::after { box-sizing: border-box; }
  :host { display: block; color: var(--_ink); font: 15px/1.5 var(--_sans); overflow-wrap: anywhere; text-align: start; }
  :host([hidden]) { display: none; }
  h1, h2, h3, h4, h5, h6, p, ul, ol, dl, dd { margin: 0; padding: 0; font: inherit; }
  ul, ol { list-style: none; }
  a { color: inherit; text-decoration: underline; text-decoration-color: var(--_line-strong); text-underline-offset: 3px; }
  a:hover { text-decoration-color: currentColor; }
  time { font-variant-numeric: tabular-nums; white-space: nowrap; }
  .mono { font-family: var(--_mono); font-size: 12.5px; }
  .quiet { color: var(--_ink-3); }
  .hidden-word { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  :focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; border-radius: 4px; }

  .chip { display: inline-flex; align-items: center; gap: 6px; border-radius: 99px; padding: 1px 10px 1px 8px; font-size: 13px; line-height: 20px; font-weight: 560; background: var(--_off-bg); color: var(--_off); white-space: nowrap; border: 1px solid transparent; }
  .chip svg { inline-size: 12px; block-size: 12px; flex: none; }
  .chip.ok { background: var(--_ok-bg); color: var(--_ok); }
  .chip.bad { background: var(--_bad-bg); color: var(--_bad); }
  .chip.wait { background: var(--_wait-bg); color: var(--_wait); }
  .chip.live { background: var(--_live-bg); color: var(--_live); }
  .chip.off { background: var(--_off-bg); color: var(--_off); }

  .strip { display: grid; grid-template-columns: 12px minmax(0, 1fr) auto; gap: 0 8px; align-items: baseline; padding: 8px 16px; border-block-start: 1px solid var(--_line); font-size: 13.5px; background: var(--_sunken); color: var(--_ink-2); }
  .strip > svg { inline-size: 12px; block-size: 12px; align-self: start; margin-block-start: 4px; }
  .strip b { color: var(--_ink); font-weight: 600; }
  .strip.request > svg { color: var(--_wait); }
  .strip.violation { background: var(--_bad-bg); color: var(--_bad); }
  .strip.warning { background: var(--_wait-bg); color: var(--_wait); }
  .strip.violation b, .strip.warning b { color: inherit; }

  @container card (max-width: 520px) {
    .strip.refusal > button { grid-column: 2; justify-self: start; padding-block: 4px; }
  }

  @media (forced-colors: active) {
    .chip { border-color: CanvasText; }
    .strip { border-block-start-width: 2px; }
    :focus-visible { outline-color: Highlight; }
  }
`;
