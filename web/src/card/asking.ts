/** Keeps what a person is asking for at one card: the open form, what was typed, what waits for an answer, what was refused. */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Control, Field, Problem } from "../model.ts";
import { ToolActionEvent, type Answer } from "../events.ts";
import { actionBody, randomId, whyNotJson, type Typed } from "../exact.ts";
import { words } from "../words.ts";

/** A request that was sent and has no answer, or whose answer never came. */
interface Asked { requestId: string; label: string; lost: boolean }

/** A refusal as it is shown in place. */
export interface Refusal { label: string; problem: Problem }

/** Identifies a control over re-renders; a new approval is a new control even where the word is the same. */
export const controlKey = (control: Control): string => `${control.action} ${JSON.stringify(control.binding ?? null)}`;

const textOf = (binding: Readonly<Record<string, unknown>>, name: string): string | null => {
  const value = binding[name];
  return typeof value === "string" ? value : null;
};

/** The part of a binding that a decision must repeat; the rest only says where it goes. */
const bound = (binding: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(["approvalId", "inputsDigest"].flatMap((name) => { const text = textOf(binding, name); return text ? [[name, text]] : []; }));

export class Asking implements ReactiveController {
  /** The key of the control whose form is open. */
  open: string | null = null;
  refusal: Refusal | null = null;
  readonly #host: ReactiveControllerHost & HTMLElement;
  readonly #subject: () => { id: string; subject: "invocation" | "task" };
  readonly #typed = new Map<string, string>();
  readonly #faults = new Map<string, string>();
  readonly #asked = new Map<string, Asked>();

  constructor(host: ReactiveControllerHost & HTMLElement, subject: () => { id: string; subject: "invocation" | "task" }) {
    this.#host = host;
    this.#subject = subject;
    host.addController(this);
  }

  hostConnected(): void {}

  /** Tells whether a control was pressed and its answer has not come. */
  isAsked(control: Control): boolean {
    const asked = this.#asked.get(controlKey(control));
    return asked !== undefined && !asked.lost;
  }

  /** What a field holds: what was typed, else what the card proposes. */
  textIn(control: Control, field: Field): string {
    return this.#typed.get(this.#slot(control, field)) ?? field.value ?? "";
  }

  /** What is wrong with a field, said after the form was sent. */
  faultIn(control: Control, field: Field): string | null {
    return this.#faults.get(this.#slot(control, field)) ?? null;
  }

  type(control: Control, field: Field, text: string): void {
    this.#typed.set(this.#slot(control, field), text);
    if (this.#faults.delete(this.#slot(control, field))) this.#host.requestUpdate();
  }

  /** Answers a press: opens the form of a control that has fields, and otherwise asks at once. */
  press(control: Control): void {
    if (!control.enabled || this.isAsked(control)) return;
    if (control.fields?.length) {
      this.open = this.open === controlKey(control) ? null : controlKey(control);
      this.#host.requestUpdate();
    } else this.#ask(control, []);
  }

  /** Sends an open form, or marks the fields that stand in the way; answers the first such field. */
  send(control: Control): Field | null {
    if (!control.enabled || this.isAsked(control)) return null;
    const fields = control.fields ?? [];
    let first: Field | null = null;
    for (const field of fields) {
      const fault = this.#check(field, this.textIn(control, field));
      if (fault === null) this.#faults.delete(this.#slot(control, field));
      else {
        this.#faults.set(this.#slot(control, field), fault);
        first ??= field;
      }
    }
    if (first === null) this.#ask(control, fields.map((field) => ({ name: field.name, text: this.textIn(control, field), json: field.kind === "json" })));
    this.#host.requestUpdate();
    return first;
  }

  close(): void {
    this.open = null;
    this.#host.requestUpdate();
  }

  /** Takes the host's answer; only a recorded request lets go of what was typed. */
  answer({ requestId, outcome, problem }: Answer): void {
    const entry = [...this.#asked].find(([, asked]) => asked.requestId === requestId);
    if (!entry) return;
    const [key, asked] = entry;
    if (outcome === "unanswered") asked.lost = true;
    else this.#asked.delete(key);
    if (outcome === "recorded") {
      if (this.open === key) this.open = null;
      for (const slot of [...this.#typed.keys()]) if (slot.startsWith(`${key}\n`)) this.#typed.delete(slot);
    } else {
      const silent = { title: words.noAnswerTitle, detail: words.noAnswerDetail };
      this.refusal = { label: asked.label, problem: problem ?? (outcome === "unanswered" ? silent : { title: words.refused }) };
    }
    this.#host.requestUpdate();
  }

  dismissRefusal(): void {
    this.refusal = null;
    this.#host.requestUpdate();
  }

  /** Lets go of a form and of requests whose control the card no longer has. */
  keepOnly(controls: readonly Control[]): void {
    const keys = new Set(controls.map(controlKey));
    if (this.open !== null && !controls.some((control) => controlKey(control) === this.open && control.enabled)) this.open = null;
    for (const [key, asked] of this.#asked) if (asked.lost && !keys.has(key)) this.#asked.delete(key);
  }

  #ask(control: Control, typed: readonly Typed[]): void {
    const key = controlKey(control);
    const requestId = this.#asked.get(key)?.requestId ?? randomId();
    this.#asked.set(key, { requestId, label: control.label, lost: false });
    this.refusal = null;
    this.#host.requestUpdate();
    const binding = control.binding ?? {};
    // What is typed into these forms are the call's own inputs, and a tool may call one of them "reason".
    const isInput = control.action === "edit_inputs" || control.action === "supply_input";
    const isReason = ({ name }: Typed): boolean => name === "reason" && !isInput;
    const reason = typed.find(isReason)?.text.trim() || null;
    const answers = typed.filter((one) => !isReason(one) && one.text !== "");
    this.#host.dispatchEvent(new ToolActionEvent({
      ...this.#subject(), action: control.action, reason,
      fields: Object.fromEntries(answers.map(({ name, text }) => [name, text])),
      binding, approvalId: textOf(binding, "approvalId"), inputsDigest: textOf(binding, "inputsDigest"), requestId,
      body: actionBody({ binding: bound(binding), requestId, reason, typed: answers }),
    }));
  }

  #check(field: Field, text: string): string | null {
    if (text.trim() === "") return field.required ? words.needed(field.label) : null;
    const why = field.kind === "json" ? whyNotJson(text) : null;
    return why === null ? null : words.notJson(why);
  }

  #slot(control: Control, field: Field): string {
    return `${controlKey(control)}\n${field.name}`;
  }
}
