// The key: what every look on screen means, in a row of small examples below the picture.

import { LOOKS } from "./chips.js";
import { BARS } from "./bars.js";
import { widthOf } from "./measure.js";
import { group, label, mark, node, rect, round } from "./nodes.js";
import { say } from "./sentences.js";

const PITCH = 22;
const EXAMPLE = 22; // width of an example
const BOX = 14;

const ENTRIES = [
  ["key_accepted", (s) => example(LOOKS.accepted, s)],
  ["key_star", (s) => example(LOOKS.star, s)],
  ["key_pending", (s) => example(LOOKS.pending, s)],
  ["key_rejected", (s) => example(LOOKS.rejected, s)],
  ["key_dead", (s) => example(LOOKS.dead, s)],
  ["key_unequal", (s) => disc("unequal", s)],
  ["key_verdict", (s) => verdict(s)],
];

// -> [[name, x, row]]: where each entry stands, for a width alone.
function placed({ width, left, s }) {
  const size = 12 * s;
  const places = [];
  let x = left;
  let row = 0;
  for (const [name] of ENTRIES) {
    const wide = (EXAMPLE + 7) * s + widthOf(say(name), size);
    if (x + wide > width && x > left) {
      x = left;
      row += 1;
    }
    places.push([name, x, row]);
    x += wide + 16 * s;
  }
  return places;
}

export function keyHeight(layout) {
  return ((placed(layout).at(-1)[2] + 1) * PITCH + 8) * layout.s;
}

export function drawKey({ layout }, y) {
  const { s } = layout;
  const size = 12 * s;
  const entries = placed(layout).map(([name, x, row], i) => {
    const middle = y + (8 + row * PITCH + PITCH / 2) * s;
    return [
      group(`${name}Example`, ENTRIES[i][1](s), { transform: `translate(${round(x)} ${round(middle)})` }),
      label(`${name}Word`, x + (EXAMPLE + 7) * s, middle + 4.2 * s, size, say(name), { fill: "$muted" }),
    ];
  });
  return group("key", [
    label("title", 0, y + (8 + PITCH / 2 + 4.2) * s, size, say("key"), { fill: "$muted" }),
    ...entries.flat(),
  ]);
}

// Each example stands around y = 0, from x = 0 on.
function example(look, s) {
  const box = rect("box", 0, (-BOX / 2) * s, EXAMPLE * s, BOX * s, {
    rx: 3 * s,
    fill: look.fill,
    stroke: look.stroke,
    "stroke-width": round(1.25 * s),
    "stroke-dasharray": look.dash ?? "",
  });
  return [box, look.mark && mark(look.mark, "mark", (EXAMPLE / 2) * s, 0, 3.8 * s, look.markColour)].filter(
    Boolean,
  );
}

function disc(sign, s, { x = EXAMPLE / 2, strong = true } = {}) {
  return [
    node("circle", `${sign}Disc`, {
      cx: round(x * s),
      cy: 0,
      r: round(7 * s),
      fill: strong ? "$reject" : "$paper",
      stroke: strong ? "$rejectEdge" : "$targetEdge",
      "stroke-width": round(1.25 * s),
    }),
    mark(sign, sign, x * s, 0, (strong ? 4 : 3.4) * s, strong ? "$onReject" : "$targetEdge"),
  ];
}

// A bar of the target's lane with its verdict at the end.
function verdict(s) {
  const { fill, stroke } = BARS.target;
  const bar = { rx: 3 * s, fill, stroke, "stroke-width": round(1.25 * s) };
  return [
    rect("bar", 0, (-BOX / 2) * s, (EXAMPLE - 6) * s, BOX * s, bar),
    ...disc("check", s, { x: EXAMPLE - 6, strong: false }),
  ];
}
