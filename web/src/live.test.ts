import assert from "node:assert/strict";
import test from "node:test";
import { LiveStream, type Currency } from "./live.ts";
import type { Message } from "./page-record.ts";

/** An EventSource whose server is the test. */
class Source extends EventTarget {
  readyState = 0;
  readonly address: string;
  constructor(address: string) { super(); this.address = address; }
  close(): void { this.readyState = 2; }
  open(): void { this.readyState = 1; this.dispatchEvent(new Event("open")); }
  fail(readyState: 0 | 2): void { this.readyState = readyState; this.dispatchEvent(new Event("error")); }
  say(type: string, body: unknown, lastEventId = ""): void {
    this.dispatchEvent(Object.assign(new Event(type), { data: typeof body === "string" ? body : JSON.stringify(body), lastEventId }));
  }
}

function stage() {
  const sources: Source[] = [];
  const messages: Message[] = [];
  const currencies: Currency[] = [];
  const waits: { run: () => void; milliseconds: number }[] = [];
  const clock = { now: new Date(2027, 0, 11, 12, 0, 0) };
  let stale = 0;
  let refused = 0;
  const stream = new LiveStream({
    address: (cursor) => `/api/stream?cursor=${cursor}`, cursor: "c0",
    onMessage: (message) => messages.push(message), onCurrency: (currency) => currencies.push(currency), onStale: () => { stale += 1; },
    onRefused: () => { refused += 1; },
    connect: (address) => { const source = new Source(address); sources.push(source); return source as unknown as EventSource; },
    now: () => clock.now, later: (run, milliseconds) => waits.push({ run, milliseconds }),
  });
  return { stream, sources, messages, currencies, waits, clock, stale: () => stale, refused: () => refused };
}

test("it starts from the page's cursor and says live only when the connection is open", () => {
  const { stream, sources, currencies } = stage();
  stream.start();
  assert.equal(sources[0]!.address, "/api/stream?cursor=c0");
  assert.deepEqual(currencies.map(({ state }) => state), ["connecting"]);
  sources[0]!.open();
  assert.equal(currencies.at(-1)?.state, "live");
});

test("each kind of message is passed on", () => {
  const { stream, sources, messages } = stage();
  stream.start();
  sources[0]!.open();
  sources[0]!.say("card", { id: "a" });
  sources[0]!.say("inbox", { waiting: 2 });
  assert.deepEqual(messages, [{ kind: "card", card: { id: "a" } }, { kind: "inbox", waiting: 2 }]);
});

test("while the browser reconnects by itself, the page says when it was last true", () => {
  const { stream, sources, currencies, clock, waits } = stage();
  stream.start();
  sources[0]!.open();
  clock.now = new Date(2027, 0, 11, 12, 1, 36);
  sources[0]!.say("card", { id: "a" }, "c7");
  clock.now = new Date(2027, 0, 11, 12, 5, 0);
  sources[0]!.fail(0);
  assert.deepEqual(currencies.at(-1), { state: "broken", since: new Date(2027, 0, 11, 12, 1, 36) });
  assert.equal(waits.length, 0);
  sources[0]!.open();
  assert.equal(currencies.at(-1)?.state, "live");
});

test("an answer that is an error is told, and a connection that only broke is not", () => {
  const { stream, sources, waits, refused } = stage();
  stream.start();
  sources[0]!.fail(0);
  assert.equal(refused(), 0);
  sources[0]!.fail(2);
  waits[0]!.run();
  sources[1]!.fail(2);
  assert.equal(refused(), 2);
});

test("when the browser gives up, it starts again from the last id, ever more patiently, and reads a snapshot", () => {
  const { stream, sources, waits, stale } = stage();
  stream.start();
  sources[0]!.open();
  sources[0]!.say("card", { id: "a" }, "c7");
  sources[0]!.fail(2);
  waits[0]!.run();
  assert.equal(sources[1]!.address, "/api/stream?cursor=c7");
  sources[1]!.fail(2);
  assert.ok(waits[1]!.milliseconds > waits[0]!.milliseconds);
  waits[1]!.run();
  assert.equal(stale(), 0);
  sources[2]!.open();
  assert.equal(stale(), 1);
});

test("a server that cannot resume makes it read a snapshot while the stream runs on", () => {
  const { stream, sources, stale, messages } = stage();
  stream.start();
  sources[0]!.open();
  sources[0]!.say("resync", "", "c90");
  sources[0]!.say("card", { id: "a" }, "c91");
  assert.deepEqual([stale(), messages.length], [1, 1]);
});

test("a message that cannot be read is not guessed at: a snapshot is read", () => {
  const { stream, sources, stale, messages } = stage();
  stream.start();
  sources[0]!.open();
  sources[0]!.say("card", "{broken");
  assert.deepEqual([stale(), messages.length], [1, 0]);
});

test("nothing arrives after it is stopped", () => {
  const { stream, sources, messages, waits } = stage();
  stream.start();
  sources[0]!.open();
  stream.stop();
  sources[0]!.say("card", { id: "a" });
  sources[0]!.fail(2);
  assert.deepEqual([messages.length, waits.length], [0, 0]);
});
