import { LitElement, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { TaskRow } from "./model.ts";
import { KeptFocus } from "./kept-focus.ts";
import { prose, timeElement } from "./clock.ts";
import { heading } from "./heading.ts";
import { chip } from "./strips.ts";
import { words } from "./words.ts";
import { taskListStyles } from "./tool-task-list.styles.ts";

/**
 * Draws tasks, one line each: its title, its state, and what its parts add up to.
 *
 * @element tool-task-list
 *
 * @prop {readonly TaskRow[]} tasks - The rows in the order in which they are shown.
 * @attr {number} heading-level - The level of the list's title, 1 to 5 (default 2); rows take the next one.
 * @attr {string} task-link-pattern - The address of a task, with `{id}` in it.
 *
 * @csspart title @csspart row @csspart chip
 */
@customElement("tool-task-list")
export class ToolTaskList extends LitElement {
  static override styles = taskListStyles;

  @property({ attribute: false }) tasks: readonly TaskRow[] = [];
  @property({ type: Number, attribute: "heading-level" }) headingLevel = 2;
  @property({ attribute: "task-link-pattern" }) taskLinkPattern: string | null = null;

  constructor() {
    super();
    new KeptFocus(this);
  }

  protected override render(): TemplateResult {
    return html`<section aria-labelledby="title">${heading(this.headingLevel, words.tasks)}
      ${this.tasks.length === 0 ? html`<p class="quiet">${words.noTasks}</p>` : nothing}
      <ol class="tasks">${repeat(this.tasks, ({ id }) => id, (row) => html`<li part="row">${this.#row(row)}</li>`)}</ol></section>`;
  }

  #row(row: TaskRow): TemplateResult {
    const href = this.taskLinkPattern?.replace("{id}", encodeURIComponent(row.id));
    const title = html`<span dir="auto">${row.title}</span>`;
    return html`<p class="title">${href ? html`<a href=${href}>${title}</a>` : title}</p>${chip(row)}
      <p class="summary" dir="auto">${prose(row.summary ?? "")}</p>
      <p class="at">${timeElement(row.at)}</p>`;
  }
}

declare global {
  interface HTMLElementTagNameMap { "tool-task-list": ToolTaskList }
}
