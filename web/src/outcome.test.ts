import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";

import { applyToolResult, type Merge, mergePatch, ToolResultGate } from "./outcome.js";

interface Vector {
  name: string;
  merge?: Merge;
  prevState: unknown;
  toolResult: unknown;
  expected: { commit: boolean; preserved?: boolean; state: unknown; meta: Record<string, unknown> };
}

interface Step {
  begin?: string;
  release?: string;
  apply?: string;
  baseVersion?: number;
  toolResult?: unknown;
  expected?: { commit: boolean; kind: string; state: unknown; version: number };
}

interface GateVector {
  name: string;
  state: unknown;
  version: number;
  merge?: Merge;
  steps: Step[];
}

// Tests may run bundled from another folder, so the language-neutral vectors are looked for upwards.
function spec<T>(file: string): T {
  let folder = process.cwd();
  while (!existsSync(join(folder, "spec", file)) && folder !== dirname(folder)) folder = dirname(folder);
  return JSON.parse(readFileSync(join(folder, "spec", file), "utf8")) as T;
}

for (const { name, merge, prevState, toolResult, expected } of spec<Vector[]>("outcomes.json")) {
  test(name, () => {
    const before = JSON.stringify([prevState, toolResult]);
    const actual = applyToolResult(prevState, toolResult, merge);
    assert.equal(actual.commit, expected.commit);
    assert.equal(JSON.stringify(sorted(actual.state)), JSON.stringify(sorted(expected.state)));
    assert.deepEqual(actual.meta, expected.meta);
    if (typeof prevState === "object" && prevState !== null) {
      assert.equal(actual.state === prevState, expected.preserved ?? false);
    }
    assert.equal(JSON.stringify([prevState, toolResult]), before);
  });
}

for (const vector of spec<GateVector[]>("gate.json")) {
  test(`gate: ${vector.name}`, () => {
    const { state, version, merge = "shallow" } = vector;
    const gate = new ToolResultGate(state, { version, merge });
    for (const step of vector.steps) {
      if (step.begin !== undefined) gate.begin(step.begin, step.baseVersion);
      else if (step.release !== undefined) gate.release(step.release);
      else run(gate, step);
    }
  });
}

function run(gate: ToolResultGate, step: Step): void {
  const before = gate.state;
  const request = { requestId: step.apply ?? "" };
  const { baseVersion } = step;
  const outcome = gate.apply(step.toolResult, baseVersion === undefined ? request : { ...request, baseVersion });
  const { commit, state, meta } = outcome;
  assert.deepEqual({ commit, kind: meta.kind, state, version: gate.version }, step.expected);
  assert.ok(gate.state === state);
  assert.ok(commit || state === before);
}

test("a missing result is not a tool result", () => {
  const prev = {};
  assert.ok(applyToolResult(prev, undefined).state === prev);
});

test("the caller's merge gets state and payload, and its failure preserves the state", () => {
  const prev = ["a"];
  const ok = { status: "ok", payload: { item: "b" } };
  const append = (state: unknown, payload: unknown) => [...(state as string[]), (payload as { item: string }).item];
  assert.deepEqual(applyToolResult(prev, ok, append).state, ["a", "b"]);
  const broken = applyToolResult(prev, ok, () => {
    throw new RangeError("bad shape");
  });
  assert.ok(broken.state === prev);
  assert.deepEqual(broken.meta.error, { code: "merge_failed", type: "RangeError", message: "bad shape" });
  const later = applyToolResult(prev, ok, async () => ({}));
  assert.ok(later.state === prev);
  assert.equal(later.meta.kind, "error");
});

test("a result whose fields throw preserves the state", () => {
  const prev = {};
  const hostile = {
    get status(): string {
      throw new Error("no");
    },
  };
  assert.deepEqual(applyToolResult(prev, hostile).meta, {
    kind: "invalid_tool_result",
    message: "Tool result could not be read",
  });
});

test("a merge patch never reaches a prototype", () => {
  const state = mergePatch({}, JSON.parse('{"__proto__": {"admin": true}}')) as { admin?: boolean };
  assert.equal(state.admin, undefined);
  assert.equal(({} as { admin?: boolean }).admin, undefined);
});

test("a token that was made up owns nothing, and the real one does", () => {
  const gate = new ToolResultGate({});
  const token = gate.begin("a");
  const result = { status: "ok", payload: { n: 1 } };
  assert.equal(gate.apply(result, { requestId: "a", token: { ...token } }).meta.kind, "not_owner");
  assert.equal(gate.apply(result, { requestId: "a", token }).commit, true);
  assert.throws(() => gate.begin("a", 9), /begun on version 0, not 9/);
});

test("a result without a JSON form is told apart by identity", () => {
  const gate = new ToolResultGate({});
  const loop: unknown[] = [];
  loop.push(loop);
  gate.begin("a");
  assert.equal(gate.apply(loop, { requestId: "a" }).meta.kind, "invalid_tool_result");
  assert.equal(gate.apply(loop, { requestId: "a" }).meta.kind, "duplicate");
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)]);
}
