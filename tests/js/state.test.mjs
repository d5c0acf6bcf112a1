// The state at a playhead depends on nothing else; everything shown is in the trace; nothing is from
// the future; going back gives the same picture; committed text stands still on a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pair, random, simulated } from "./traces.mjs";
import { indexRun, knownAt, readRun } from "../../amusd_viz/views/js/run.js";
import { readTrace } from "../../amusd_viz/views/js/read.js";
import { believedAt, stateAt } from "../../amusd_viz/views/js/state.js";
import { stopsOf } from "../../amusd_viz/views/js/beats.js";
import { scene } from "../../amusd_viz/views/js/scene.js";
import { makeStage } from "../../amusd_viz/views/js/stage.js";

const SETTINGS = [
  { method: "amusd", seed: 1, agreement: 0.5 },
  { method: "amusd", seed: 2, agreement: 0.85, draft: 5 },
  { method: "amusd", seed: 3, agreement: 0.7, draft: 30, latency: 9 },
  { method: "amusd", seed: 4, agreement: 0.95, policy: "eager", latency: 0 },
  { method: "amusd", seed: 5, agreement: 0.2, policy: "fixed(5)", run_ahead: 8 },
  { method: "synchronous", seed: 6, agreement: 0.6 },
  { method: "synchronous", seed: 7, agreement: 0.9, lookahead: 7 },
  { method: "autoregressive", seed: 8 },
];

function moments(run, count, seed) {
  const next = random(seed);
  const stops = stopsOf([run], { every: true });
  return Array.from({ length: count }, (_, i) =>
    i % 2 ? stops[Math.floor(next() * stops.length)] : Math.floor(next() * run.end * 1.02),
  );
}

// What both sides hold at t, replayed from the events alone, the slow and obvious way.
function replay(trace, t) {
  const committed = [];
  let believed = [];
  let known = 0;
  for (const event of trace.events) {
    if ((event.end ?? event.t) > t) continue;
    if (event.kind === "verified") committed.push(...event.committed);
    if (event.kind === "proposed") believed[event.position] = event.token;
    if (event.kind === "rolled_back") believed = [...believed.slice(0, event.position), ...event.adopted];
    if (event.kind === "fast_forwarded") believed = [...believed.slice(0, event.position), ...event.adopted];
    if (event.kind === "received" && event.side === "draft") known = event.position + (event.count ?? 1);
  }
  return { committed, believed, known };
}

for (const settings of SETTINGS) {
  test(`rows show what a plain replay gives: ${JSON.stringify(settings)}`, () => {
    const run = readRun(simulated(settings));
    for (const t of moments(run, 60, settings.seed)) {
      const state = stateAt(run, t);
      const truth = replay(run.trace, t);
      assert.deepEqual(
        run.commits.slice(0, state.committed).map((c) => c.token),
        truth.committed,
      );
      const believed = Array.from({ length: state.length }, (_, p) => believedAt(run, p, t)?.token);
      assert.deepEqual(believed, truth.believed);
      assert.equal(state.known, truth.known);
    }
  });

  test(`a branch is dead exactly while the rows disagree: ${JSON.stringify(settings)}`, () => {
    const run = readRun(simulated(settings));
    for (const t of moments(run, 60, settings.seed + 50)) {
      const { committed, believed } = replay(run.trace, t);
      const first = believed.findIndex((token, p) => p < committed.length && token !== committed[p]);
      const { death } = stateAt(run, t);
      assert.equal(death ? death.position : -1, first);
    }
  });

  test(`nothing from the future is used: ${JSON.stringify(settings)}`, () => {
    const trace = readTrace(simulated(settings));
    const run = indexRun(trace);
    for (const t of moments(run, 40, settings.seed + 100)) {
      const cut = indexRun(knownAt(trace, t));
      const plain = (state) => JSON.stringify(state, (key, value) => (PRIVATE.has(key) ? undefined : value));
      assert.equal(plain(stateAt(run, t)), plain(stateAt(cut, t)));
    }
  });
}

// `heard` is written into a death when it is heard, and shown only then; `ended` is about the recording.
const PRIVATE = new Set(["heard", "ended"]);

test("twenty steps forward and twenty back give the same picture", () => {
  const stage = makeStage(pair({ seed: 11, agreement: 0.6 }));
  const stops = stopsOf(stage.runs);
  for (const future of ["ghost", "hidden"]) {
    const forward = stops.slice(0, 21).map((t) => JSON.stringify(scene(stage, t, { future })));
    const back = stops
      .slice(0, 21)
      .reverse()
      .map((t) => JSON.stringify(scene(stage, t, { future })));
    assert.deepEqual(back.reverse(), forward);
  }
});

test("committed text moves 0 px between steps on one page", () => {
  for (const future of ["ghost", "hidden"]) {
    const stage = makeStage(pair({ seed: 12, agreement: 0.6, tokens: 60 }));
    let before = null;
    let compared = 0;
    for (const t of stopsOf(stage.runs)) {
      const now = committedPlaces(scene(stage, t, { future, width: 1100 }));
      if (before && before.page === now.page) {
        for (const [key, place] of before.places) {
          assert.equal(now.places.get(key), place, `${key} at ${t}`);
          compared += 1;
        }
      }
      before = now;
    }
    assert.ok(compared > 500);
  }
});

function committedPlaces({ nodes }) {
  const places = new Map();
  const rulers = [];
  const visit = (node, path) => {
    const here = `${path}/${node.key}`;
    if (/targetRow$/.test(path) && node.key[0] === "t") places.set(here, node.attrs.transform);
    if (/ruler$/.test(path) && node.key[0] === "p") rulers.push(`${path}${node.key}`);
    node.children.forEach((child) => visit(child, here));
  };
  nodes.forEach((node) => visit(node, ""));
  const first = new Map();
  for (const each of rulers) {
    const block = each.split("/")[1];
    if (!first.has(block)) first.set(block, each);
  }
  return { places, page: JSON.stringify([...first]) };
}
