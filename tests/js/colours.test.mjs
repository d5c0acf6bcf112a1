// Contrast and distinction: WCAG AA in both themes, and every state told apart without colour.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DARK, LIGHT } from "../../amusd_viz/views/js/palette.js";
import { BARS } from "../../amusd_viz/views/js/bars.js";
import { LOOKS } from "../../amusd_viz/views/js/chips.js";

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const TEXT = 4.5;
const GRAPHIC = 3;

for (const [name, colours] of Object.entries({ LIGHT, DARK })) {
  const colour = (role) => colours[role.slice(1)];
  const look = (fill) => (fill === "none" ? colours.paper : colour(fill));

  test(`${name}: words are readable where they stand`, () => {
    const pairs = [
      ["ink", "paper"],
      ["muted", "paper"],
      ["muted", "band"],
      ["reject", "paper"],
      ["targetEdge", "paper"],
      ["deadText", "paper"],
      ["paper", "playhead"],
      ["muted", "prefill"],
    ];
    for (const [words, ground] of pairs) {
      const ratio = contrast(colours[words], colours[ground]);
      assert.ok(ratio >= TEXT, `${words} on ${ground}: ${ratio.toFixed(2)}`);
    }
    for (const [key, { text, fill }] of Object.entries({ ...LOOKS, ...BARS })) {
      const ratio = contrast(colour(text), look(fill));
      assert.ok(ratio >= TEXT, `${key}: ${ratio.toFixed(2)}`);
    }
  });

  test(`${name}: outlines and marks are visible`, () => {
    for (const [key, each] of Object.entries({ ...LOOKS, ...BARS })) {
      const lines = [each.stroke, each.markColour].filter((c) => c && c !== "none" && !/Before$/.test(key));
      for (const line of lines) {
        const ground = line === each.markColour ? look(each.fill) : colours.paper;
        const ratio = contrast(colour(line), ground);
        assert.ok(ratio >= GRAPHIC, `${key}, ${line}: ${ratio.toFixed(2)}`);
      }
    }
  });
}

// What is left of a look in greyscale at half contrast: outline, dash, mark, weight, and filled dark or not.
function shape(look) {
  const filled = look.fill === "none" ? "open" : look.fill === "$reject" ? "dark" : "tinted";
  return JSON.stringify([
    look.stroke !== "none",
    look.dash ?? "",
    look.mark ?? "",
    Boolean(look.bold),
    filled,
    look.thick ?? 0,
  ]);
}

test("every state of a token has a shape of its own", () => {
  // Plain text is told apart by its row; the dead share one look; an older verdict keeps its mark.
  const one = Object.entries(LOOKS).filter(
    ([key]) => !["known", "acceptedBefore", "deadThinking"].includes(key),
  );
  const shapes = new Map();
  for (const [key, look] of one) {
    assert.equal(shapes.get(shape(look)), undefined, `${key} looks like ${shapes.get(shape(look))}`);
    shapes.set(shape(look), key);
  }
});

test("dead work is one look, hollow and dashed, in rows and lanes", () => {
  for (const each of [LOOKS.dead, LOOKS.deadThinking, BARS.dead]) {
    assert.equal(each.fill, "none");
    assert.ok(each.dash);
  }
  const filled = Object.entries({ ...LOOKS, ...BARS }).filter(([, look]) => look.fill === "$reject");
  assert.deepEqual(
    filled.map(([key]) => key),
    ["rejected"],
  );
});
