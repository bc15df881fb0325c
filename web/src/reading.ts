/** Keeps what a person has opened, asked to see whole, or copied at one card. */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Reading } from "./card/disclosure.ts";
import { words } from "./words.ts";

export class ReadingPlace implements ReactiveController, Reading {
  readonly opened = new Set<string>();
  readonly whole = new Set<string>();
  readonly said = new Map<string, string>();
  readonly #host: ReactiveControllerHost;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {}

  toggle(id: string, now: "open" | "shut"): void {
    if (this.opened.has(id) === (now === "open")) return;
    if (now === "open") this.opened.add(id);
    else {
      this.opened.delete(id);
      this.said.delete(id);
    }
    this.#host.requestUpdate();
  }

  showAll(id: string): void {
    this.whole.add(id);
    this.#host.requestUpdate();
  }

  /** Copies, and says what really happened; where the browser refuses, the text is selected instead. */
  async copy(id: string, text: string, shown: HTMLElement | null): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.said.set(id, words.copied);
    } catch {
      if (shown) getSelection()?.selectAllChildren(shown);
      this.said.set(id, words.selected);
    }
    this.#host.requestUpdate();
  }
}
