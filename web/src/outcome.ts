/**
 * The outcome reducer: what a tool's result may do to the state on the screen.
 *
 * The twin of `core/outcome.py` and `core/result_gate.py`; both pass `spec/outcomes.json` and `spec/gate.json`.
 * What does not commit gives back the same state object (`===`), and nothing here ever throws.
 */

export type Kind = "ok" | "cancelled" | "error" | "unknown_status" | "invalid_tool_result";
export type GateKind = Kind | "not_owner" | "duplicate" | "conflicting_result" | "stale";
export type Payload = Readonly<Record<string, unknown>>;
export type MergeFunction = (state: unknown, payload: Payload) => unknown;
export type Merge = "shallow" | "merge_patch" | "replace" | MergeFunction;

export interface Outcome<K extends string = Kind> {
  /** Whether the state advances. */
  readonly commit: boolean;
  /** The next state where it does; otherwise the very object that was passed in. */
  readonly state: unknown;
  /** `kind` and what explains it. */
  readonly meta: { readonly kind: K } & Readonly<Record<string, unknown>>;
}

/** Decides what `toolResult` does to `prevState`, and never throws. */
export function applyToolResult(prevState: unknown, toolResult: unknown, merge: Merge = "shallow"): Outcome {
  try {
    return decide(prevState, toolResult, merge);
  } catch {
    return preserve(prevState, { kind: "invalid_tool_result", message: "Tool result could not be read" });
  }
}

/** Applies an RFC 7396 merge patch and returns the result; neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  // A Map, and not assignment: a key named `__proto__` must stay an ordinary key.
  const result = new Map<string, unknown>(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) result.delete(key);
    else result.set(key, mergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

/** Proof that a request was begun at this gate; compared by identity, so it cannot be made up. */
export interface RequestToken {
  readonly requestId: string;
  readonly baseVersion: number;
}

interface Answered {
  readonly token: RequestToken;
  readonly meta: Outcome<GateKind>["meta"];
  readonly content: string;
}

/** Holds one state, and lets a result change it only when it is owned, first and not stale. */
export class ToolResultGate {
  #state: unknown;
  #version: number;
  readonly #merge: Merge;
  readonly #keep: number;
  readonly #open = new Map<string, RequestToken>();
  readonly #answered = new Map<string, Answered>();

  constructor(state: unknown, options: { version?: number; merge?: Merge; keep?: number } = {}) {
    this.#state = state;
    this.#version = options.version ?? 0;
    this.#merge = options.merge ?? "shallow";
    this.#keep = options.keep ?? 1024;
  }

  get state(): unknown {
    return this.#state;
  }

  get version(): number {
    return this.#version;
  }

  /** Takes ownership of `requestId`, whose result will rest on `baseVersion` (the current one if not given). */
  begin(requestId: string, baseVersion: number = this.#version): RequestToken {
    const known = this.#token(requestId);
    if (known === undefined) {
      const token = Object.freeze({ requestId, baseVersion });
      this.#open.set(requestId, token);
      return token;
    }
    if (known.baseVersion !== baseVersion) {
      throw new RangeError(
        `Request '${requestId}' was begun on version ${known.baseVersion}, not ${baseVersion}. Give the new request an id of its own.`,
      );
    }
    return known;
  }

  /** Gives up ownership: whatever still arrives for `requestId` is `not_owner`. */
  release(requestId: string): void {
    this.#open.delete(requestId);
    this.#answered.delete(requestId);
  }

  /** Lets `toolResult` answer `requestId` if it may, and never throws. */
  apply(
    toolResult: unknown,
    request: { requestId: string; baseVersion?: number; token?: RequestToken },
  ): Outcome<GateKind> {
    const { requestId, baseVersion, token } = request;
    const owned = this.#token(requestId);
    if (owned === undefined || (token !== undefined && token !== owned)) {
      return preserve(this.#state, { kind: "not_owner", request_id: requestId });
    }
    const content = contentOf(toolResult);
    const first = this.#answered.get(requestId);
    if (first !== undefined) {
      const kind = content === first.content ? "duplicate" : "conflicting_result";
      return preserve(this.#state, { kind, request_id: requestId, answer: first.meta });
    }
    const outcome = this.#judge(toolResult, owned, baseVersion ?? owned.baseVersion);
    this.#close(owned, outcome.meta, content);
    return outcome;
  }

  #token(requestId: string): RequestToken | undefined {
    return this.#answered.get(requestId)?.token ?? this.#open.get(requestId);
  }

  #judge(toolResult: unknown, token: RequestToken, claimed: number): Outcome<GateKind> {
    const fresh = claimed === token.baseVersion && claimed === this.#version;
    if (!fresh && applyToolResult({}, toolResult).commit) {
      const { requestId } = token;
      return preserve(this.#state, {
        kind: "stale",
        request_id: requestId,
        base_version: claimed,
        version: this.#version,
      });
    }
    const outcome = applyToolResult(this.#state, toolResult, this.#merge);
    if (outcome.commit) {
      this.#state = outcome.state;
      this.#version += 1;
    }
    return outcome;
  }

  #close(token: RequestToken, meta: Outcome<GateKind>["meta"], content: string): void {
    this.#open.delete(token.requestId);
    this.#answered.set(token.requestId, { token, meta, content });
    if (this.#answered.size > this.#keep) {
      for (const oldest of this.#answered.keys()) {
        this.#answered.delete(oldest);
        break;
      }
    }
  }
}

function decide(prevState: unknown, toolResult: unknown, merge: Merge): Outcome {
  if (!isObject(toolResult)) {
    return preserve(prevState, { kind: "invalid_tool_result", message: "Tool returned non-object" });
  }
  switch (toolResult.status) {
    case "ok":
      return applyPayload(prevState, toolResult.payload, merge);
    case "cancelled":
      return preserve(prevState, { kind: "cancelled", reason: toolResult.reason ?? null });
    case "error":
      return preserve(prevState, { kind: "error", error: toolResult.error ?? "unknown" });
    default:
      return preserve(prevState, { kind: "unknown_status", status: toolResult.status ?? null });
  }
}

function applyPayload(prevState: unknown, given: unknown, merge: Merge): Outcome {
  const payload = given ?? undefined;
  if (payload !== undefined && !isObject(payload)) {
    return preserve(prevState, {
      kind: "invalid_tool_result",
      message: "Tool returned a payload that is not an object",
    });
  }
  try {
    return { commit: true, state: merged(prevState, payload, merge), meta: { kind: "ok" } };
  } catch (error) {
    return preserve(prevState, { kind: "error", error: mergeFailure(error) });
  }
}

function merged(prevState: unknown, payload: Payload | undefined, merge: Merge): unknown {
  if (typeof merge === "function") {
    const state = merge(prevState, payload ?? {});
    if (isObject(state) && typeof state.then === "function") {
      throw new TypeError("The merge function is asynchronous; it must return the next state itself.");
    }
    return state;
  }
  switch (merge) {
    case "merge_patch":
      return mergePatch(prevState, payload ?? {});
    case "replace":
      // An absent payload replaces nothing: an empty screen would be a claim that the tool never made.
      return payload === undefined ? shallow(prevState, {}) : { ...payload };
    case "shallow":
      return shallow(prevState, payload ?? {});
    default:
      throw new RangeError(`There is no merge strategy '${String(merge)}'.`);
  }
}

function shallow(prevState: unknown, payload: Payload): unknown {
  if (prevState !== null && prevState !== undefined && !isObject(prevState)) {
    throw new TypeError("A shallow merge needs a state that is an object.");
  }
  return { ...prevState, ...payload };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function preserve<K extends string>(state: unknown, meta: Outcome<K>["meta"]): Outcome<K> {
  return { commit: false, state, meta };
}

function mergeFailure(error: unknown): { code: string; type: string; message: string } {
  try {
    const known = error instanceof Error;
    return { code: "merge_failed", type: known ? error.name : typeof error, message: known ? error.message : String(error) };
  } catch {
    return { code: "merge_failed", type: typeof error, message: "" };
  }
}

const nameless = new WeakMap<object, string>();
let namelessCount = 0;

/** Gives a text that is equal for equal results; what has no JSON is told apart by identity. */
function contentOf(value: unknown): string {
  try {
    return JSON.stringify(value, sortedKeys) ?? `${typeof value}:${String(value)}`;
  } catch {
    if (typeof value !== "object" || value === null) return `${typeof value}:${String(value)}`;
    const name = nameless.get(value) ?? `object:${(namelessCount += 1)}`;
    nameless.set(value, name);
    return name;
  }
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
