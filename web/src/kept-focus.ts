/** Gives the keyboard back to where it was when moving cards about took it away. */
import type { LitElement, ReactiveController } from "lit";

export class KeptFocus implements ReactiveController {
  readonly #host: LitElement;
  #held: HTMLElement | null = null;

  constructor(host: LitElement) {
    this.#host = host;
    host.addController(this);
  }

  hostUpdate(): void {
    this.#held = deepestFocus(this.#host.shadowRoot);
  }

  hostUpdated(): void {
    if (this.#held?.isConnected && deepestFocus(this.#host.shadowRoot) !== this.#held) this.#held.focus({ preventScroll: true });
    this.#held = null;
  }
}

/** The element that really has the keyboard, through however many shadow roots. */
export function deepestFocus(root: ShadowRoot | Document | null): HTMLElement | null {
  let active = root?.activeElement ?? null;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active instanceof HTMLElement ? active : null;
}
