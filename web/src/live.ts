/**
 * Follows the server's stream and says honestly whether what is shown is still current.
 *
 * Nothing is lost: the browser resumes with `Last-Event-ID`; when it gives up, a new connection starts from the last id
 * seen; and when the server cannot resume from there (`resync`), a fresh snapshot is read while the stream already runs.
 */
import type { Message } from "./page-record.ts";

/** How current the page is; `since` is when what is shown was last known to be true. */
export type Currency = { state: "connecting" } | { state: "live" } | { state: "broken"; since: Date };

export interface LiveOptions {
  /** Builds the stream's address for a cursor. */
  address: (cursor: string | null) => string;
  cursor: string | null;
  onMessage: (message: Message) => void;
  onCurrency: (currency: Currency) => void;
  /** Asks for a fresh snapshot; called while the stream runs. */
  onStale: () => void;
  /** Hears that the server answered with an error instead of a stream, each time that it does. */
  onRefused?: () => void;
  connect?: (address: string) => EventSource;
  now?: () => Date;
  later?: (run: () => void, milliseconds: number) => unknown;
}

const backoffMilliseconds = [500, 1_000, 2_000, 5_000, 10_000];
const closed = 2;

export class LiveStream {
  readonly #options: Required<LiveOptions>;
  #source: EventSource | null = null;
  #cursor: string | null;
  #lastTrue: Date | null = null;
  #failures = 0;
  #stopped = false;
  #generation = 0;

  constructor(options: LiveOptions) {
    this.#options = {
      onRefused: () => {}, connect: (address) => new EventSource(address), now: () => new Date(),
      later: (run, milliseconds) => setTimeout(run, milliseconds), ...options,
    };
    this.#cursor = options.cursor;
  }

  start(): void {
    this.#stopped = false;
    this.#options.onCurrency({ state: "connecting" });
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#generation += 1;
    this.#source?.close();
    this.#source = null;
  }

  #connect(): void {
    this.#generation += 1;
    const generation = this.#generation;
    const source = this.#options.connect(this.#options.address(this.#cursor));
    this.#source = source;
    const current = () => generation === this.#generation;
    source.addEventListener("open", () => current() && this.#opened());
    source.addEventListener("error", () => current() && this.#failed(source));
    const on = (name: string, take: (document: never) => void) =>
      source.addEventListener(name, (event) => current() && this.#take(event as MessageEvent<string>, take));
    on("card", (card) => this.#options.onMessage({ kind: "card", card }));
    on("task", (task) => this.#options.onMessage({ kind: "task", task }));
    on("row", (row) => this.#options.onMessage({ kind: "row", row }));
    on("inbox", ({ waiting }: { waiting: number }) => this.#options.onMessage({ kind: "inbox", waiting }));
    on("ping", () => {});
    on("resync", () => this.#options.onStale());
  }

  #opened(): void {
    const gaveUp = this.#failures > 0;
    this.#failures = 0;
    this.#lastTrue = this.#options.now();
    this.#options.onCurrency({ state: "live" });
    if (gaveUp) this.#options.onStale();
  }

  #take(event: MessageEvent<string>, take: (document: never) => void): void {
    if (event.lastEventId) this.#cursor = event.lastEventId;
    this.#lastTrue = this.#options.now();
    let document: unknown;
    try {
      document = event.data ? JSON.parse(event.data) : {};
    } catch {
      this.#options.onStale();
      return;
    }
    take(document as never);
  }

  /** The browser reconnects by itself unless the server answered with an error; then this does, ever more patiently. */
  #failed(source: EventSource): void {
    this.#options.onCurrency(this.#lastTrue ? { state: "broken", since: this.#lastTrue } : { state: "connecting" });
    if (source.readyState !== closed || this.#stopped) return;
    this.#options.onRefused();
    const wait = backoffMilliseconds[Math.min(this.#failures, backoffMilliseconds.length - 1)]!;
    this.#failures += 1;
    const generation = this.#generation;
    this.#options.later(() => {
      if (!this.#stopped && generation === this.#generation) this.#connect();
    }, wait);
  }
}
