/**
 * The card document as the server sends it: what a person may read and press, already decided.
 *
 * The elements draw this and decide nothing. Fields that are not named here are left alone.
 */

/** How a state is coloured; the colour always comes with a glyph and a word. */
export type Tone = "live" | "ok" | "bad" | "wait" | "off";

/** References of the recorded events on which a claim rests. */
export type EvidenceRefs = readonly string[];

/** One part of the line under the title; `since` lets a running card show a clock. */
export interface Meta { text: string; evidence?: EvidenceRefs; since?: string | null }

/** Something known to be wrong or noteworthy: a bold fact and its consequence in plain words. */
export interface Finding { code: string; severity: "violation" | "warning" | "note"; headline: string; detail: string; evidence?: EvidenceRefs }

/** Something that somebody asked for and that is not yet so; `text` begins with `lead`, which is set bold. */
export interface Request { kind: string; text: string; lead?: string; at?: string | null; by?: string | null; evidence?: EvidenceRefs }

/** One line of what is decided or was done; a prominent one is set large. */
export interface Fact { term: string; text: string; prominent?: boolean; evidence?: EvidenceRefs }

/** A sentence that points at another invocation. */
export interface Pointer { text: string; target?: string | null }

/** Until when, and by whose clock. */
export interface Deadline { text: string; at?: string | null; which?: string }

/** One thing to fill in before a control is pressed. */
export interface Field {
  name: string; label: string; kind: "text" | "json" | "choice" | "multiline";
  required?: boolean; value?: string | null; options?: readonly (string | { value: string; label: string })[];
}

/** A button that policy allows, or one that it does not allow now and why; of one that is on, `why` is what to know before it is pressed. */
export interface Control {
  action: string; label: string; style?: "go" | "plain"; enabled: boolean; why?: string | null;
  fields?: readonly Field[];
  /** What the decision is bound to (approvalId, inputsDigest, …); sent back as it came. */
  binding?: Readonly<Record<string, unknown>> | null;
}

/** Something to read one step away: inputs, a result, an error. `text` is the exact value where both are given. */
export interface Disclosure {
  id: string; title: string; kind: "rows" | "json" | "text" | "list";
  rows?: readonly { term: string; text: string }[] | null; value?: unknown; text?: string | null;
  complete?: boolean; copy?: string | null;
  /** What is missing from the value here, and where it is. */
  note?: string | null;
}

/** One line of the evidence rail. */
export interface TimelineRow {
  mark: "fact" | "gap" | "request" | "violation" | "refused" | "held";
  at?: string | null; text: string; owner?: string | null; ref?: string | null;
  /** Every reference of a line that draws several events together. */
  refs?: EvidenceRefs | null;
  detail?: readonly { term: string; text: string }[];
}

/** One invocation (one attempt) as a person sees it. */
export interface Card {
  id: string; task?: string | null; version: number; title: string; tool: string; attempt: number;
  state: string; label: string; tone: Tone; glyph: string;
  meta?: readonly Meta[]; findings?: readonly Finding[]; requests?: readonly Request[]; facts?: readonly Fact[];
  lineage?: readonly Pointer[]; blocked?: readonly Pointer[]; deadline?: Deadline | null;
  controls?: readonly Control[]; disclosures?: readonly Disclosure[];
  timeline?: { title: string; rows: readonly TimelineRow[] } | null;
  output?: { text: string; chunks: number; order?: number; complete?: boolean; note?: string | null } | null;
  progress?: { text: string; percent?: number | null; order?: number } | null;
  depth?: number;
}

/** A task: what its parts add up to, and the parts in the order in which they are shown. */
export interface TaskCard {
  id: string; title: string; subtitle?: string | null; state: string; label: string; tone: Tone; glyph: string;
  summary?: string | null; findings?: readonly Finding[]; cards: readonly Card[]; controls?: readonly Control[]; version: number;
}

/** A task in one line. */
export interface TaskRow {
  id: string; title: string; state: string; label: string; tone: Tone; glyph: string;
  summary?: string | null; at?: string | null; waiting?: number;
}

/** What waits for a decision. */
export interface Inbox { title: string; items: readonly Card[]; empty?: string }

/** An RFC 9457 problem document, as far as it is shown. */
export interface Problem { title?: string; detail?: string; code?: string; remedy?: string }

interface Versioned { id: string; version: number }

const texts = new WeakMap<object, string>();

function textOf(document: object): string {
  let text = texts.get(document);
  if (text === undefined) texts.set(document, (text = JSON.stringify(document)));
  return text;
}

/** Tells whether two documents would be drawn the same, so that an unchanged card is never drawn again. */
export function same(one: Versioned | undefined | null, other: Versioned | undefined | null): boolean {
  if (one === other) return true;
  if (!one || !other || one.id !== other.id || one.version !== other.version) return false;
  return textOf(one) === textOf(other);
}

/** Takes the newer of two cards of one invocation; an older one that arrives late changes nothing. */
export function newer(held: Card, arrived: Card): Card {
  if (arrived.version < held.version) return held;
  const placed = arrived.depth === undefined && held.depth !== undefined ? { ...arrived, depth: held.depth } : arrived;
  return same(held, placed) ? held : placed;
}
