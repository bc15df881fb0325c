import assert from "node:assert/strict";
import test from "node:test";
import type { Card, TaskCard, TaskRow } from "./model.ts";
import { apply, join, waitingOn, type Page } from "./page-record.ts";

const card = (id: string, version: number, more: Partial<Card> = {}): Card =>
  ({ id, task: "t1", version, title: id, tool: "x", attempt: 1, state: "running", label: "Running", tone: "live", glyph: "running", ...more });
const task = (version: number, cards: readonly Card[]): TaskCard =>
  ({ id: "t1", title: "Trip", state: "running", label: "Running", tone: "live", glyph: "running", cards, version });
const row = (id: string, title: string): TaskRow => ({ id, title, state: "running", label: "Running", tone: "live", glyph: "running" });

test("a newer card takes its place and keeps its depth; the others stay the same objects", () => {
  const page: Page = { view: "task", task: task(1, [card("a", 1, { depth: 0 }), card("b", 1, { depth: 1 })]) };
  const { page: after, snapshot } = apply(page, { kind: "card", card: card("b", 2, { state: "succeeded" }) });
  assert.equal(snapshot, "not needed");
  assert.ok(after.view === "task");
  assert.equal(after.task.cards[0], page.task.cards[0]);
  assert.deepEqual([after.task.cards[1]?.state, after.task.cards[1]?.depth], ["succeeded", 1]);
});

test("an older card that comes late changes nothing, and neither does the same one again", () => {
  const page: Page = { view: "task", task: task(1, [card("a", 5)]) };
  assert.equal(apply(page, { kind: "card", card: card("a", 4, { state: "queued" }) }).page, page);
  assert.equal(apply(page, { kind: "card", card: card("a", 5) }).page, page);
});

test("a card that the task has not shown yet asks for a snapshot, another task's card does not", () => {
  const page: Page = { view: "task", task: task(1, [card("a", 1)]) };
  assert.equal(apply(page, { kind: "card", card: card("new", 1) }).snapshot, "needed");
  assert.equal(apply(page, { kind: "card", card: card("new", 1, { task: "t2" }) }).snapshot, "not needed");
});

test("a task's header moves without its cards, and never backwards", () => {
  const page: Page = { view: "task", task: task(3, [card("a", 1)]) };
  const { cards: _, ...header } = task(4, []);
  const { page: after } = apply(page, { kind: "task", task: { ...header, label: "Succeeded" } });
  assert.ok(after.view === "task");
  assert.deepEqual([after.task.label, after.task.cards], ["Succeeded", page.task.cards]);
  assert.equal(apply(page, { kind: "task", task: { ...header, version: 2 } }).page, page);
});

test("a new task's row comes first, a known one keeps its place", () => {
  const page: Page = { view: "tasks", tasks: [row("a", "A"), row("b", "B")] };
  const after = apply(apply(page, { kind: "row", row: row("c", "C") }).page, { kind: "row", row: row("b", "B2") }).page;
  assert.ok(after.view === "tasks");
  assert.deepEqual(after.tasks.map(({ title }) => title), ["C", "A", "B2"]);
});

test("joining a snapshot keeps whichever card is newer and takes the snapshot's order", () => {
  const page: Page = { view: "task", task: task(2, [card("a", 9, { depth: 0 }), card("b", 1, { depth: 0 })]) };
  const after = join(page, { view: "task", task: task(3, [card("new", 1, { depth: 0 }), card("a", 8, { depth: 1 }), card("b", 2, { depth: 0 })]) });
  assert.ok(after.view === "task");
  assert.deepEqual(after.task.cards.map(({ id, version, depth }) => [id, version, depth]), [["new", 1, 0], ["a", 9, 1], ["b", 2, 0]]);
});

test("what leaves the inbox while it is open is kept as answered and still moves", () => {
  const page: Page = { view: "inbox", inbox: { title: "Inbox", items: [card("a", 1), card("b", 1)] }, answered: [] };
  const moved = apply(page, { kind: "card", card: card("a", 2, { state: "queued" }) }).page;
  assert.equal(apply(moved, { kind: "inbox", waiting: 1 }).snapshot, "needed");
  const after = join(moved, { view: "inbox", inbox: { title: "Inbox", items: [card("b", 1)] }, answered: [] });
  assert.ok(after.view === "inbox");
  assert.deepEqual([after.inbox.items.map(({ id }) => id), after.answered.map(({ id, state }) => [id, state])], [["b"], [["a", "queued"]]]);
  const later = apply(after, { kind: "card", card: card("a", 3, { state: "running" }) }).page;
  assert.ok(later.view === "inbox");
  assert.equal(later.answered[0]?.state, "running");
});

test("what waits is counted where the page tells it, and unknown elsewhere", () => {
  assert.equal(waitingOn({ view: "tasks", tasks: [{ ...row("a", "A"), waiting: 2 }, row("b", "B"), { ...row("c", "C"), waiting: 1 }] }), 3);
  assert.equal(waitingOn({ view: "inbox", inbox: { title: "Inbox", items: [card("a", 1)] }, answered: [] }), 1);
  assert.equal(waitingOn({ view: "invocation", card: card("a", 1) }), null);
});
