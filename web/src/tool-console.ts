import { LitElement, html, nothing, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";
import { actionAddress, ask, pageOf, readSession, snapshotAddress, streamAddress, type Boot } from "./api.ts";
import { spokenTime } from "./clock.ts";
import type { Answer, ToolActionEvent } from "./events.ts";
import { LiveStream, type Currency } from "./live.ts";
import { apply, join, waitingOn, type Message, type Page } from "./page-record.ts";
import { markGlyph } from "./glyphs.ts";
import { words } from "./words.ts";
import { consoleStyles } from "./tool-console.styles.ts";
import type { ToolCallCard } from "./tool-call-card.ts";
import type { ToolTask } from "./tool-task.ts";
import type { ToolInbox } from "./tool-inbox.ts";
import "./tool-inbox.ts";
import "./tool-task-list.ts";
import "./tool-task.ts";

/** Actions that only read; the card and the browser serve them, and the server is not asked. */
const passive = new Set(["inspect", "review", "copy", "continue"]);

/**
 * The console page: tasks, one task, the inbox, or one invocation with its evidence; live, and honest when it is not.
 *
 * It paints first from the JSON that the server put into `#tw-boot`, follows `<base>/api/stream` from there, and sends what
 * a person asks for to `<base>/api/…/actions/…`. Pages are real addresses: every link works without this element.
 *
 * @element tool-console
 * @csspart header @csspart nav @csspart currency @csspart main
 */
@customElement("tool-console")
export class ToolConsole extends LitElement {
  static override styles = consoleStyles;

  @state() private page: Page | null = null;
  @state() private waiting: number | null = null;
  @state() private currency: Currency = { state: "connecting" };
  @state() private signedOut = false;

  #boot: Boot | null = null;
  #live: LiveStream | null = null;
  #snapshot: Promise<void> | null = null;
  #snapshotAgain = false;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#boot ??= this.#readBoot();
    if (!this.#boot) return;
    if (!this.page) {
      this.page = pageOf(this.#boot.view, this.#boot.data);
      this.waiting = this.#boot.waiting ?? waitingOn(this.page);
    }
    const { base, cursor } = this.#boot;
    const { page } = this;
    this.#live = new LiveStream({
      address: (from) => streamAddress(base, page, from), cursor,
      onMessage: (message) => this.#take(message),
      onCurrency: (currency) => {
        this.currency = currency;
        if (currency.state === "live") this.signedOut = false;
      },
      onStale: () => void this.#renew(),
      onRefused: () => void readSession(base).then(({ state }) => { this.signedOut = state === "signed out"; }),
    });
    this.#live.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#live?.stop();
  }

  protected override firstUpdated(): void {
    const target = decodeURIComponent(location.hash.slice(1));
    if (!target) return;
    const task = this.renderRoot.querySelector("tool-task");
    void task?.updateComplete.then(() => task.reveal(target));
  }

  protected override updated(): void {
    const title = this.#title();
    const marked = this.waiting ? `(${this.waiting}) ${title}` : title;
    if (title && document.title !== marked) document.title = marked;
  }

  protected override render(): TemplateResult {
    if (!this.page || !this.#boot) return html`<main><p class="fault" role="alert">${words.noBoot}</p></main>`;
    const base = this.#boot.base;
    return html`<header part="header"><button type="button" class="skip" @click=${this.#skip}>${words.skip}</button><div class="bar">
        <a class="name" href="${base}/">toolwitness</a>
        <nav part="nav" aria-label="toolwitness">${this.#link(`${base}/`, "tasks", words.tasks, nothing)}${this.#link(`${base}/inbox`, "inbox", words.inbox, this.#count())}</nav>
        ${this.#actor()}</div></header>
      ${this.#currency()}
      <main part="main" id="main" tabindex="-1" @tool-action=${this.#ask}>${this.#view(this.page, base)}</main>`;
  }

  #link(href: string, view: Page["view"], text: string, extra: unknown): TemplateResult {
    return html`<a href=${href} aria-current=${this.page?.view === view ? "page" : nothing}>${text}${extra}</a>`;
  }

  #count(): unknown {
    if (!this.waiting) return nothing;
    return html`<span class="count" aria-hidden="true">${this.waiting}</span><span class="hidden-word">, ${words.waitingCount(this.waiting)}</span>`;
  }

  #actor(): TemplateResult | typeof nothing {
    const actor = this.#boot?.actor;
    const name = actor?.name ?? actor?.id;
    return name ? html`<p class="actor"><span class="hidden-word">${words.signedInAs("")}</span><bdi>${name}</bdi></p>` : nothing;
  }

  /** A quiet line while the page is current; a plain sentence with a time while it is not. */
  #currency(): TemplateResult {
    const { currency } = this;
    const text = currency.state === "live" ? words.live
      : currency.state === "connecting" ? words.connecting
      : (this.signedOut ? words.signedOut : words.reconnecting)(spokenTime(currency.since, new Date()));
    return html`<aside class="currency ${currency.state}" part="currency" aria-label=${words.currency}><p role="status">${markGlyph(currency.state === "live" ? "fact" : "gap")}${text}</p></aside>`;
  }

  #view(page: Page, base: string): TemplateResult {
    const invocation = `${base}/invocations/{id}`;
    const task = `${base}/tasks/{id}`;
    switch (page.view) {
      case "tasks": return html`<tool-task-list heading-level="1" .tasks=${page.tasks} task-link-pattern=${task}></tool-task-list>`;
      case "task": return html`<tool-task heading-level="1" .task=${page.task} link-pattern=${invocation}></tool-task>`;
      case "inbox": return html`<tool-inbox heading-level="1" .inbox=${page.inbox} .answered=${page.answered} link-pattern=${invocation} task-link-pattern=${task}></tool-inbox>`;
      case "invocation": return html`${page.card.task ? html`<p class="up"><a href="${task.replace("{id}", encodeURIComponent(page.card.task))}#${page.card.id}">${words.openTask}</a></p>` : nothing}
        <tool-call-card heading-level="1" evidence-open .card=${page.card} link-pattern=${invocation}></tool-call-card>`;
    }
  }

  #take(message: Message): void {
    if (!this.page) return;
    if (message.kind === "inbox") this.waiting = message.waiting;
    const step = apply(this.page, message);
    this.page = step.page;
    if (step.snapshot === "needed") void this.#renew();
  }

  /** Reads a fresh snapshot, one at a time; what arrives meanwhile on the stream is kept, whichever is newer. */
  async #renew(): Promise<void> {
    if (this.#snapshot) {
      this.#snapshotAgain = true;
      return this.#snapshot;
    }
    this.#snapshot = this.#readSnapshot().finally(() => {
      this.#snapshot = null;
      if (!this.#snapshotAgain) return;
      this.#snapshotAgain = false;
      void this.#renew();
    });
    return this.#snapshot;
  }

  async #readSnapshot(): Promise<void> {
    const { page } = this;
    if (!page || !this.#boot) return;
    try {
      const response = await fetch(snapshotAddress(this.#boot.base, page), { headers: { accept: "application/json" }, credentials: "same-origin" });
      if (!response.ok) return;
      const fresh = pageOf(page.view, await response.json());
      if (this.page) this.page = join(this.page, fresh);
    } catch {
      // The stream's own state already says that the server cannot be reached, and what is shown stays as it was.
    }
  }

  async #ask(event: ToolActionEvent): Promise<void> {
    const { detail } = event;
    if (!this.#boot || !this.page || passive.has(detail.action)) return;
    const boot = this.#boot;
    const send = () => ask(actionAddress(boot.base, detail), detail.body, detail.requestId, boot.csrf ?? "");
    let answer = await send();
    if (answer.outcome === "refused" && answer.problem?.code === "cross-site") {
      const session = await readSession(boot.base);
      if (session.state === "signed in" && session.csrf !== boot.csrf) {
        boot.csrf = session.csrf;
        answer = await send();
      }
    }
    if (answer.outcome === "recorded" && this.currency.state !== "live") await this.#renew();
    this.#tell(answer);
  }

  #tell(answer: Answer): void {
    this.renderRoot.querySelector<ToolTask | ToolInbox | ToolCallCard>("tool-task, tool-inbox, main > tool-call-card")?.answer(answer);
  }

  #title(): string {
    switch (this.page?.view) {
      case "tasks": return `${words.tasks} · toolwitness`;
      case "task": return `${this.page.task.title} · toolwitness`;
      case "inbox": return `${words.inbox} · toolwitness`;
      case "invocation": return `${this.page.card.title} · toolwitness`;
      default: return "";
    }
  }

  #skip(): void {
    this.renderRoot.querySelector<HTMLElement>("main")?.focus();
  }

  #readBoot(): Boot | null {
    try {
      return JSON.parse(document.getElementById("tw-boot")?.textContent ?? "null") as Boot | null;
    } catch {
      return null;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap { "tool-console": ToolConsole }
}
