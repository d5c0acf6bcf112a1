// Candidates that are judged together: where they stand, what they follow, which of them the target chose.

import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf } from "../../amusd_viz/views/js/facts.js";
import { scene } from "../../amusd_viz/views/js/scene.js";
import { makeStage } from "../../amusd_viz/views/js/stage.js";
import { fateAt, stateAt } from "../../amusd_viz/views/js/state.js";
import { treeTrace } from "./traces.mjs";

const stage = makeStage([treeTrace()]);
const [run] = stage.runs;
const [JUDGING, JUDGED] = [60e6, 91e6];

function looks(t) {
  const found = new Map();
  const visit = (node) => {
    if (node.attrs["data-look"]) found.set(node.attrs["data-token"], node.attrs["data-look"]);
    node.children.forEach(visit);
  };
  scene(stage, t).nodes.forEach(visit);
  return found;
}

function edges(t) {
  const found = new Map();
  const visit = (node) => {
    if (node.key.startsWith("edge")) found.set(node.key, node.attrs);
    node.children.forEach(visit);
  };
  scene(stage, t).nodes.forEach(visit);
  return found;
}

test("the main chain is what the draft believes; the other candidates stand below it", () => {
  assert.equal(stateAt(run, JUDGING).length, 4);
  assert.deepEqual(
    run.proposed.map((each) => each.text),
    [" sky", " is", " blue"],
  );
  const before = looks(JUDGING);
  for (const id of ["0:0:1", "0:0:1:1", "0:0:1:2", "0:0:2:1", "0:0:3:1"])
    assert.equal(before.get(id), "pending", id);
});

test("the path that the target chose is told from what it passed by", () => {
  const after = looks(JUDGED);
  assert.equal(after.get("0:0:1:1"), "accepted");
  assert.equal(after.get("0:0:2:1"), "accepted");
  assert.equal(after.get("0:0:1:2"), "dead");
  assert.equal(after.get("0:0:3:1"), "dead");
  assert.equal(after.get("0:0:1"), "contradicted");
  const bold = [...edges(JUDGED)].filter(([, attrs]) => attrs.stroke === "$targetEdge").map(([key]) => key);
  assert.deepEqual(bold, ["edge1:1", "edge2:1"]);
});

test("every candidate has its own fate, card and probability", () => {
  assert.equal(fateAt(run, 0, 1, JUDGING, 1), "window");
  assert.equal(fateAt(run, 0, 1, JUDGED, 1), "accepted");
  assert.equal(fateAt(run, 0, 1, JUDGED, 0), "rejected");
  assert.equal(fateAt(run, 0, 1, JUDGED, 2), "rejected");
  const card = factsOf([run], "0:0:2:1", JUDGED);
  assert.match(card.title, /“air”, proposed for position 2/);
  assert.deepEqual(
    card.more.find(([name]) => name === "candidate"),
    ["candidate", "1"],
  );
});

test("a tree gives nothing of the future away and can be judged by its sentence", () => {
  const hidden = JSON.stringify(scene(stage, JUDGING, { future: "hidden" }).nodes);
  assert.ok(!hidden.includes("scatters"), "what is committed later");
  assert.match(scene(stage, 41e6).sentence, /begins to judge a tree: .* and 4 further candidates/);
});
