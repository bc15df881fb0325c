import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { Card, Control, TaskCard } from "./model.ts";
import { Asking } from "./card/asking.ts";
import { controlsView } from "./card/controls.ts";
import type { Answer, ToolGotoEvent } from "./events.ts";
import { KeptFocus } from "./kept-focus.ts";
import { prose } from "./clock.ts";
import { heading } from "./heading.ts";
import { Source } from "./source.ts";
import { chip, findingStrip, refusalStrip } from "./strips.ts";
import { words } from "./words.ts";
import type { ToolCallCard } from "./tool-call-card.ts";
import "./tool-call-card.ts";
import { taskStyles } from "./tool-task.styles.ts";

/**
 * Draws a task: what its parts add up to, and each part as a card, indented under what it belongs to.
 *
 * @element tool-task
 *
 * @prop {TaskCard | null} task - The task document, with its cards in the order in which they are shown.
 * @attr {string} src - An address to read the task from. Without it the element does no network of its own.
 * @attr {number} heading-level - The level of the task's title, 1 to 5 (default 2); cards take the next one.
 * @attr {string} link-pattern - The address of an invocation, with `{id}` in it.
 *
 * @method answer - Takes the host's answer to a request, at the task or at any of its cards.
 * @method refresh - Reads `src` again.
 * @method reveal - Brings an invocation's card into view and moves the keyboard to it; false where the task has none such.
 *
 * @fires {ToolActionEvent} tool-action - From the task (`subject: "task"`) or from a card.
 * @fires {ToolGotoEvent} tool-goto - Only for an invocation that is not on this task's page.
 *
 * @csspart header @csspart title @csspart chip @csspart summary @csspart finding @csspart refusal @csspart controls
 * @csspart cards @csspart card-slot
 *
 * @cssproperty --tw-indent - How far a part stands in from what it belongs to (default 32px).
 */
@customElement("tool-task")
export class ToolTask extends LitElement {
  static override styles = taskStyles;

  // Compared by identity: each card compares itself, and writing a thousand of them as text to compare them costs more than it saves.
  @property({ attribute: false }) task: TaskCard | null = null;
  @property() src: string | null = null;
  @property({ type: Number, attribute: "heading-level" }) headingLevel = 2;
  @property({ attribute: "link-pattern" }) linkPattern: string | null = null;

  @state() private spoken = "";

  readonly #asking = new Asking(this, () => ({ id: this.task?.id ?? "", subject: "task" }));
  readonly #source = new Source<TaskCard>(this, () => this.src, (task) => { this.task = task; });

  constructor() {
    super();
    new KeptFocus(this);
  }

  answer(answer: Answer): void {
    this.#asking.answer(answer);
    for (const card of this.#cards()) card.answer(answer);
  }

  refresh(): Promise<void> { return this.#source.read(); }

  reveal(id: string): boolean {
    const card = this.#cards().find((element) => element.card?.id === id);
    if (!card) return false;
    card.scrollIntoView({ block: "start" });
    card.focus({ preventScroll: true });
    return true;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("task") || !this.task) return;
    this.#asking.keepOnly(this.task.controls ?? []);
    const before = changed.get("task") as TaskCard | null | undefined;
    if (before && before.id === this.task.id && before.state !== this.task.state) this.spoken = words.stateIs(this.task.title, this.task.label);
  }

  protected override render(): TemplateResult {
    const { task } = this;
    if (!task) return html`${this.#source.view()}`;
    return html`<section aria-labelledby="title" @tool-goto=${this.#goto}>
      <header part="header">
        ${heading(this.headingLevel, html`<span dir="auto">${task.title}</span>`)}
        ${task.subtitle ? html`<p class="subtitle" dir="auto">${prose(task.subtitle)}</p>` : nothing}
        <p class="summary" part="summary" role="status">${chip(task)}<span class="quiet" dir="auto">${prose(task.summary ?? "")}</span></p>
        <span class="hidden-word" role="status">${this.spoken}</span>
      </header>
      ${this.#aside(task)}
      ${task.cards.length === 0 ? html`<p class="quiet">${words.nothingYet}</p>` : nothing}
      <ol class="cards" part="cards">${repeat(task.cards, ({ id }) => id, (card, index) => this.#place(task, card, index))}</ol>
    </section>`;
  }

  #aside(task: TaskCard): TemplateResult | typeof nothing {
    const findings = task.findings ?? [];
    const shown = new Set(task.cards.map(({ id }) => id));
    const controls = (task.controls ?? []).filter((control) => !shown.has(partOf(control)));
    if (findings.length === 0 && controls.length === 0 && !this.#asking.refusal) return nothing;
    return html`<div class="aside">${findings.map((finding) => findingStrip(finding, nothing))}
      ${controlsView(this.#asking, controls, null)}${refusalStrip(this.#asking.refusal, () => this.#asking.dismissRefusal())}</div>`;
  }

  #place(task: TaskCard, card: Card, index: number): TemplateResult {
    const depth = card.depth ?? 0;
    const own = (task.controls ?? []).filter((control) => partOf(control) === card.id);
    const drawn = own.length === 0 ? card : { ...card, controls: [...(card.controls ?? []), ...own] };
    return html`<li style="--depth:${depth}" part="card-slot"><tool-call-card .card=${drawn} heading-level=${this.headingLevel + 1}
      link-pattern=${this.linkPattern ?? nothing} within=${parentTitle(task.cards, index) ?? nothing}></tool-call-card></li>`;
  }

  #goto(event: ToolGotoEvent): void {
    if (!this.reveal(event.detail.id)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #cards(): ToolCallCard[] {
    return [...this.renderRoot.querySelectorAll<ToolCallCard>("tool-call-card")];
  }
}

/** The part that a control of the task is about; it is shown at that part's card, where a person sees why. */
function partOf(control: Control): string {
  const part = control.binding?.invocationId;
  return typeof part === "string" ? part : "";
}

/** The title of the nearest card before this one that stands less far in. */
function parentTitle(cards: readonly Card[], index: number): string | null {
  const depth = cards[index]?.depth ?? 0;
  if (depth === 0) return null;
  for (let before = index - 1; before >= 0; before -= 1) {
    const candidate = cards[before]!;
    if ((candidate.depth ?? 0) < depth) return candidate.title;
  }
  return null;
}

declare global {
  interface HTMLElementTagNameMap { "tool-task": ToolTask }
}
