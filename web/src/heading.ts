/** Draws a real heading of the level that the page around it needs. */
import { html, type TemplateResult } from "lit";

export function heading(level: number, content: unknown): TemplateResult {
  switch (level) {
    case 1: return html`<h1 id="title" part="title">${content}</h1>`;
    case 2: return html`<h2 id="title" part="title">${content}</h2>`;
    case 3: return html`<h3 id="title" part="title">${content}</h3>`;
    case 4: return html`<h4 id="title" part="title">${content}</h4>`;
    case 5: return html`<h5 id="title" part="title">${content}</h5>`;
    default: return html`<h6 id="title" part="title">${content}</h6>`;
  }
}
