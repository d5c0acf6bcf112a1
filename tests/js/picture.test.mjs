// What the picture shows is in the trace, and what is hidden cannot be told from it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pair, random, simulated } from "./traces.mjs";
import { readTrace, TraceProblem, atOf } from "../../amusd_viz/views/js/read.js";
import { momentOf, openingMoment, rollbackMoments } from "../../amusd_viz/views/js/beats.js";
import { scene } from "../../amusd_viz/views/js/scene.js";
import { grow, makeStage } from "../../amusd_viz/views/js/stage.js";
import { shown, fitted, widthOf } from "../../amusd_viz/views/js/measure.js";
import { renderSvg } from "../../amusd_viz/views/js/svg.js";
import { stateAt } from "../../amusd_viz/views/js/state.js";

const texts = pair({ seed: 21, agreement: 0.65 });
const stage = makeStage(texts);

function walk(nodes, visit, path = "") {
  for (const node of nodes) {
    visit(node, path);
    walk(node.children, visit, `${path}/${node.key}`);
  }
}

function wordsOfChips(drawing) {
  const words = [];
  walk(drawing.nodes, (node, path) => {
    if (node.key === "word" && /(targetRow|draftRow|grave)\//.test(`${path}/`)) words.push(node.text);
  });
  return words;
}

function times(count, seed, end) {
  const next = random(seed);
  return Array.from({ length: count }, () => Math.floor(next() * end));
}

test("every word in the rows was committed or proposed before the playhead", () => {
  for (const t of times(80, 1, stage.end)) {
    const known = new Set(["…", "discarded"]);
    for (const trace of stage.traces) {
      for (const event of trace.events) {
        if (atOf(event) > t) continue;
        if (event.kind === "proposed") known.add(shown(event.text));
        if (event.kind === "verified") event.texts.forEach((text) => known.add(shown(text)));
      }
    }
    for (const word of wordsOfChips(scene(stage, t, { width: 1200 })))
      assert.ok(known.has(word), `${word} at ${t}`);
  }
});

test("a hidden future cannot be told from another future", () => {
  for (const t of times(60, 2, stage.end)) {
    const others = texts.map((text) => otherFuture(readTrace(text), t));
    const mine = scene(stage, t, { future: "hidden" });
    const theirs = scene(makeStage(others), t, { future: "hidden" });
    const plain = ({ nodes, sentence, strip, question, width, height }) => ({
      nodes,
      sentence,
      strip,
      question,
      width,
      height,
    });
    assert.deepEqual(plain(theirs), plain(mine));
  }
});

// The same trace up to t; later everything takes longer, says something else, and soon ends.
function otherFuture({ header, events }, t) {
  const kept = [];
  for (const event of events) {
    if (atOf(event) <= t) kept.push(event);
    else if (event.start !== undefined && event.start <= t) {
      const end = event.end + 7e6;
      kept.push({
        ...event,
        end,
        text: "elsewhere",
        texts: event.texts?.map(() => "elsewhere"),
        token: 1,
        accepted: 0,
      });
    }
  }
  return { header, events: kept.sort((a, b) => atOf(a) - atOf(b)) };
}

test("nothing right of the playhead is solid, and ghosts carry no words", () => {
  for (const t of times(40, 3, stage.end)) {
    const drawing = scene(stage, t, { width: 1100 });
    let stem = null;
    walk(drawing.nodes, (node) => (stem = node.key === "stem" ? node.attrs.x1 : stem));
    walk(drawing.nodes, (node) => {
      if (node.attrs.class !== "amusd-bar") return;
      for (const child of node.children) {
        if (child.key === "bar") assert.ok(child.attrs.x + child.attrs.width <= stem + 1);
        if (child.key === "text") assert.ok(child.attrs.x <= stem + 1);
      }
    });
  }
});

test("only one thing on screen is filled with the strong colour of a rejected token", () => {
  for (const t of times(60, 4, stage.end)) {
    const looks = [];
    walk(scene(stage, t).nodes, (node) => looks.push(node.attrs["data-look"]));
    const dead = stage.runs.filter((run) => stateAt(run, t).death).length;
    assert.ok(looks.filter((look) => look === "rejected").length <= dead);
  }
});

test("a theater opens on the first rollback that catches its draft at work", () => {
  const t = openingMoment(stage.runs);
  assert.equal(t, rollbackMoments(stage.runs).find((m) => m.run === 1).t);
  assert.match(
    scene(stage, t).sentence,
    /^AMUSD: .* The draft does not know yet; it still works on a dead branch\.$/,
  );
});

test("moments are named", () => {
  const { runs } = stage;
  assert.equal(momentOf(runs, "start"), 0);
  assert.equal(momentOf(runs, "end"), stage.end);
  assert.equal(momentOf(runs, "192 ms"), 192e6);
  assert.equal(momentOf(runs, "0.5 s"), 5e8);
  assert.equal(momentOf(runs, 12), 12);
  assert.equal(momentOf(runs, "rollback 2"), rollbackMoments(runs)[1].t);
  for (const nothing of ["rollback 999", "soon", "rollback", "12", "<b>"])
    assert.equal(momentOf(runs, nothing), null);
});

test("a growing run ends as the whole run", () => {
  const next = random(9);
  const whole = readTrace(texts[1]);
  let growing = makeStage([{ header: whole.header, events: [] }], { settled: false });
  const left = [...whole.events];
  while (left.length) growing = grow(growing, 0, left.splice(0, 1 + Math.floor(next() * 30)));
  const settled = { ...growing, settled: true, layouts: new Map() };
  const again = makeStage([whole]);
  for (const t of times(20, 5, stage.end)) assert.deepEqual(scene(settled, t).nodes, scene(again, t).nodes);
});

test("what is no trace is refused in a sentence", () => {
  const header = JSON.stringify(stage.traces[0].header);
  const wrong = [
    "",
    "x",
    "[]",
    "null",
    '{"kind":"proposed"}',
    `${header}\nnonsense\n{}`,
    `${header}\n{"kind":"verified","start":2,"end":1}\n{}`,
    header.replace('"schema":1', '"schema":2'),
  ];
  for (const text of wrong)
    assert.throws(
      () => readTrace(text, "file.jsonl"),
      (error) => error instanceof TraceProblem && error.message.startsWith("file.jsonl "),
    );
  assert.equal(
    readTrace(`${header}\n{"kind":"proposed","st`).events.length,
    0,
    "a cut last line is left out",
  );
});

test("text is made harmless and fits", () => {
  assert.equal(shown("a\nb\tc"), "a↵b⇥c");
  assert.equal(shown("\u202eabc"), "‹202E›abc");
  assert.equal(shown("\u0000\u001b"), "��");
  assert.equal(shown("\ud800x"), "�x");
  assert.equal(shown(" "), "␣");
  assert.equal(shown(" two words ", 40, true), "␣two␣words␣");
  assert.equal(shown("x".repeat(10000), 20).length, 20);
  assert.ok(shown(`Z${"\u0335".repeat(99)}`).length <= 3);
  for (const width of [20, 60, 200]) assert.ok(widthOf(fitted("characterisation", width, 14), 14) <= width);
});

test("an SVG holds hostile text as text", () => {
  const lines = simulated({ method: "amusd" }).replaceAll(" sky", "</text><script>x</script>&\\u0000");
  const svg = renderSvg([lines], { width: 900, at: "200 ms" });
  assert.ok(!svg.includes("<script"));
  assert.ok(!/[\u0000-\u0008]/.test(svg));
  assert.ok(!svg.includes("undefined") && !svg.includes("NaN"));
});

test("no picture holds a number that is none", () => {
  for (const settings of [
    { method: "autoregressive" },
    { method: "amusd", tokens: 1 },
    { method: "synchronous", tokens: 2 },
  ]) {
    const small = makeStage([simulated(settings)]);
    for (const at of [0, 1, small.end / 2, small.end]) {
      for (const width of [320, 1000, 2400]) {
        const text = JSON.stringify(scene(small, at, { width }).nodes);
        assert.ok(!/NaN|undefined|null,"y"/.test(text));
      }
    }
  }
});

test("rows and lanes stand in one order, and the message goes from the verdict down to the draft's lane", () => {
  const drawing = scene(stage, openingMoment(stage.runs));
  const found = new Map();
  walk(drawing.nodes, (node, path) => found.set(`${path}/${node.key}`.replace(/^\//, ""), node.attrs));
  const end = (name) => [...found].find(([path]) => path.endsWith(name))[1];
  assert.ok(end("block1/labels/target").y < end("block1/labels/draft").y);
  const [target, draft] = [end("lanes1/targetBand"), end("lanes1/draftBand")];
  assert.ok(target.y < draft.y);
  const [from, to] = end("above1/way")
    .d.match(/-?[\d.]+ -?[\d.]+/g)
    .map((point) => point.split(" ").map(Number));
  assert.ok(target.y < from[1] && from[1] < to[1] && to[1] < draft.y, "unfinished");
});

test("each run is led by its own earlier text, never by more than it has committed", () => {
  for (const t of times(40, 6, stage.end)) {
    const drawing = scene(stage, t, { width: 900 });
    walk(drawing.nodes, (node, path) => {
      if (!/block(\d)\/earlier$/.test(path)) return;
      const run = stage.runs[Number(/block(\d)/.exec(path)[1])];
      const written = run.commits.slice(0, stateAt(run, t).committed).map((commit) => commit.text);
      assert.ok(written.join("").includes(node.text.replace("… ", "")), `${node.text} at ${t}`);
    });
  }
});

test("the key can be put away, and changes nothing else", () => {
  const [with_, without] = [true, false].map((key) => scene(stage, stage.end / 2, { key }));
  assert.deepEqual(
    with_.nodes.filter((node) => node.key !== "key"),
    without.nodes,
  );
  assert.ok(with_.height > without.height);
});
