// The whole run below the lanes: the scrubber, and when the drafts of which runs rolled back.

import { rollbackMoments } from "./beats.js";
import { fitted } from "./measure.js";
import { group, label, line, node, path, rect, round } from "./nodes.js";
import { say, sayMany } from "./sentences.js";

const BAR = 24;
const ROW = 15;

export function stripHeight(runs, { s }) {
  return (BAR + ROW * runs.filter((run) => run.hasDraft).length) * s;
}

export function stripEnd({ settled, end, t, page }) {
  return Math.max(1, settled ? end : Math.max(end, t, page.to));
}

// box: {x, y, width}; `above` is where the lanes end, whose piece of the run is marked on the strip.
export function drawStrip(moment, { x: left, y, width, height }, above) {
  const { layout, runs, t, page } = moment;
  const { s } = layout;
  const end = stripEnd(moment);
  const x = (at) => round(left + (Math.min(at, end) / end) * width);
  const mid = y + height / 2;
  const from = x(page.from);
  const to = Math.max(from + 2, x(page.to));
  const nodes = [
    label("words", 0, mid + 4 * s, 12 * s, say(moment.settled ? "wholeRun" : "soFar"), { fill: "$muted" }),
    label("length", left + width + 12 * s, mid + 4 * s, 11.5 * s, lengthOf(moment, end), { fill: "$muted" }),
    magnified(left, width, above, from, to, mid - 8 * s),
    rect("base", left, mid - 3 * s, width, 6 * s, { rx: 3 * s, fill: "$prefill" }),
    rect("page", from, mid - 8 * s, to - from, 16 * s, {
      rx: 4 * s,
      fill: "none",
      stroke: "$faint",
      "stroke-width": 1,
    }),
    rect("done", left, mid - 3 * s, x(t) - left, 6 * s, { rx: 3 * s, fill: "$faint" }),
    ...tickRows(moment, { left, width, y: y + BAR * s, x }),
    node("circle", "knob", {
      cx: x(t),
      cy: round(mid),
      r: round(6.5 * s),
      fill: "$paper",
      stroke: "$ink",
      "stroke-width": 2,
    }),
  ];
  return group("strip", nodes);
}

function lengthOf({ settled }, end) {
  return settled ? say("clock", { ms: (end / 1e6).toFixed(0) }) : "";
}

// Two lines from the lanes' corners to the piece of the run that they show.
function magnified(left, width, above, from, to, y) {
  const stroke = { stroke: "$rule", "stroke-width": 1 };
  return group("magnified", [
    line("left", left, above, from, y, stroke),
    line("right", left + width, above, to, y, stroke),
  ]);
}

// One row of ticks a run: a tick is a moment at which its draft fell into error.
function tickRows(moment, { left, width, y, x }) {
  const { layout, runs } = moment;
  const { s } = layout;
  const drafting = runs.filter((run) => run.hasDraft);
  const rows = drafting.map((run) => rollbackMoments([run]).map((m) => m.death.since));
  const paths = rows.map((times, i) =>
    times.map((at) => `M${x(at)} ${round(y + (i * ROW + 2) * s)}v${round(9 * s)}`).join(""),
  );
  const drawn = moment.settled ? (layout.ticks ??= paths) : paths;
  const size = 11.5 * s;
  return drafting.flatMap((run, i) => {
    const base = y + (i * ROW + 10.5) * s;
    return [
      label(`of${i}`, 0, base, size, fitted(run.label, left - 8 * s, size), { fill: "$muted" }),
      line(`row${i}`, left, base - 4 * s, left + width, base - 4 * s, {
        stroke: "$prefill",
        "stroke-width": 1,
      }),
      drawn[i] && path(`ticks${i}`, drawn[i], { stroke: "$ink", "stroke-width": 1.5 }),
      label(
        `count${i}`,
        left + width + 12 * s,
        base,
        size,
        layout.narrow ? String(rows[i].length) : sayMany("rollbackCount", rows[i].length),
        { fill: "$muted" },
      ),
    ].filter(Boolean);
  });
}
