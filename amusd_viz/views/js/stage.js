// The runs that are shown together.

import { inOrder, readTrace } from "./read.js";
import { indexRun, knownAt, lastNotAfter } from "./run.js";

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

// How far the runs that are still going have come; where none is, the end.
export function frontierOf({ runs, end }) {
  const going = runs.filter((run) => !run.finished && !run.failures.some((each) => each.side === "target"));
  return going.length ? endOf(going) : end;
}

// Traces without the autoregressive ones, unless there is nothing else.
export function speculative(traces) {
  const some = traces.filter(({ header }) => header.method !== "autoregressive");
  return some.length ? some : traces;
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
    stage.hidden = {
      key,
      stage: makeStage(
        stage.traces.map((trace) => knownAt(trace, t)),
        { settled: false },
      ),
    };
  }
  return stage.hidden.stage;
}

function clocksOf({ events }) {
  const ascending = (times) => times.filter((time) => time !== undefined).sort((a, b) => a - b);
  return { starts: ascending(events.map((e) => e.start)), ends: ascending(events.map((e) => e.end ?? e.t)) };
}
