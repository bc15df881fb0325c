import { LitElement, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { Card, Inbox } from "./model.ts";
import type { Answer } from "./events.ts";
import { KeptFocus } from "./kept-focus.ts";
import { heading } from "./heading.ts";
import { Source } from "./source.ts";
import { words } from "./words.ts";
import type { ToolCallCard } from "./tool-call-card.ts";
import "./tool-call-card.ts";
import { inboxStyles } from "./tool-inbox.styles.ts";

/**
 * Draws what waits for a decision, each with the exact scope in view, and under it what was just answered.
 *
 * @element tool-inbox
 *
 * @prop {Inbox | null} inbox - The inbox document.
 * @prop {readonly Card[]} answered - Cards that left the inbox while it was open; kept so that a person sees what became of them.
 * @attr {string} src - An address to read the inbox from. Without it the element does no network of its own.
 * @attr {number} heading-level - The level of the inbox's title, 1 to 5 (default 2).
 * @attr {string} link-pattern - The address of an invocation, with `{id}` in it.
 * @attr {string} task-link-pattern - The address of a task, with `{id}` in it; adds a link under each card.
 *
 * @method answer - Takes the host's answer to a request at any of its cards.
 * @method refresh - Reads `src` again.
 *
 * @fires {ToolActionEvent} tool-action @fires {ToolGotoEvent} tool-goto
 * @csspart title @csspart empty @csspart cards @csspart answered
 */
@customElement("tool-inbox")
export class ToolInbox extends LitElement {
  static override styles = inboxStyles;

  @property({ attribute: false }) inbox: Inbox | null = null;
  @property({ attribute: false }) answered: readonly Card[] = [];
  @property() src: string | null = null;
  @property({ type: Number, attribute: "heading-level" }) headingLevel = 2;
  @property({ attribute: "link-pattern" }) linkPattern: string | null = null;
  @property({ attribute: "task-link-pattern" }) taskLinkPattern: string | null = null;

  readonly #source = new Source<Inbox>(this, () => this.src, (inbox) => { this.inbox = inbox; });

  constructor() {
    super();
    new KeptFocus(this);
  }

  answer(answer: Answer): void {
    for (const card of this.renderRoot.querySelectorAll<ToolCallCard>("tool-call-card")) card.answer(answer);
  }

  refresh(): Promise<void> { return this.#source.read(); }

  protected override render(): TemplateResult {
    const { inbox } = this;
    if (!inbox) return html`${this.#source.view()}`;
    return html`<section aria-labelledby="title">
      ${heading(this.headingLevel, html`<span dir="auto">${inbox.title}</span>`)}
      <p class="empty" part="empty" role="status">${inbox.items.length === 0 ? inbox.empty ?? words.inboxEmpty : nothing}</p>
      <ol class="cards" part="cards">${repeat(this.#all(inbox), ({ card }) => card.id, ({ card, first }) => html`<li>
        ${first ? html`<p class="answered" part="answered">${words.answered}</p>` : nothing}${this.#card(card)}</li>`)}</ol>
    </section>`;
  }

  /** One list for both, so that an answered card keeps its place in the page's memory and the keyboard with it. */
  #all(inbox: Inbox): { card: Card; first: boolean }[] {
    const waiting = new Set(inbox.items.map(({ id }) => id));
    const answered = this.answered.filter(({ id }) => !waiting.has(id));
    return [...inbox.items.map((card) => ({ card, first: false })), ...answered.map((card, index) => ({ card, first: index === 0 }))];
  }

  #card(card: Card): TemplateResult {
    const task = card.task && this.taskLinkPattern ? this.taskLinkPattern.replace("{id}", encodeURIComponent(card.task)) : null;
    return html`<tool-call-card .card=${card} heading-level=${this.headingLevel + 1} link-pattern=${this.linkPattern ?? nothing}>
      ${task ? html`<p class="task"><a href=${task}>${words.openTask}<span class="hidden-word"> (${card.title})</span></a></p>` : nothing}</tool-call-card>`;
  }
}

declare global {
  interface HTMLElementTagNameMap { "tool-inbox": ToolInbox }
}
