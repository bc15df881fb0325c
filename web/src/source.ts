/** Reads an element's document from its `src`, and says in place when it could not be read. */
import { html, nothing, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from "lit";
import { markGlyph } from "./glyphs.ts";
import { words } from "./words.ts";

export class Source<Document> implements ReactiveController {
  #fault: string | null = null;
  #readFrom: string | null = null;
  readonly #host: ReactiveControllerHost;
  readonly #address: () => string | null;
  readonly #take: (document: Document) => void;

  constructor(host: ReactiveControllerHost, address: () => string | null, take: (document: Document) => void) {
    this.#host = host;
    this.#address = address;
    this.#take = take;
    host.addController(this);
  }

  hostUpdated(): void {
    if (this.#address() !== this.#readFrom) void this.read();
  }

  /** Reads the address once; what was read before stays when it cannot be read again. */
  async read(): Promise<void> {
    const address = this.#address();
    this.#readFrom = address;
    if (!address) return;
    try {
      const response = await fetch(address, { headers: { accept: "application/json" }, credentials: "same-origin" });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const document = (await response.json()) as Document;
      if (address !== this.#address()) return;
      this.#fault = null;
      this.#take(document);
    } catch (error) {
      this.#fault = words.unreadable(address, error instanceof Error ? error.message : String(error));
    }
    this.#host.requestUpdate();
  }

  /** Draws why there is nothing to see, if that is known. */
  view(): TemplateResult | typeof nothing {
    return this.#fault === null ? nothing : html`<div class="strip finding warning" role="alert">${markGlyph("warning")}<p>${this.#fault}</p></div>`;
  }
}
