// The whole picture of a moment, as plain data: scene(stage, time, view). Pure; no document, no clock.

import { sentenceAt } from "./beats.js";
import { drawHeader, drawSentence, sentenceType } from "./frame.js";
import { drawKey, keyHeight } from "./key.js";
import { drawLanes, lanesHeight } from "./lanes.js";
import { layOut, pageStart, timePage } from "./layout.js";
import { group, line, path, round } from "./nodes.js";
import { blockHeight, drawBlock } from "./rows.js";
import { sizeOf } from "./run.js";
import { say } from "./sentences.js";
import { hideFuture } from "./stage.js";
import { stateAt } from "./state.js";
import { drawStrip, stripEnd, stripHeight } from "./strip.js";

// view: {width, size, tight, zoom, future, pinned, lit, spaces, key, badge}
// -> {width, height, nodes, sentence, strip, question, runs}; `runs` know no more than the picture shows.
export function scene(stage, t, view = {}) {
  const full = {
    width: 1000,
    size: 14,
    zoom: 1,
    future: "ghost",
    pinned: null,
    lit: null,
    spaces: false,
    key: true,
    tight: false,
    badge: "",
    ...view,
  };
  const seen = full.future === "hidden" ? hideFuture(stage, t) : stage;
  const layout = layoutFor(seen, full);
  const moment = {
    t,
    view: full,
    runs: seen.runs,
    layout,
    states: seen.runs.map((run) => stateAt(run, t)),
    page: timePage(layout, t),
    starts: seen.runs.map((run, i) => pageStart(layout, run, i, t)),
    ghost: full.future === "ghost",
    end: seen.end,
    settled: seen.settled,
  };
  return compose(moment);
}

function layoutFor(stage, { width, size, zoom, spaces, tight }) {
  const key = `${width}:${size}:${zoom}:${spaces}:${tight}`;
  if (!stage.layouts.has(key)) {
    if (stage.layouts.size > 8) stage.layouts.clear();
    stage.layouts.set(key, layOut(stage.runs, { width, size, zoom, spaces, tight, settled: stage.settled }));
  }
  return stage.layouts.get(key);
}

function compose(moment) {
  const { layout, runs, t, view } = moment;
  const { s, width, rhythm } = layout;
  const sentence = sentenceAt(runs, t, view.pinned);
  const nodes = [drawHeader(moment), drawSentence(moment, sentence)];
  const type = sentenceType(layout);
  let y = (rhythm.title + rhythm.sentence) * s + type.pitch * type.most;
  const blocks = runs.map((run, i) => {
    const block = drawBlock(moment, i, y);
    y += blockHeight(run, layout);
    if (i < runs.length - 1) {
      nodes.push(line(`between${i}`, 0, y - 6 * s, width, y - 6 * s, { stroke: "$rule", "stroke-width": 1 }));
    }
    return block;
  });
  const lanesTop = y + 8 * s;
  const lanes = drawLanes(moment, lanesTop);
  y = lanesTop + lanesHeight(runs, layout);
  const strip = { x: layout.left, y: y + 6 * s, width: layout.room, height: 22 * s, end: stripEnd(moment) };
  nodes.push(drawTies(moment, blocks, lanes, lanesTop), ...blocks.map((block) => block.nodes), lanes.nodes);
  nodes.push(drawStrip(moment, strip, lanes.bottom), lanes.playhead, lanes.above);
  y = strip.y + stripHeight(runs, layout);
  if (view.key && runs.some((run) => run.hasDraft)) {
    nodes.push(drawKey(moment, y));
    y += keyHeight(layout);
  }
  const question = view.future === "hidden" ? questionAt(moment) : "";
  return {
    width,
    height: Math.ceil(y + rhythm.foot * s),
    nodes,
    sentence,
    question,
    strip,
    runs,
    page: moment.page,
  };
}

// What to ask before the next thing is shown; made from the present alone.
function questionAt({ states }) {
  if (states.some((state) => state.death && !state.finished)) return say("ask_heard");
  const judging = states.findLast((state) => state.window && sizeOf(state.window));
  return judging ? say("ask_judging", { count: sizeOf(judging.window) }) : say("ask_anything");
}

// From the unequal tokens to the verdict's edge in time: the same token. A hint, behind everything.
function drawTies(moment, blocks, lanes, lanesTop) {
  const { layout, states } = moment;
  const { s } = layout;
  const ties = [];
  states.forEach((state, i) => {
    const from = blocks[i].mismatch;
    const to = lanes.edges[i];
    if (!state.death || !from || !to) return;
    const level = lanesTop - 6 * s - 3 * i * s;
    const d = `M${round(from.x)} ${round(from.y)} V${round(level)} H${round(to.x)} V${round(to.y)}`;
    ties.push(
      path(`tie${i}`, d, {
        stroke: "$reject",
        "stroke-width": 1.5 * s,
        "stroke-dasharray": "1 4",
        opacity: 0.7,
      }),
    );
  });
  return group("ties", ties);
}
