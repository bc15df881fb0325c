import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";
import { repeat } from "lit/directives/repeat.js";
import type { Card, Disclosure, EvidenceRefs, Meta, Pointer } from "./model.ts";
import { same } from "./model.ts";
import { Asking } from "./card/asking.ts";
import { controlsView } from "./card/controls.ts";
import { disclosureView } from "./card/disclosure.ts";
import { citation, timelineView } from "./card/timeline.ts";
import { ToolGotoEvent, type Answer } from "./events.ts";
import { elapsed, moment, prose } from "./clock.ts";
import { heading } from "./heading.ts";
import { ReadingPlace } from "./reading.ts";
import { Source } from "./source.ts";
import { chip, findingStrip, refusalStrip, requestStrip } from "./strips.ts";
import { words } from "./words.ts";
import { cardStyles } from "./tool-call-card.styles.ts";

type Drawn = TemplateResult | typeof nothing;

const evidence = "evidence";

/**
 * Draws one invocation of a tool: what it is for, what state its evidence puts it in, what is known to be wrong, what a
 * person can do, until when; and, one step away, inputs, result and evidence. It decides nothing and claims nothing.
 *
 * @element tool-call-card
 *
 * @prop {Card | null} card - The card document. The element is drawn anew only when the document really differs.
 * @attr {string} src - An address to read the card from. Without it the element does no network of its own.
 * @attr {number} heading-level - The level of the title's heading, 1 to 6 (default 3).
 * @attr {boolean} evidence-open - Shows the evidence rail opened.
 * @attr {string} link-pattern - The address of an invocation, with `{id}` in it; makes titles and lineage links.
 * @attr {string} within - The title of the invocation that this one is a part of, said to screen readers.
 * @attr {"light" | "dark"} data-theme - Overrides the page's colour scheme.
 *
 * @method answer - Takes the host's answer to a request: `{requestId, outcome: "recorded" | "refused" | "unanswered", problem?}`.
 * @method refresh - Reads `src` again.
 *
 * @fires {ToolActionEvent} tool-action - A control was pressed, and its form sent. Nothing has happened yet: until the
 *   host calls `answer`, the control reads "requested, not yet recorded"; what became of it only a new card says.
 * @fires {ToolGotoEvent} tool-goto - A reference to another invocation was followed (cancelable).
 *
 * @slot - Shown at the end of the card, for what a host adds.
 *
 * @csspart card - The article. @csspart header @csspart title @csspart chip @csspart meta @csspart lineage
 * @csspart request @csspart finding @csspart refusal @csspart facts @csspart blocked @csspart controls
 * @csspart control - A button; also `control-<action>`. @csspart why @csspart deadline @csspart form
 * @csspart disclosures @csspart disclosure @csspart timeline @csspart citation
 *
 * @cssproperty --tw-surface --tw-ink --tw-line … - The semantic tokens listed in `tokens.ts`; a W3C design-tokens file
 *   maps onto them name by name (`color.surface` → `--tw-surface`, `color.tone.bad.ground` → `--tw-bad-bg`).
 */
@customElement("tool-call-card")
export class ToolCallCard extends LitElement {
  static override styles = cardStyles;

  @property({ attribute: false, hasChanged: (value: Card | null, old: Card | null) => !same(value, old) })
  card: Card | null = null;
  @property() src: string | null = null;
  @property({ type: Number, attribute: "heading-level" }) headingLevel = 3;
  @property({ type: Boolean, attribute: "evidence-open" }) evidenceOpen = false;
  @property({ attribute: "link-pattern" }) linkPattern: string | null = null;
  @property() within: string | null = null;

  @state() private cited: ReadonlySet<number> = new Set();
  @state() private spoken = "";

  readonly #asking = new Asking(this, () => ({ id: this.card?.id ?? "", subject: "invocation" }));
  readonly #reading = new ReadingPlace(this);
  readonly #source = new Source<Card>(this, () => this.src, (card) => { this.card = card; });
  #hadFocus = false;

  answer(answer: Answer): void { this.#asking.answer(answer); }

  refresh(): Promise<void> { return this.#source.read(); }

  /** Moves the keyboard to the card itself. */
  override focus(options?: FocusOptions): void {
    this.renderRoot.querySelector<HTMLElement>("article")?.focus(options);
  }

  protected override willUpdate(changed: PropertyValues): void {
    this.#hadFocus = this.hasUpdated && this.shadowRoot?.activeElement != null;
    if (changed.has("evidenceOpen") && this.evidenceOpen) this.#reading.opened.add(evidence);
    if (!changed.has("card") || !this.card) return;
    this.#asking.keepOnly(this.card.controls ?? []);
    const before = changed.get("card") as Card | null | undefined;
    if (before && before.id === this.card.id && before.state !== this.card.state) this.spoken = words.stateIs(this.card.title, this.card.label);
    if (before && before.id !== this.card.id) this.cited = new Set();
  }

  protected override updated(): void {
    if (this.#hadFocus && this.shadowRoot?.activeElement == null && document.activeElement !== this) this.focus({ preventScroll: true });
  }

  protected override render(): Drawn {
    const { card } = this;
    if (!card) return html`${this.#source.view()}`;
    return html`<article part="card" aria-labelledby="title" tabindex="-1" data-state=${card.state}>
      ${this.#header(card)}
      ${repeat(card.requests ?? [], (request, index) => `${request.kind} ${request.at ?? index}`, (request) => requestStrip(request, this.#cite(card, request.evidence)))}
      ${repeat(card.findings ?? [], ({ code, headline }) => `${code} ${headline}`, (finding) => findingStrip(finding, this.#cite(card, finding.evidence)))}
      ${this.#facts(card)}
      ${this.#progress(card)}
      ${this.#pointers(card.blocked, "blocked")}
      ${controlsView(this.#asking, card.controls ?? [], card.deadline)}
      ${refusalStrip(this.#asking.refusal, () => this.#asking.dismissRefusal())}
      ${this.#disclosures(card)}
      ${this.#timeline(card)}
      <slot></slot>
      <span class="hidden-word" role="status">${this.spoken}</span>
    </article>`;
  }

  #header(card: Card): TemplateResult {
    const name = html`<span dir="auto">${card.title}</span>`;
    const href = this.#href(card.id);
    return html`<header part="header">
      ${heading(this.headingLevel, href ? html`<a href=${href}>${name}</a>` : name)}
      ${chip(card)}
      <p class="meta" part="meta">${this.within ? html`<span class="hidden-word">${words.partOf(this.within)} </span>` : nothing}${this.#meta(card)}</p>
      ${this.#pointers(card.lineage, "lineage")}
    </header>`;
  }

  #meta(card: Card): unknown {
    const given = card.meta ?? [];
    const said = given.map(({ text }) => text);
    const parts: unknown[] = [];
    if (!said.includes(card.tool)) parts.push(html`<span class="mono" dir="ltr">${card.tool}</span>`);
    if (!said.some((text) => text.includes(words.attempt(card.attempt)))) parts.push(words.attempt(card.attempt));
    for (const meta of given) {
      parts.push(html`<span dir="auto">${prose(meta.text)}</span>`);
      if (runs(card, meta)) parts.push(elapsed(meta.since));
    }
    const refs = given.flatMap(({ evidence: cited }) => cited ?? []);
    return html`${parts.map((part, index) => (index === 0 ? part : html`<span aria-hidden="true"> · </span>${part}`))} ${this.#cite(card, refs)}`;
  }

  #facts(card: Card): Drawn {
    const facts = card.facts ?? [];
    if (facts.length === 0) return nothing;
    return html`<dl class="facts" part="facts">${facts.map(({ term, text, prominent, evidence: refs }) => html`<div class="row">
      <dt><bdi>${term}</bdi></dt><dd class=${classMap({ big: prominent === true })}><bdi>${prose(text)}</bdi></dd><dd class="ref">${this.#cite(card, refs)}</dd></div>`)}</dl>`;
  }

  #progress({ progress }: Card): Drawn {
    if (!progress) return nothing;
    const percent = typeof progress.percent === "number" ? Math.min(100, Math.max(0, progress.percent)) : null;
    return html`<div class="progress" part="progress"><span dir="auto">${prose(progress.text)}</span>
      ${percent === null ? nothing : html`<span class="bar" role="progressbar" aria-label=${progress.text} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent}>
        <span style="inline-size:${percent}%"></span></span>`}</div>`;
  }

  #pointers(pointers: readonly Pointer[] | undefined, kind: "lineage" | "blocked"): Drawn {
    if (!pointers?.length) return nothing;
    return html`<ul class=${kind} part=${kind}>${pointers.map((pointer) => html`<li>${this.#pointer(pointer)}</li>`)}</ul>`;
  }

  #pointer({ text, target }: Pointer): TemplateResult {
    const sentence = html`<span dir="auto">${prose(text)}</span>`;
    if (!target) return sentence;
    const href = this.#href(target);
    const go = (event: Event) => {
      if (!this.dispatchEvent(new ToolGotoEvent(target))) event.preventDefault();
    };
    return href ? html`<a href=${href} @click=${go}>${sentence}</a>` : html`<button type="button" class="link" @click=${go}>${sentence}</button>`;
  }

  #disclosures(card: Card): Drawn {
    const shown = [...soFar(card), ...(card.disclosures ?? [])];
    if (shown.length === 0) return nothing;
    return html`<div class="more" part="disclosures">${repeat(shown, ({ id }) => id, (disclosure) => disclosureView(disclosure, this.#reading))}</div>`;
  }

  #timeline({ timeline }: Card): Drawn {
    if (!timeline) return nothing;
    const toggled = (event: Event) => this.#reading.toggle(evidence, (event.target as HTMLDetailsElement).open ? "open" : "shut");
    const opened = this.#reading.opened.has(evidence);
    return html`<details class="evidence" ?open=${opened} @toggle=${toggled}><summary><span dir="auto">${timeline.title}</span></summary>
      ${opened ? timelineView(timeline.rows, this.cited) : nothing}</details>`;
  }

  #cite(card: Card, refs: EvidenceRefs | undefined): Drawn {
    return citation(card, refs, (numbers) => void this.#show(numbers));
  }

  async #show(numbers: readonly number[]): Promise<void> {
    this.#reading.toggle(evidence, "open");
    this.cited = new Set(numbers);
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(`[data-line="${numbers[0]}"]`)?.focus();
  }

  #href(id: string): string | null {
    return this.linkPattern ? this.linkPattern.replace("{id}", encodeURIComponent(id)) : null;
  }
}

/** A clock runs only while something does; it says how long ago the evidence was, and claims nothing. */
const runs = (card: Card, meta: Meta): meta is Meta & { since: string } => card.tone === "live" && moment(meta.since) !== null;

/** What a running call has put out until now, to be read like any other value. */
function soFar({ output }: Card): Disclosure[] {
  if (!output) return [];
  const { text, chunks, complete = true, note = null } = output;
  return [{ id: "output-so-far", title: words.outputSoFar(chunks), kind: "text", text, complete, note }];
}

declare global {
  interface HTMLElementTagNameMap { "tool-call-card": ToolCallCard }
}
