/** The style sheet of a page that holds the elements: tokens, ground, and the shape of the page before any script runs. */
import { publicTokens } from "./tokens.ts";

export const pageSheet = `
:root{color-scheme:light dark;${publicTokens()}}
[data-theme="light"]{color-scheme:light}
[data-theme="dark"]{color-scheme:dark}
*{box-sizing:border-box}
body{margin:0;background:var(--tw-paper);color:var(--tw-ink);font:15px/1.5 var(--tw-sans);-webkit-text-size-adjust:100%}
tool-call-card,tool-task,tool-inbox,tool-task-list,tool-console{display:block}
tool-console:not(:defined){min-height:100vh}
`;
