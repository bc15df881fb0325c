/**
 * What a console page shows, and how a message of the stream changes it. Pure: no network, no clock, no elements.
 *
 * Every message carries a whole card, header or row with its version, so that messages may repeat or overlap with a
 * snapshot: an older version never replaces a newer one.
 */
import { newer, same, type Card, type Inbox, type TaskCard, type TaskRow } from "./model.ts";

export type Page =
  | { view: "tasks"; tasks: readonly TaskRow[] }
  | { view: "task"; task: TaskCard }
  | { view: "inbox"; inbox: Inbox; answered: readonly Card[] }
  | { view: "invocation"; card: Card };

export type Message =
  | { kind: "card"; card: Card }
  | { kind: "task"; task: Omit<TaskCard, "cards"> }
  | { kind: "row"; row: TaskRow }
  | { kind: "inbox"; waiting: number };

/** What a message leads to: the page as it is now, and whether only a fresh snapshot can show the rest. */
export interface Step { page: Page; snapshot: "needed" | "not needed" }

const keep = (page: Page): Step => ({ page, snapshot: "not needed" });
const stale = (page: Page): Step => ({ page, snapshot: "needed" });

const replace = <Item extends { id: string }>(items: readonly Item[], item: Item, choose: (held: Item) => Item): readonly Item[] => {
  const index = items.findIndex(({ id }) => id === item.id);
  const held = items[index];
  if (!held) return items;
  const chosen = choose(held);
  return chosen === held ? items : items.with(index, chosen);
};

/** Applies one message of the stream to the page. */
export function apply(page: Page, message: Message): Step {
  switch (page.view) {
    case "tasks": return keep(message.kind === "row" ? { ...page, tasks: withRow(page.tasks, message.row) } : page);
    case "task": return applyToTask(page, message);
    case "inbox": return applyToInbox(page, message);
    case "invocation": return keep(message.kind === "card" && message.card.id === page.card.id ? { ...page, card: newer(page.card, message.card) } : page);
  }
}

function withRow(rows: readonly TaskRow[], row: TaskRow): readonly TaskRow[] {
  return rows.some(({ id }) => id === row.id) ? replace(rows, row, () => row) : [row, ...rows];
}

function applyToTask(page: Page & { view: "task" }, message: Message): Step {
  const { task } = page;
  if (message.kind === "task" && message.task.id === task.id && message.task.version >= task.version) {
    return keep({ ...page, task: { ...task, ...message.task, cards: task.cards } });
  }
  if (message.kind !== "card" || message.card.task !== task.id) return keep(page);
  const { card } = message;
  if (!task.cards.some(({ id }) => id === card.id)) return stale(page);
  const cards = replace(task.cards, card, (held) => newer(held, card));
  return keep(cards === task.cards ? page : { ...page, task: { ...task, cards } });
}

function applyToInbox(page: Page & { view: "inbox" }, message: Message): Step {
  if (message.kind === "inbox") return stale(page);
  if (message.kind !== "card") return keep(page);
  const { card } = message;
  const items = replace(page.inbox.items, card, (held) => newer(held, card));
  const answered = replace(page.answered, card, (held) => newer(held, card));
  return keep({ ...page, inbox: items === page.inbox.items ? page.inbox : { ...page.inbox, items }, answered });
}

/** Joins a fresh snapshot with what the stream already brought; the newer of two always stays. */
export function join(page: Page, snapshot: Page): Page {
  if (page.view === "task" && snapshot.view === "task") {
    const held = new Map(page.task.cards.map((card) => [card.id, card]));
    const cards = snapshot.task.cards.map((card) => chooseNewer(held.get(card.id), card));
    const header = snapshot.task.version >= page.task.version ? snapshot.task : page.task;
    return { view: "task", task: { ...header, cards } };
  }
  if (page.view === "inbox" && snapshot.view === "inbox") {
    const held = new Map([...page.answered, ...page.inbox.items].map((card) => [card.id, card]));
    const items = snapshot.inbox.items.map((card) => chooseNewer(held.get(card.id), card));
    for (const { id } of items) held.delete(id);
    return { view: "inbox", inbox: { ...snapshot.inbox, items }, answered: [...held.values()] };
  }
  if (page.view === "invocation" && snapshot.view === "invocation") return { view: "invocation", card: chooseNewer(page.card, snapshot.card) };
  return snapshot;
}

function chooseNewer(held: Card | undefined, fresh: Card): Card {
  if (!held) return fresh;
  const placed = fresh.depth !== undefined && held.version > fresh.version ? { ...held, depth: fresh.depth } : newer(held, fresh);
  return same(held, placed) ? held : placed;
}

/** How many calls wait for a person, as far as the page itself tells; null where it does not. */
export function waitingOn(page: Page): number | null {
  switch (page.view) {
    case "tasks": return page.tasks.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0);
    case "inbox": return page.inbox.items.length;
    default: return null;
  }
}
