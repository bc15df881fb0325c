import assert from "node:assert/strict";
import test from "node:test";
import type { TimelineRow } from "../model.ts";
import { footnote, lineNumbers } from "./timeline.ts";

const rows: TimelineRow[] = ["ev_1", null, "ev_2", "ev_3", "ev_4", "ev_9"].map((ref) => ({ mark: ref ? "fact" : "gap", text: "x", ref }));

test("a claim cites the lines on which it rests, gaps counted", () => {
  assert.deepEqual(lineNumbers(rows, ["ev_4", "ev_1", "ev_unknown"]), [1, 5]);
  assert.deepEqual(lineNumbers(rows, undefined), []);
});

test("line numbers are written as a footnote", () => {
  assert.deepEqual([[1], [1, 2], [1, 3], [3, 4, 5], [1, 3, 4, 5, 9]].map(footnote), ["1", "1, 2", "1, 3", "3–5", "1, 3–5, 9"]);
});
