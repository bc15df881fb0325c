/** The events that the elements send to their host; all bubble and cross shadow roots. */
import type { Problem } from "./model.ts";

/** What a person asks for by pressing a control. */
export interface ActionDetail {
  /** The invocation, or the task where the control belongs to the task. */
  id: string;
  subject: "invocation" | "task";
  action: string;
  reason: string | null;
  /** The answers as typed; JSON answers are JSON text. */
  fields: Readonly<Record<string, string>>;
  /** What the control is bound to, as the card gave it; a part's id (`invocationId`) where the task offers it. */
  binding: Readonly<Record<string, unknown>>;
  approvalId: string | null;
  inputsDigest: string | null;
  /** The same id comes again when a request that had no answer is pressed again. */
  requestId: string;
  /** The whole request body as exact JSON text. */
  body: string;
}

/** What the host says about a request: it is recorded, it was refused, or no answer came. */
export interface Answer {
  requestId: string;
  outcome: "recorded" | "refused" | "unanswered";
  problem?: Problem;
}

/** Sent when a control is pressed (after its form, where it has one). Nothing has happened yet. */
export class ToolActionEvent extends CustomEvent<ActionDetail> {
  constructor(detail: ActionDetail) {
    super("tool-action", { detail, bubbles: true, composed: true });
  }
}

/** Sent when a reference to another invocation is followed; prevent the default to stay on the page. */
export class ToolGotoEvent extends CustomEvent<{ id: string }> {
  constructor(id: string) {
    super("tool-goto", { detail: { id }, bubbles: true, composed: true, cancelable: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "tool-action": ToolActionEvent;
    "tool-goto": ToolGotoEvent;
  }
}
