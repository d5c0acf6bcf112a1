// (C) Time: what each device does, all runs on one clock.

import { doomOf, lastNotAfter, sizeOf } from "./run.js";
import { timeX, tickStep } from "./layout.js";
import { widthOf } from "./measure.js";
import { group, label, line, mark, node, path, rect, round } from "./nodes.js";
import { say } from "./sentences.js";
import { waitReason } from "./beats.js";
import { isLit } from "./rows.js";

const AXIS = 24;
const LANE = 24;
const GAP = 22; // between the two lanes of a run: messages travel here
const BETWEEN = 22;

export function lanesHeight(runs, s) {
  return (AXIS + runs.reduce((sum, run) => sum + runHeight(run), 0)) * s;
}

function runHeight(run) {
  return BETWEEN + (run.hasDraft ? 2 * LANE + GAP : LANE);
}

// -> {nodes, playhead, above, edges}: three layers, and where the fatal verdict of each run ends in time.
export function drawLanes(moment, top) {
  const { layout, runs, page, t } = moment;
  const { s } = layout;
  const nodes = [drawAxis(moment, top)];
  const edges = [];
  const above = [];
  let y = top + (AXIS + BETWEEN - 6) * s;
  runs.forEach((run, i) => {
    const lanes = { moment, run, state: moment.states[i], place: i };
    lanes.draftY = y;
    lanes.targetY = y + (run.hasDraft ? LANE + GAP : 0) * s;
    nodes.push(group(`lanes${i}`, drawRun(lanes)));
    above.push(group(`above${i}`, [...drawVerdictMarks(lanes), ...(run.hasDraft ? drawMessages(lanes) : [])]));
    edges.push(edgeOf(lanes));
    y += runHeight(run) * s;
  });
  const bottom = y - BETWEEN * s + 8 * s;
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
  const nodes = [label("unit", layout.left - 8 * s, y, 10.5 * s, say("time"), { fill: "$muted", "text-anchor": "end" })];
  const playhead = timeX(layout, page, t);
  for (let at = Math.ceil(page.from / step) * step; at <= page.to + 1; at += step) {
    const x = timeX(layout, page, at);
    nodes.push(line(`tick${at}`, x, y + 5 * s, x, y + 9 * s, { stroke: "$faint", "stroke-width": 1 }));
    const hidden = Math.abs(x - playhead) < 48 * s;
    nodes.push(label(`at${at}`, x, y, 10.5 * s, hidden ? "" : milliseconds(at, step), { fill: "$muted", "text-anchor": "middle" }));
  }
  nodes.push(line("axis", layout.left, y + 9 * s, layout.left + layout.room, y + 9 * s, { stroke: "$rule", "stroke-width": 1 }));
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
      fill: "$paper", "text-anchor": "middle", "font-weight": 600, "font-variant-numeric": "tabular-nums",
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
      group("draftSpans", spansOf(lanes, "draft", drawDraftSpan)),
    );
  }
  nodes.push(group("targetSpans", spansOf(lanes, "target", drawTargetSpan)));
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
    label("word", x, targetY + (LANE / 2) * s + size * 0.36, size, text, { fill: "$muted", "font-style": "italic" }),
  ]);
}

function spansOf(lanes, side, draw) {
  const { moment, run } = lanes;
  const { page, t, ghost } = moment;
  const spans = run.spans[side];
  const nodes = [];
  for (let i = Math.max(0, lastNotAfter(run.spanStarts[side], page.from)); i < spans.length; i++) {
    const span = spans[i];
    if (span.start >= page.to || (span.start > t && !ghost)) break;
    if (span.end <= page.from) continue;
    nodes.push(...draw(lanes, span, placeOf(moment, span)));
  }
  return nodes.filter(Boolean);
}

// Horizontal extent: what has happened (x..now) and what is still to come (now..end).
function placeOf({ layout, page, t, ghost }, span) {
  const x = timeX(layout, page, span.start);
  const end = timeX(layout, page, Math.min(span.end, page.to));
  const now = timeX(layout, page, Math.min(span.end, Math.max(span.start, t)));
  return { x, now, end: ghost ? end : now, phase: span.end <= t ? "past" : span.start <= t ? "present" : "future" };
}

function drawDraftSpan(lanes, span, at) {
  const { moment, run, draftY } = lanes;
  if (span.kind === "waited") return [waitWord(lanes, span, at, draftY)];
  const key = `d${span.start}`;
  if (span.kind === "prefill") return [bar(lanes, key, at, draftY, "prefill", say("prompt"))];
  const doomed = doomOf(run, span.branch, span.position, moment.t) || (at.phase === "present" && lanes.state.death);
  return [bar(lanes, key, at, draftY, doomed ? "dead" : "draft", String(span.position), `${run.number}:${span.branch}:${span.position}`)];
}

function drawTargetSpan(lanes, span, at) {
  const { targetY, run, moment } = lanes;
  if (span.kind === "waited") return [waitWord(lanes, span, at, targetY)];
  const key = `t${span.start}`;
  if (span.kind === "prefill") return [bar(lanes, key, at, targetY, "prefill", say("prompt"))];
  const count = windowSize(run, span, moment.t);
  const last = span.position + Math.max(count, 1) - 1;
  const text = last > span.position ? `${span.position}–${last}` : String(span.position);
  return [bar(lanes, key, at, targetY, count ? "target" : "plainStep", text, `${run.number}:w:${span.position}`)];
}

function windowSize(run, span, t) {
  if (span.proposals !== undefined) return span.proposals;
  const window = run.windows.at(t);
  return window ? sizeOf(window) : 0;
}

export const BARS = {
  draft: { fill: "$draftFill", stroke: "$draftEdge", text: "$onDraft" },
  dead: { fill: "none", stroke: "$deadEdge", text: "$deadText", dash: "4 3" },
  target: { fill: "$targetFill", stroke: "$targetEdge", text: "$onTarget" },
  plainStep: { fill: "$paper", stroke: "$targetEdge", text: "$onTarget" },
  prefill: { fill: "$prefill", stroke: "$faint", text: "$muted" },
};

function bar({ moment }, key, at, y, lookName, text, id = null) {
  const { s } = moment.layout;
  const look = BARS[lookName];
  const size = 11 * s;
  const children = [];
  if (at.phase !== "past" && at.end > at.now + 0.5) {
    const from = at.phase === "future" ? at.x + 0.75 : at.now;
    children.push(rect("ghost", from, y + 3 * s, at.end - from - 0.75, (LANE - 6) * s, {
      rx: 3 * s, fill: "none", stroke: "$faint", "stroke-width": 1, opacity: 0.55,
    }));
  }
  const width = at.now - at.x - 1.5;
  if (at.phase !== "future") {
    children.push(rect("bar", at.x + 0.75, y, width, LANE * s, {
      rx: 3 * s, fill: look.fill, stroke: look.stroke, "stroke-width": round(1.25 * s), "stroke-dasharray": look.dash ?? "",
    }));
  }
  if (at.phase !== "future" && width >= widthOf(text, size) + 6 * s) {
    children.push(label("text", at.x + (at.now - at.x) / 2, y + (LANE / 2) * s + size * 0.36, size, text, {
      fill: look.text, "text-anchor": "middle",
    }));
  }
  if (id && isLit(moment, id)) {
    children.push(rect("lit", at.x - 2 * s, y - 3 * s, Math.max(at.end, at.now) - at.x + 4 * s, (LANE + 6) * s, {
      rx: 5 * s, fill: "none", stroke: "$focus", "stroke-width": 2 * s,
    }));
  }
  return node("g", key, { class: "amusd-bar", "data-token": id ?? "", "data-look": lookName }, children);
}

// Idle is empty space with a word.
function waitWord({ moment, run }, span, at, y) {
  if (at.phase === "future") return null;
  const { layout, ghost } = moment;
  const { s } = layout;
  const size = 11 * s;
  const text = waitReason(run, span.reason);
  const until = at.phase === "past" || ghost ? at.end : layout.left + layout.room;
  const room = until - at.x - 16 * s;
  const fits = [text, text.split(" ")[0]].find((words) => widthOf(words, size) <= room);
  if (!fits) return null;
  return label(`w${span.start}`, at.x + 12 * s, y + (LANE / 2) * s + size * 0.36, size, fits, {
    fill: "$muted", "font-style": "italic", stroke: "$band", "stroke-width": 3, "paint-order": "stroke",
  });
}

function drawVerdictMarks({ moment, run, state, targetY }) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const nodes = [];
  for (let i = Math.max(0, lastNotAfter(run.verdictTimes.times, page.from)); i < run.verdicts.length; i++) {
    const verdict = run.verdicts[i];
    if (verdict.end > Math.min(t, page.to)) break;
    if (verdict.end < page.from || !verdict.proposals || verdict.extra === "none") continue;
    const x = timeX(layout, page, verdict.end);
    const y = targetY + (LANE / 2) * s;
    const newest = verdict === state.verdict;
    const fatal = verdict.extra === "correction" || verdict === state.death?.verdict;
    nodes.push(...verdictMark(`v${i}`, x, y, s, verdict, { fatal, newest }));
  }
  return nodes;
}

// A cross where a proposal was rejected, an unequal sign where a bonus contradicts the draft, or a check.
function verdictMark(key, x, y, s, verdict, { fatal, newest }) {
  const sign = verdict.extra === "correction" ? "cross" : fatal ? "unequal" : "check";
  const strong = fatal && newest;
  const disc = strong
    ? { r: round(8.5 * s), fill: "$reject", stroke: "$rejectEdge", "stroke-width": round(1.5 * s) }
    : { r: round(6 * s), fill: "$paper", stroke: newest ? "$targetEdge" : "$muted", "stroke-width": newest ? 1.5 : 1 };
  const colour = strong ? "$onReject" : newest ? "$targetEdge" : "$muted";
  return [
    node("circle", `${key}disc`, { cx: round(x), cy: round(y), ...disc }),
    mark(sign, `${key}mark`, x, y, (strong ? 4.2 : 3) * s, colour),
  ];
}

function edgeOf({ moment, state, targetY }) {
  const { layout, page } = moment;
  const end = state.death?.verdict.end ?? null;
  if (end === null || end < page.from || end > page.to) return null;
  return { x: timeX(layout, page, end), y: targetY };
}

// Verdicts travel from the target's lane up to the draft's: an arrow when heard, a dot on its way.
function drawMessages(lanes) {
  const { moment, run, state, draftY, targetY } = lanes;
  const { layout, page, t } = moment;
  const { s } = layout;
  const nodes = [];
  const bottom = draftY + LANE * s;
  for (const rollback of run.rollbacks) {
    if (rollback.t > t) break;
    const sent = rollback.death?.verdict.end ?? rollback.t;
    if (rollback.t < page.from || sent > page.to) continue;
    const x = timeX(layout, page, rollback.t);
    const newest = state.graveyard?.since === rollback.t;
    const colour = newest ? "$ink" : "$muted";
    nodes.push(
      path(`sent${rollback.t}`, `M${round(timeX(layout, page, sent))} ${round(targetY)} L${round(x)} ${round(bottom + 4 * s)}`, { stroke: colour, "stroke-width": newest ? 1.75 : 1.25 }),
      path(`head${rollback.t}`, `M${round(x)} ${round(bottom)} l${round(-3.5 * s)} ${round(6 * s)} h${round(7 * s)} Z`, { fill: colour }),
      line(`cut${rollback.t}`, x, draftY - 4 * s, x, bottom, { stroke: colour, "stroke-width": newest ? 2.5 : 1.75 }),
      label(`branch${rollback.t}`, x + 4 * s, draftY - 5 * s, 10 * s, say("branch", { branch: rollback.branch }), { fill: colour }),
    );
  }
  if (state.death && !state.finished) nodes.push(...messageOnItsWay(lanes, bottom));
  return nodes;
}

// Its height says only how long it has been out, never when it will be heard.
function messageOnItsWay({ moment, state, targetY }, bottom) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const sent = state.death.verdict.end;
  if (sent < page.from) return [];
  const x = timeX(layout, page, t);
  const share = 1 - Math.exp((-4 * (t - sent)) / layout.step);
  const y = targetY - share * (targetY - bottom - 5 * s);
  return [
    path("way", `M${round(timeX(layout, page, sent))} ${round(targetY)} L${round(x)} ${round(y)}`, { stroke: "$reject", "stroke-width": 1.75 * s, "stroke-dasharray": "3 3" }),
    node("circle", "dot", { cx: round(x), cy: round(y), r: round(5 * s), fill: "$reject", stroke: "$rejectEdge", "stroke-width": 1 }),
    label("wayWord", x + 9 * s, (targetY + bottom) / 2 + 4 * s, 11 * s, say("onItsWay"), { fill: "$reject", "font-weight": 600, stroke: "$paper", "stroke-width": 3, "paint-order": "stroke" }),
  ];
}
