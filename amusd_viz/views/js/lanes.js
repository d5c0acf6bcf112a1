// (C) Time: what each device does, all runs on one clock.

import { drawDraftSpans, drawTargetSpans, LANE } from "./bars.js";
import { timeX, tickStep } from "./layout.js";
import { fitted, shown, widthOf } from "./measure.js";
import { drawMessages, drawVerdictMarks, edgeOf } from "./messages.js";
import { group, label, line, rect } from "./nodes.js";
import { say } from "./sentences.js";

const AXIS = 24;

export function lanesHeight(runs, { rhythm, s }) {
  return (AXIS - 2 + runs.reduce((sum, run) => sum + runHeight(run, rhythm), 0)) * s;
}

// Messages travel through the gap between the two lanes of a run.
function runHeight(run, { gap, between }) {
  return between + (run.hasDraft ? 2 * LANE + gap : LANE);
}

// -> {nodes, playhead, above, edges, bottom}: three layers, where the fatal verdict of each run ends in
// time, and where the lanes end.
export function drawLanes(moment, top) {
  const { layout, runs, page, t } = moment;
  const { s, rhythm } = layout;
  const nodes = [drawAxis(moment, top)];
  const edges = [];
  const above = [];
  let y = top + (AXIS + rhythm.between - 8) * s;
  runs.forEach((run, i) => {
    const lanes = { moment, run, state: moment.states[i], place: i };
    lanes.targetY = y;
    lanes.draftY = y + (LANE + rhythm.gap) * s;
    nodes.push(group(`lanes${i}`, drawRun(lanes)));
    above.push(
      group(`above${i}`, [...drawVerdictMarks(lanes), ...(run.hasDraft ? drawMessages(lanes) : [])]),
    );
    edges.push(edgeOf(lanes));
    y += runHeight(run, rhythm) * s;
  });
  const bottom = y - (rhythm.between - 5) * s;
  return {
    nodes: group("time", nodes),
    playhead: drawPlayhead(moment, top, bottom),
    above: group("above", above),
    edges,
    bottom,
  };
}

function drawAxis(moment, top) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const step = tickStep(layout, page);
  const y = top + 14 * s;
  const nodes = [label("unit", 0, y, 11.5 * s, say("time"), { fill: "$muted" })];
  const playhead = timeX(layout, page, t);
  const later = laterWord(moment, playhead, y);
  if (later) nodes.push(later.node);
  for (let at = Math.ceil(page.from / step) * step; at <= page.to + 1; at += step) {
    const x = timeX(layout, page, at);
    nodes.push(line(`tick${at}`, x, y + 5 * s, x, y + 9 * s, { stroke: "$faint", "stroke-width": 1 }));
    const hidden = x > playhead - 56 * s && x < (later?.end ?? playhead + 36 * s) + 20 * s;
    nodes.push(
      label(`at${at}`, x, y, 11.5 * s, hidden ? "" : milliseconds(at, step), {
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

// What stands right of the playhead has not happened yet.
function laterWord({ layout, page, t, ghost, end }, playhead, y) {
  const { s } = layout;
  const x = playhead + clockWidth(t, s) / 2 + 6 * s;
  const size = 11.5 * s;
  const stop = x + widthOf(say("later"), size);
  if (!ghost || t >= Math.min(end, page.to) || stop > layout.left + layout.room) return null;
  const node = label("later", x, y, size, say("later"), { fill: "$muted", "font-style": "italic" });
  return { node, end: stop };
}

function milliseconds(ns, step) {
  const ms = ns / 1e6;
  return ms.toFixed(step >= 1e6 ? 0 : step >= 1e5 ? 1 : 2);
}

function clockWidth(t, s) {
  return widthOf(say("clock", { ms: (t / 1e6).toFixed(1) }), 12 * s, true) + 14 * s;
}

function drawPlayhead({ layout, page, t }, top, bottom) {
  const { s } = layout;
  const x = timeX(layout, page, t);
  const text = say("clock", { ms: (t / 1e6).toFixed(1) });
  const w = clockWidth(t, s);
  const left = Math.min(Math.max(x - w / 2, layout.left - 20 * s), layout.width - w);
  return group("playhead", [
    line("stem", x, top + 18 * s, x, bottom, { stroke: "$playhead", "stroke-width": 1.75 * s }),
    rect("flag", left, top + 1 * s, w, 18 * s, { rx: 9 * s, fill: "$playhead" }),
    label("clock", left + w / 2, top + 14 * s, 12 * s, text, {
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
    label("name", 0, targetY - 7 * s, 12.5 * s, run.label, { "font-weight": 700 }),
    ...laneName(lanes, "target", targetY),
    rect("targetBand", layout.left, targetY, layout.room, LANE * s, { fill: "$band" }),
  ];
  if (run.hasDraft) {
    nodes.push(
      ...laneName(lanes, "draft", draftY),
      rect("draftBand", layout.left, draftY, layout.room, LANE * s, { fill: "$band" }),
      group("draftSpans", drawDraftSpans(lanes)),
    );
  }
  nodes.push(group("targetSpans", drawTargetSpans(lanes)));
  nodes.push(drawFinish(lanes));
  return nodes;
}

// The side, and the device it works on.
function laneName({ moment, run }, side, y) {
  const { left, s } = moment.layout;
  const device = shown(run.header[`${side}_device`]?.label ?? "", 28);
  const size = 11 * s;
  const place = fitted(device, left - 8 * s, size);
  return [
    label(`${side}Name`, 0, y + (device ? 11 : 16.5) * s, 13 * s, say(side), { fill: "$muted" }),
    device && label(`${side}Device`, 0, y + 24 * s, size, place, { fill: "$muted" }),
  ].filter(Boolean);
}

// A run that is over says when, in the empty rest of its lane.
function drawFinish({ moment, state, targetY }) {
  const { layout, page } = moment;
  const { s } = layout;
  if (!state.finished || state.finished.t > page.to) return group("finish", []);
  const text = say("finishedAt", { ms: (state.finished.t / 1e6).toFixed(1) });
  const size = 12 * s;
  const x = timeX(layout, page, state.finished.t) + 14 * s;
  if (x + widthOf(text, size) > layout.left + layout.room) return group("finish", []);
  return group("finish", [
    label("word", x, targetY + (LANE / 2) * s + size * 0.36, size, text, {
      fill: "$muted",
      "font-style": "italic",
    }),
  ]);
}
