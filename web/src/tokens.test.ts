import assert from "node:assert/strict";
import test from "node:test";
import { colours, textPairs } from "./tokens.ts";

/** Relative luminance, WCAG 2.2. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

for (const [theme, index] of [["light", 0], ["dark", 1]] as const) {
  test(`every ink reaches 4.5 : 1 on every ground it is drawn on (${theme})`, () => {
    const expected: string[] = [];
    const actual = textPairs
      .map(([ink, ground]) => [ink, ground, contrast(colours[ink][index], colours[ground][index])] as const)
      .filter(([, , ratio]) => ratio < 4.5)
      .map(([ink, ground, ratio]) => `${ink} on ${ground}: ${ratio.toFixed(2)}`);
    assert.deepEqual(actual, expected);
  });

  test(`the edge of an input and the outline of focus reach 3 : 1 on the card (${theme})`, () => {
    for (const edge of ["ink-3", "accent", "wait"] as const) {
      assert.ok(contrast(colours[edge][index], colours.surface[index]) >= 3, `${edge} on surface`);
    }
  });
}
