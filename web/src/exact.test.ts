import assert from "node:assert/strict";
import test from "node:test";
import { actionBody, indentJson, randomId, whyNotJson } from "./exact.ts";

test("indenting changes only the white space between tokens", () => {
  const text = '{"n":9223372036854775807,"f":1.10,"e":1E+400,"s":"a, {b}: \\"c\\" \\u00e9","empty":{},"none":[],"list":[1,[2]]}';
  const expected = `{
  "n": 9223372036854775807,
  "f": 1.10,
  "e": 1E+400,
  "s": "a, {b}: \\"c\\" \\u00e9",
  "empty": {},
  "none": [],
  "list": [
    1,
    [
      2
    ]
  ]
}`;
  assert.equal(indentJson(text), expected);
});

test("a text that is not JSON, or that is set on lines already, stays as it is", () => {
  for (const text of ["{not json", "NaN", '{"a":1\n}', ""]) assert.equal(indentJson(text), text);
});

test("repeated names survive, because nothing is parsed into an object", () => {
  assert.equal(indentJson('{"a":1,"a":2}'), '{\n  "a": 1,\n  "a": 2\n}');
});

test("a body carries the binding, the request id, the reason, and typed JSON digit for digit", () => {
  const actual = actionBody({
    binding: { approvalId: "apr_1", inputsDigest: "sha256:ab" }, requestId: "r1", reason: 'so "it" is',
    typed: [{ name: "count", text: " 1234567890123456789 ", json: true }, { name: "note", text: 'a "b"', json: false }],
  });
  const expected = '{"approvalId":"apr_1","inputsDigest":"sha256:ab","requestId":"r1","reason":"so \\"it\\" is","fields":{"count": 1234567890123456789 ,"note":"a \\"b\\""}}';
  assert.equal(actual, expected);
});

test("a body without answers has no fields, and without a reason none", () => {
  assert.equal(actionBody({ binding: {}, requestId: "r1", reason: null, typed: [] }), '{"requestId":"r1"}');
});

test("what is not JSON is said why", () => {
  assert.equal(whyNotJson("3"), null);
  assert.match(whyNotJson("{") ?? "", /JSON/);
});

test("random ids differ", () => {
  assert.notEqual(randomId(), randomId());
});
