/** The console's requests to the server: a fresh snapshot, and what a person asks for. */
import type { ActionDetail, Answer } from "./events.ts";
import type { Card, Inbox, Problem, TaskCard, TaskRow } from "./model.ts";
import type { Page } from "./page-record.ts";

/** What the server puts into the page. */
export interface Boot {
  view: Page["view"];
  data: unknown;
  cursor: string | null;
  actor?: { id: string; name?: string; roles?: readonly string[] } | null;
  csrf?: string | null;
  base: string;
  waiting?: number;
}

/** Reads the page's first content from what the server sent with it. */
export function pageOf(view: Page["view"], sent: unknown): Page {
  switch (view) {
    case "tasks": return { view, tasks: Array.isArray(sent) ? (sent as TaskRow[]) : ((sent as { tasks?: TaskRow[] } | null)?.tasks ?? []) };
    case "task": return { view, task: sent as TaskCard };
    case "inbox": return { view, inbox: sent as Inbox, answered: [] };
    case "invocation": return { view, card: sent as Card };
  }
}

/** The address of the snapshot that a page can be drawn from anew. */
export function snapshotAddress(base: string, page: Page): string {
  switch (page.view) {
    case "tasks": return `${base}/api/tasks`;
    case "task": return `${base}/api/tasks/${encodeURIComponent(page.task.id)}?view=card`;
    case "inbox": return `${base}/api/approvals?view=card`;
    case "invocation": return `${base}/api/invocations/${encodeURIComponent(page.card.id)}?view=card`;
  }
}

/** The address of the stream, narrowed to one task where the page shows one. */
export function streamAddress(base: string, page: Page, cursor: string | null): string {
  const query = new URLSearchParams();
  if (cursor) query.set("cursor", cursor);
  const task = page.view === "task" ? page.task.id : page.view === "invocation" ? page.card.task : null;
  if (task) query.set("task", task);
  const text = query.toString();
  return `${base}/api/stream${text ? `?${text}` : ""}`;
}

/** The address of a request: a control of the task that is bound to one of its parts goes to that part. */
export function actionAddress(base: string, { id, subject, action, binding }: ActionDetail): string {
  const part = typeof binding.invocationId === "string" ? binding.invocationId : null;
  const place = part ?? (subject === "invocation" ? id : null);
  const where = place === null ? `tasks/${encodeURIComponent(id)}` : `invocations/${encodeURIComponent(place)}`;
  return `${base}/api/${where}/actions/${encodeURIComponent(action)}`;
}

/**
 * Sends a request and answers only what the server answered.
 *
 * A failure of the server or of the network leaves it open whether the request was recorded, and is said to.
 */
export async function ask(address: string, body: string, requestId: string, csrf: string): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(address, {
      method: "POST", body, credentials: "same-origin",
      headers: { "content-type": "application/json", accept: "application/json, application/problem+json", "x-toolwitness-csrf": csrf },
    });
  } catch {
    return { requestId, outcome: "unanswered" };
  }
  if (response.ok) {
    // Read to the end, so that the connection is free again; the card, and not this answer, says what came of it.
    void response.arrayBuffer().catch(() => undefined);
    return { requestId, outcome: "recorded" };
  }
  const problem = await problemOf(response);
  return { requestId, outcome: response.status >= 500 ? "unanswered" : "refused", ...(problem ? { problem } : {}) };
}

/** Who the server takes this page for: the token for changes, or that nobody is signed in any more, or no answer. */
export type Session = { state: "signed in"; csrf: string } | { state: "signed out" } | { state: "unknown" };

/** Asks who is signed in; a server that was started again gives another token, or knows nobody. */
export async function readSession(base: string): Promise<Session> {
  try {
    const response = await fetch(`${base}/api/session`, { headers: { accept: "application/json" }, credentials: "same-origin" });
    if (response.status === 401) return { state: "signed out" };
    const session: unknown = response.ok ? await response.json() : null;
    const csrf = typeof session === "object" && session !== null && "csrf" in session ? session.csrf : null;
    return typeof csrf === "string" ? { state: "signed in", csrf } : { state: "unknown" };
  } catch {
    return { state: "unknown" };
  }
}

async function problemOf(response: Response): Promise<Problem | null> {
  try {
    const read: unknown = await response.json();
    return typeof read === "object" && read !== null && ("title" in read || "detail" in read) ? (read as Problem) : null;
  } catch {
    return null;
  }
}
