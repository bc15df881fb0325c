import assert from "node:assert/strict";
import test from "node:test";
import { exactTimeOfDay, moment, sameDay, spanInWords, spokenTime, withoutTokens } from "./clock.ts";

const at = new Date(2027, 0, 11, 12, 1, 36, 41);

test("a time of today is said as hours, minutes and seconds", () => {
  assert.equal(spokenTime(at, new Date(2027, 0, 11, 23, 59)), "12:01:36");
});

test("a time of another day names the day, and of another year the year", () => {
  assert.equal(spokenTime(at, new Date(2027, 0, 12)), "11 Jan 12:01:36");
  assert.equal(spokenTime(at, new Date(2028, 0, 11)), "11 Jan 2027 12:01:36");
});

test("the rail's times have milliseconds", () => {
  assert.equal(exactTimeOfDay(at), "12:01:36.041");
});

test("spans are said in plain words and are never negative", () => {
  const spans = [-5_000, 0, 38_900, 60_000, 125_000, 3_600_000, 7_440_000];
  assert.deepEqual(spans.map(spanInWords), ["0 s", "0 s", "38 s", "1 min 00 s", "2 min 05 s", "1 h 00 min", "2 h 04 min"]);
});

test("what is no time is no moment", () => {
  for (const text of ["", null, undefined, "<RFC3339>", "yesterday"]) assert.equal(moment(text), null);
  assert.ok(sameDay(moment("2027-01-11T12:00:00.123456Z")!, moment("2027-01-11T12:00:01Z")!));
});

test("copied text holds exact times and no tokens", () => {
  assert.equal(withoutTokens("asked ⟦2027-01-11T12:01:20.102Z⟧ by policy; 2027-01-11T12:01:20Z stays"), "asked 2027-01-11T12:01:20.102Z by policy; 2027-01-11T12:01:20Z stays");
});
