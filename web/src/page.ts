/** The style sheet of a page that holds the elements: tokens, ground, and the shape of the page before any script runs. */
import { publicTokens } from "./tokens.ts";

export const pageSheet = `
:root{color-scheme:light dark;${publicTokens()}}
[data-theme="light"]{color-scheme:light}
[data-theme="dark"]{color-scheme:dark}
*{box-sizing:border-box}
body{margin:0;background:var(--tw-paper);color:var(--tw-ink);font:15px/1.5 var(--tw-sans);-webkit-text-size-adjust:100%}
tool-call-card,tool-task,tool-inbox,tool-task-list,tool-console{display:block}
.tw-plain{max-width:var(--tw-measure);margin:0 auto;padding:36px 16px}
.tw-plain h1{font-size:22px;line-height:1.3;font-weight:650;letter-spacing:-.01em;margin:0 0 4px}
.tw-plain p{margin:0;color:var(--tw-ink-2)}
tool-console:not(:defined){min-height:100vh}
`;
