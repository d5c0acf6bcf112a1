// (C) Time: what each device does, all runs on one clock.

import { drawDraftSpans, drawTargetSpans, LANE } from "./bars.js";
import { timeX, tickStep } from "./layout.js";
import { widthOf } from "./measure.js";
import { drawMessages, drawVerdictMarks, edgeOf } from "./messages.js";
import { group, label, line, rect } from "./nodes.js";
import { say } from "./sentences.js";

const AXIS = 24;

export function lanesHeight(runs, { rhythm, s }) {
  return (AXIS + runs.reduce((sum, run) => sum + runHeight(run, rhythm), 0)) * s;
}

// Messages travel through the gap between the two lanes of a run.
function runHeight(run, { gap, between }) {
  return between + (run.hasDraft ? 2 * LANE + gap : LANE);
}

// -> {nodes, playhead, above, edges}: three layers, and where the fatal verdict of each run ends in time.
export function drawLanes(moment, top) {
  const { layout, runs, page, t } = moment;
  const { s, rhythm } = layout;
  const nodes = [drawAxis(moment, top)];
  const edges = [];
  const above = [];
  let y = top + (AXIS + rhythm.between - 6) * s;
  runs.forEach((run, i) => {
    const lanes = { moment, run, state: moment.states[i], place: i };
    lanes.draftY = y;
    lanes.targetY = y + (run.hasDraft ? LANE + rhythm.gap : 0) * s;
    nodes.push(group(`lanes${i}`, drawRun(lanes)));
    above.push(
      group(`above${i}`, [...drawVerdictMarks(lanes), ...(run.hasDraft ? drawMessages(lanes) : [])]),
    );
    edges.push(edgeOf(lanes));
    y += runHeight(run, rhythm) * s;
  });
  const bottom = y - rhythm.between * s + 8 * s;
  return {
    nodes: group("time", nodes),
    playhead: drawPlayhead(moment, top, bottom),
    above: group("above", above),
    edges,
  };
}

function drawAxis({ layout, page, t }, top) {
  const { s } = layout;
  const step = tickStep(layout, page);
  const y = top + 14 * s;
  const nodes = [
    label("unit", layout.left - 8 * s, y, 10.5 * s, say("time"), { fill: "$muted", "text-anchor": "end" }),
  ];
  const playhead = timeX(layout, page, t);
  for (let at = Math.ceil(page.from / step) * step; at <= page.to + 1; at += step) {
    const x = timeX(layout, page, at);
    nodes.push(line(`tick${at}`, x, y + 5 * s, x, y + 9 * s, { stroke: "$faint", "stroke-width": 1 }));
    const hidden = Math.abs(x - playhead) < 48 * s;
    nodes.push(
      label(`at${at}`, x, y, 10.5 * s, hidden ? "" : milliseconds(at, step), {
        fill: "$muted",
        "text-anchor": "middle",
      }),
    );
  }
  nodes.push(
    line("axis", layout.left, y + 9 * s, layout.left + layout.room, y + 9 * s, {
      stroke: "$rule",
      "stroke-width": 1,
    }),
  );
  return group("axis", nodes);
}

function milliseconds(ns, step) {
  const ms = ns / 1e6;
  return ms.toFixed(step >= 1e6 ? 0 : step >= 1e5 ? 1 : 2);
}

function drawPlayhead({ layout, page, t }, top, bottom) {
  const { s } = layout;
  const x = timeX(layout, page, t);
  const text = say("clock", { ms: (t / 1e6).toFixed(1) });
  const w = widthOf(text, 11.5 * s, true) + 14 * s;
  const left = Math.min(Math.max(x - w / 2, layout.left - 20 * s), layout.width - w);
  return group("playhead", [
    line("stem", x, top + 18 * s, x, bottom, { stroke: "$playhead", "stroke-width": 1.75 * s }),
    rect("flag", left, top + 1 * s, w, 18 * s, { rx: 9 * s, fill: "$playhead" }),
    label("clock", left + w / 2, top + 14 * s, 11.5 * s, text, {
      fill: "$paper",
      "text-anchor": "middle",
      "font-weight": 600,
      "font-variant-numeric": "tabular-nums",
    }),
  ]);
}

function drawRun(lanes) {
  const { moment, run, draftY, targetY } = lanes;
  const { layout } = moment;
  const { s } = layout;
  const nodes = [
    label("name", 0, (run.hasDraft ? draftY : targetY) - 7 * s, 12 * s, run.label, { "font-weight": 700 }),
    label("targetName", 0, targetY + 16 * s, 13 * s, say("target"), { fill: "$muted" }),
    rect("targetBand", layout.left, targetY, layout.room, LANE * s, { fill: "$band" }),
  ];
  if (run.hasDraft) {
    nodes.push(
      label("draftName", 0, draftY + 16 * s, 13 * s, say("draft"), { fill: "$muted" }),
      rect("draftBand", layout.left, draftY, layout.room, LANE * s, { fill: "$band" }),
      group("draftSpans", drawDraftSpans(lanes)),
    );
  }
  nodes.push(group("targetSpans", drawTargetSpans(lanes)));
  nodes.push(drawFinish(lanes));
  return nodes;
}

// A run that is over says when, in the empty rest of its lane.
function drawFinish({ moment, state, targetY }) {
  const { layout, page } = moment;
  const { s } = layout;
  if (!state.finished || state.finished.t > page.to) return group("finish", []);
  const text = say("finishedAt", { ms: (state.finished.t / 1e6).toFixed(1) });
  const size = 11 * s;
  const x = timeX(layout, page, state.finished.t) + 14 * s;
  if (x + widthOf(text, size) > layout.left + layout.room) return group("finish", []);
  return group("finish", [
    label("word", x, targetY + (LANE / 2) * s + size * 0.36, size, text, {
      fill: "$muted",
      "font-style": "italic",
    }),
  ]);
}
