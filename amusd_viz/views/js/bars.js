// What a device does, as bars in its lane; idle is empty space with a word.

import { waitReason, waitShort } from "./beats.js";
import { isLit } from "./chips.js";
import { timeX } from "./layout.js";
import { widthOf } from "./measure.js";
import { label, node, rect, round } from "./nodes.js";
import { doomOf, keyOf, lastNotAfter, sizeOf } from "./run.js";
import { say } from "./sentences.js";

export const LANE = 24;

export function drawDraftSpans(lanes) {
  return spansOf(lanes, "draft", drawDraftSpan);
}

export function drawTargetSpans(lanes) {
  return spansOf(lanes, "target", drawTargetSpan);
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
  return {
    x,
    now,
    end: ghost ? end : now,
    phase: span.end <= t ? "past" : span.start <= t ? "present" : "future",
  };
}

function drawDraftSpan(lanes, span, at) {
  const { moment, run, draftY } = lanes;
  if (span.kind === "waited") return [waitWord(lanes, span, at, draftY)];
  const key = `d${span.start}`;
  if (span.kind === "prefill") return [bar(lanes, key, at, draftY, "prefill", say("prompt"))];
  const doomed =
    doomOf(run, span.branch, span.position, moment.t) || (at.phase === "present" && lanes.state.death);
  return [
    bar(
      lanes,
      key,
      at,
      draftY,
      doomed ? "dead" : "draft",
      String(span.position),
      `${run.number}:${span.branch}:${span.position}`,
    ),
  ];
}

function drawTargetSpan(lanes, span, at) {
  const { targetY, run, moment } = lanes;
  if (span.kind === "waited") return [waitWord(lanes, span, at, targetY)];
  const key = `t${span.start}`;
  if (span.kind === "prefill") return [bar(lanes, key, at, targetY, "prefill", say("prompt"))];
  if (span.kind === "proposed") {
    const id = `${run.number}:${keyOf(span.branch, span.position)}`;
    return [bar(lanes, key, at, targetY, "draft", String(span.position), id)];
  }
  const count = windowSize(run, span, moment.t);
  const last = span.position + Math.max(count, 1) - 1;
  const text = last > span.position ? `${span.position}–${last}` : String(span.position);
  return [
    bar(lanes, key, at, targetY, count ? "target" : "plainStep", text, `${run.number}:w:${span.position}`),
  ];
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
  const size = 12 * s;
  const children = [];
  if (at.phase !== "past" && at.end > at.now + 0.5) {
    const from = at.phase === "future" ? at.x + 0.75 : at.now;
    children.push(
      rect("ghost", from, y + 3 * s, at.end - from - 0.75, (LANE - 6) * s, {
        rx: 3 * s,
        fill: "none",
        stroke: "$faint",
        "stroke-width": 1,
        opacity: 0.55,
      }),
    );
  }
  const width = at.now - at.x - 1.5;
  if (at.phase !== "future") {
    children.push(
      rect("bar", at.x + 0.75, y, width, LANE * s, {
        rx: 3 * s,
        fill: look.fill,
        stroke: look.stroke,
        "stroke-width": round(1.25 * s),
        "stroke-dasharray": look.dash ?? "",
      }),
    );
  }
  if (at.phase !== "future" && width >= widthOf(text, size) + 6 * s) {
    children.push(
      label("text", at.x + (at.now - at.x) / 2, y + (LANE / 2) * s + size * 0.36, size, text, {
        fill: look.text,
        "text-anchor": "middle",
      }),
    );
  }
  if (id && isLit(moment, id)) {
    children.push(
      rect("lit", at.x - 2 * s, y - 3 * s, Math.max(at.end, at.now) - at.x + 4 * s, (LANE + 6) * s, {
        rx: 5 * s,
        fill: "none",
        stroke: "$focus",
        "stroke-width": 2 * s,
      }),
    );
  }
  return node("g", key, { class: "amusd-bar", "data-token": id ?? "", "data-look": lookName }, children);
}

// Idle is empty space with a word.
function waitWord({ moment, run }, span, at, y) {
  if (at.phase === "future") return null;
  const { layout, ghost } = moment;
  const { s } = layout;
  const size = 12 * s;
  const text = waitReason(run, span.reason);
  const until = at.phase === "past" || ghost ? at.end : layout.left + layout.room;
  const room = until - at.x - 26 * s; // clear of what comes next; letters that lean take more room
  const fits = [text, waitShort(run, span.reason)].find((words) => widthOf(words, size) <= room);
  if (!fits) return null;
  return label(`w${span.start}`, at.x + 12 * s, y + (LANE / 2) * s + size * 0.36, size, fits, {
    fill: "$muted",
    "font-style": "italic",
    stroke: "$band",
    "stroke-width": 3,
    "paint-order": "stroke",
  });
}
