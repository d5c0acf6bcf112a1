// The whole picture of a moment, as plain data: scene(stage, time, view). Pure; no document, no clock.

import { indexRun, knownAt, lastNotAfter, sizeOf } from "./run.js";
import { inOrder, readTrace } from "./read.js";
import { layOut, pageStart, timePage } from "./layout.js";
import { rollbackMoments, sentenceAt } from "./beats.js";
import { stateAt } from "./state.js";
import { fitted, fittedEnd, shown, widthOf, wrapped } from "./measure.js";
import { group, label, line, node, path, rect, round } from "./nodes.js";
import { blockHeight, drawBlock } from "./rows.js";
import { drawLanes, lanesHeight } from "./lanes.js";
import { say } from "./sentences.js";

// Traces (texts of files, or already read) -> a stage. `settled`: no event will follow.
export function makeStage(traces, { settled = true } = {}) {
  const read = traces.map((trace) => (typeof trace === "string" ? readTrace(trace) : trace));
  const runs = read.map((trace, i) => indexRun(trace, i));
  nameApart(runs);
  return { traces: read, runs, settled, end: endOf(runs), layouts: new Map() };
}

// A stage whose run `place` has grown by some events; the other runs stay as they are.
export function grow(stage, place, events) {
  const { header, events: before } = stage.traces[place];
  const trace = { header, events: inOrder([...before, ...events]) };
  const run = indexRun(trace, place);
  run.label = stage.runs[place].label;
  const runs = stage.runs.with(place, run);
  return { ...stage, traces: stage.traces.with(place, trace), runs, end: endOf(runs), layouts: new Map() };
}

function endOf(runs) {
  return Math.max(0, ...runs.map((run) => run.end));
}

function nameApart(runs) {
  const counts = new Map();
  for (const run of runs) {
    const count = (counts.get(run.label) ?? 0) + 1;
    counts.set(run.label, count);
    if (count > 1) run.label = `${run.label} ${count}`;
  }
}

// The stage without anything that is not known at t. Its picture cannot give the future away.
export function hideFuture(stage, t) {
  stage.clocks ??= stage.traces.map(clocksOf);
  // What is known changes only when an event begins or ends: between two of them it is kept.
  const key = stage.clocks.map(({ starts, ends }) => [lastNotAfter(starts, t), lastNotAfter(ends, t)]).join();
  if (stage.hidden?.key !== key) {
    stage.hidden = { key, stage: makeStage(stage.traces.map((trace) => knownAt(trace, t)), { settled: false }) };
  }
  return stage.hidden.stage;
}

function clocksOf({ events }) {
  const ascending = (times) => times.filter((time) => time !== undefined).sort((a, b) => a - b);
  return { starts: ascending(events.map((e) => e.start)), ends: ascending(events.map((e) => e.end ?? e.t)) };
}

// view: {width, size, zoom, future, pinned, lit, spaces, badge}
// -> {width, height, nodes, sentence, strip, question, runs}; `runs` know no more than the picture shows.
export function scene(stage, t, view = {}) {
  const full = { width: 1000, size: 14, zoom: 1, future: "ghost", pinned: null, lit: null, spaces: false, badge: "", ...view };
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

function layoutFor(stage, { width, size, zoom, spaces }) {
  const key = `${width}:${size}:${zoom}:${spaces}`;
  if (!stage.layouts.has(key)) {
    if (stage.layouts.size > 8) stage.layouts.clear();
    stage.layouts.set(key, layOut(stage.runs, { width, size, zoom, spaces, settled: stage.settled }));
  }
  return stage.layouts.get(key);
}

function compose(moment) {
  const { layout, runs, t, view } = moment;
  const { s, width } = layout;
  const sentence = sentenceAt(runs, t, view.pinned);
  const nodes = [drawHeader(moment), drawSentence(moment, sentence)];
  const type = sentenceType(layout);
  let y = 46 * s + type.pitch * type.most;
  nodes.push(drawEarlier(moment, y));
  y += 30 * s;
  const blocks = runs.map((run, i) => {
    const block = drawBlock(moment, i, y);
    y += blockHeight(run, s);
    if (i < runs.length - 1) {
      nodes.push(line(`between${i}`, 0, y - 6 * s, width, y - 6 * s, { stroke: "$rule", "stroke-width": 1 }));
    }
    return block;
  });
  const lanesTop = y + 8 * s;
  const lanes = drawLanes(moment, lanesTop);
  y = lanesTop + lanesHeight(runs, s);
  const strip = { x: layout.left, y: y + 6 * s, width: layout.room, height: 22 * s, end: stripEnd(moment) };
  nodes.push(...blocks.map((block) => block.nodes), lanes.nodes, drawStrip(moment, strip));
  nodes.push(drawTies(moment, blocks, lanes, lanesTop), lanes.playhead, lanes.above);
  const question = view.future === "hidden" ? questionAt(moment) : "";
  return { width, height: Math.ceil(y + 36 * s), nodes, sentence, question, strip, runs, page: moment.page };
}

// What to ask before the next thing is shown; made from the present alone.
function questionAt({ states }) {
  if (states.some((state) => state.death && !state.finished)) return say("ask_heard");
  const judging = states.findLast((state) => state.window && sizeOf(state.window));
  return judging ? say("ask_judging", { count: sizeOf(judging.window) }) : say("ask_anything");
}

function drawHeader({ layout, runs, view }) {
  const { s, width } = layout;
  const sources = [...new Set(runs.map((run) => run.header.source))];
  const badges = sources.map((source) => badgeText(source, runs.filter((run) => run.header.source === source), sources.length > 1));
  if (view.badge) badges.push(view.badge);
  const size = 11 * s;
  const nodes = [];
  let right = width;
  badges.forEach((text, i) => {
    const w = widthOf(text, size, true) + 20 * s;
    const measured = sources[i] !== "simulated";
    right -= w;
    nodes.push(
      rect(`badge${i}`, right + 0.5, 6.5 * s, w - 1, 20 * s, {
        rx: 10 * s, fill: "none", stroke: "$muted", "stroke-width": 1.25, "stroke-dasharray": measured ? "" : "4 3",
      }),
      label(`badgeText${i}`, right + w / 2, 20.5 * s, size, text, {
        "text-anchor": "middle", "font-weight": 600, fill: "$muted", "letter-spacing": 0.3,
      }),
    );
    right -= 10 * s;
  });
  const prompts = [...new Set(runs.map((run) => run.header.prompt || "").filter(Boolean))].map((p) => shown(p, 300));
  const pairs = [...new Set(runs.map((run) => modelNames(run.header)))];
  const names = shown(pairs[pairs.length - 1] ?? "", 80);
  const title = prompts.join("  /  ") || names || say("nothing");
  const models = prompts.length ? names : "";
  const titleSize = 15 * s;
  const space = right - 12 * s;
  const fittedTitle = fitted(title, space * (layout.narrow ? 1 : 0.72), titleSize, true);
  nodes.unshift(label("title", 0, 21 * s, titleSize, fittedTitle, { "font-weight": 600 }));
  const x = widthOf(fittedTitle, titleSize, true) + 16 * s;
  if (space - x > 80 * s) {
    nodes.push(label("models", x, 21 * s, 12.5 * s, fitted(models, space - x, 12.5 * s), { fill: "$muted" }));
  }
  return group("header", nodes);
}

function badgeText(source, runs, several) {
  const labels = runs.flatMap((run) => [run.header.draft_device?.label, run.header.target_device?.label]);
  const where = source === "measured" ? [...new Set(labels.filter(Boolean))].map((l) => shown(l, 28)).join(" + ") : "";
  const who = several ? `${runs.map((run) => run.label).join(", ")} ` : "";
  return fitted(who + say(source) + (where ? ` · ${where}` : ""), 420, 11, true);
}

function modelNames(header) {
  return [header.draft?.name, header.target?.name].filter(Boolean).join(" + ");
}

// Size and place for the sentence: two lines, or three smaller ones where there is little room.
function sentenceType({ narrow, s }) {
  return narrow ? { size: 15 * s, pitch: 21 * s, most: 3 } : { size: 18 * s, pitch: 25 * s, most: 2 };
}

function drawSentence({ layout }, sentence) {
  const { s, width } = layout;
  const { size, pitch, most } = sentenceType(layout);
  const lines = wrapped(sentence, Math.min(width, 860 * s), size, most);
  return group(
    "sentence",
    lines.map((text, i) => node("text", `s${i}`, { x: 0, y: round(54 * s + pitch * i), "font-size": round(size), fill: "$ink" }, emphasised(text))),
  );
}

// The tokens a sentence speaks of stand out in it.
function emphasised(text) {
  const parts = text.split(/(“[^”]*”)/).filter(Boolean);
  return parts.map((part, i) => node("tspan", `${i}`, { "font-weight": part[0] === "“" ? 700 : 400 }, part));
}

// Committed text left of the page, folded into one line.
function drawEarlier({ layout, runs, starts, states }, y) {
  const { s } = layout;
  const leader = starts.indexOf(Math.max(0, ...starts));
  const run = runs[leader];
  if (!run || !starts[leader]) return group("earlier", []);
  const texts = run.commits.slice(0, Math.min(starts[leader], states[leader].committed));
  const text = shown(texts.slice(-160).map((c) => c.text).join(""), 1200);
  const size = 13 * s;
  return group("earlier", [
    label("earlierText", layout.left, y + 14 * s, size, fittedEnd(text, layout.room, size), { fill: "$muted" }),
  ]);
}

function stripEnd({ settled, end, t, page }) {
  return Math.max(1, settled ? end : Math.max(end, t, page.to));
}

// The whole run as a thin strip: one tick per rollback; it is the scrubber.
function drawStrip(moment, box) {
  const { layout, runs, t, page } = moment;
  const { s } = layout;
  const end = stripEnd(moment);
  const x = (at) => round(box.x + (Math.min(at, end) / end) * box.width);
  const mid = box.y + box.height / 2;
  const words = say(moment.settled ? "wholeRun" : "soFar");
  const nodes = [
    label("words", 0, mid + 4 * s, 11 * s, words, { fill: "$muted" }),
    rect("base", box.x, mid - 3 * s, box.width, 6 * s, { rx: 3 * s, fill: "$prefill" }),
    rect("page", x(page.from), mid - 7 * s, Math.max(2, x(Math.min(page.to, end)) - x(page.from)), 14 * s, {
      rx: 4 * s, fill: "none", stroke: "$faint", "stroke-width": 1,
    }),
    rect("done", box.x, mid - 3 * s, x(t) - box.x, 6 * s, { rx: 3 * s, fill: "$faint" }),
  ];
  const share = (12 * s) / Math.max(1, runs.length);
  const ticksOf = (run, i) =>
    rollbackMoments([run]).map((m) => `M${x(m.death.since)} ${round(mid - 6 * s + i * share)}v${round(share - 1)}`).join("");
  const ticks = moment.settled ? (layout.ticks ??= runs.map(ticksOf)) : runs.map(ticksOf);
  ticks.forEach((d, i) => d && nodes.push(path(`ticks${i}`, d, { stroke: "$ink", "stroke-width": 1.5 })));
  nodes.push(
    node("circle", "knob", { cx: x(t), cy: round(mid), r: round(6.5 * s), fill: "$paper", stroke: "$ink", "stroke-width": 2 }),
  );
  return group("strip", nodes);
}

// The line from the unequal tokens to the verdict's edge in time: the same token.
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
      path(`halo${i}`, d, { stroke: "$paper", "stroke-width": 5 * s, "stroke-linejoin": "round" }),
      path(`tie${i}`, d, { stroke: "$reject", "stroke-width": 1.75 * s, "stroke-linejoin": "round" }),
    );
  });
  return group("ties", ties);
}
