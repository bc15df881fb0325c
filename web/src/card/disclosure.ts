/** Draws what lies one step away: whole values, set so that nothing is cut without saying so. */
import { html, nothing, type TemplateResult } from "lit";
import type { Disclosure } from "../model.ts";
import { indentJson } from "../exact.ts";
import { prose, withoutTokens } from "../clock.ts";
import { words } from "../words.ts";

/** How much of a long text is set before a person asks for all of it. */
export const firstCharacters = 20_000;

/** What the card knows about its open disclosures. */
export interface Reading {
  opened: ReadonlySet<string>;
  whole: ReadonlySet<string>;
  /** What to say beside a copy button just pressed. */
  said: ReadonlyMap<string, string>;
  toggle(id: string, now: "open" | "shut"): void;
  showAll(id: string): void;
  copy(id: string, text: string, shown: HTMLElement | null): void;
}

/** Draws one disclosure; its content is set only when it is opened. */
export function disclosureView(disclosure: Disclosure, reading: Reading): TemplateResult {
  const { id, title } = disclosure;
  const toggled = (event: Event) => reading.toggle(id, (event.target as HTMLDetailsElement).open ? "open" : "shut");
  return html`<details part="disclosure" data-disclosure=${id} ?open=${reading.opened.has(id)} @toggle=${toggled}>
    <summary><span dir="auto">${title}</span></summary>
    ${reading.opened.has(id) ? html`<div class="opened">${absent(disclosure) ? nothing : html`${head(disclosure, reading)}${content(disclosure, reading)}`}${note(disclosure)}</div>` : nothing}
  </details>`;
}

/** Tells whether nothing of the value is here: then the note says where it is or who erased it, and there is nothing to copy. */
const absent = ({ kind, text, note: said }: Disclosure): boolean => kind !== "rows" && kind !== "list" && text === "" && Boolean(said);

function content(disclosure: Disclosure, reading: Reading): TemplateResult | typeof nothing {
  if (disclosure.kind === "rows") return rows(disclosure.rows ?? []);
  if (disclosure.kind === "list") return list(disclosure);
  const text = disclosure.kind === "json" ? indentJson(exactText(disclosure)) : exactText(disclosure);
  return longText(disclosure, text, reading);
}

function rows(terms: readonly { term: string; text: string }[]): TemplateResult {
  return html`<dl>${terms.map(({ term, text }) => html`<div class="row"><dt><bdi>${term}</bdi></dt><dd><bdi>${prose(text)}</bdi></dd></div>`)}</dl>`;
}

function list(disclosure: Disclosure): TemplateResult {
  const items = Array.isArray(disclosure.value) ? disclosure.value.map(plain) : (disclosure.rows ?? []).map(({ term, text }) => (term ? `${term}: ${text}` : text));
  return html`<ul class="items">${items.map((item) => html`<li dir="auto">${item}</li>`)}</ul>`;
}

function longText(disclosure: Disclosure, text: string, reading: Reading): TemplateResult {
  const cut = text.length > firstCharacters && !reading.whole.has(disclosure.id);
  const direction = disclosure.kind === "json" ? "ltr" : "auto";
  return html`<pre dir=${direction} class=${disclosure.kind}>${cut ? firstPart(text) : text}</pre>
    ${cut ? html`<p class="note">${words.showing(firstPart(text).length, text.length)}
      <button type="button" class="link" @click=${() => reading.showAll(disclosure.id)}>${words.showAll}</button></p>` : nothing}`;
}

/** Cuts between characters, never through a surrogate pair. */
function firstPart(text: string): string {
  const last = text.charCodeAt(firstCharacters - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? firstCharacters - 1 : firstCharacters);
}

function head(disclosure: Disclosure, reading: Reading): TemplateResult {
  const copied = (event: Event) => {
    const shown = (event.currentTarget as HTMLElement).closest(".opened")?.querySelector<HTMLElement>("pre, dl, ul") ?? null;
    reading.copy(disclosure.id, disclosure.copy ?? copyText(disclosure), shown);
  };
  return html`<p class="head"><button type="button" class="small" @click=${copied}>${words.copy}<span class="hidden-word"> ${disclosure.title}</span></button>
    <span role="status" class="quiet">${reading.said.get(disclosure.id) ?? nothing}</span></p>`;
}

const note = ({ complete, note: said }: Disclosure): TemplateResult | typeof nothing =>
  complete === false || said ? html`<p class="note" part="incomplete">${prose(said ?? words.incomplete)}</p>` : nothing;

const plain = (item: unknown): string => (typeof item === "string" ? item : JSON.stringify(item));

/** The value as text; the exact text the server sent goes before anything that was parsed. */
export function exactText(disclosure: Disclosure): string {
  if (typeof disclosure.text === "string") return disclosure.text;
  if (disclosure.value === undefined) return "";
  return disclosure.kind === "text" && typeof disclosure.value === "string" ? disclosure.value : JSON.stringify(disclosure.value, null, 2);
}

function copyText(disclosure: Disclosure): string {
  if (disclosure.kind === "rows") return withoutTokens((disclosure.rows ?? []).map(({ term, text }) => `${term}\t${text}`).join("\n"));
  if (disclosure.kind === "list" && Array.isArray(disclosure.value)) return disclosure.value.map(plain).join("\n");
  return exactText(disclosure);
}
