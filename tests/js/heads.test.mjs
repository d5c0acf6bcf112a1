// Heads that step in for the draft: a row and bars of their own, and nothing of them in what the draft believes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sentenceAt } from "../../amusd_viz/views/js/beats.js";
import { factsOf } from "../../amusd_viz/views/js/facts.js";
import { sideOf } from "../../amusd_viz/views/js/read.js";
import { scene } from "../../amusd_viz/views/js/scene.js";
import { makeStage } from "../../amusd_viz/views/js/stage.js";
import { believedAt, fateAt, headsAt, stateAt } from "../../amusd_viz/views/js/state.js";
import { simulated } from "./traces.mjs";

const stage = makeStage([simulated({ method: "amusd+speculator", seed: 5, draft: 12, agreement: 0.85 })]);
const [run] = stage.runs;
const windows = run.windows.values;
const own = windows.find((window) => window.own && window.own === window.tokens.length);
const mixed = windows.find((window) => window.own && window.own < window.tokens.length);
const verdictOf = (window) => run.verdicts.find((verdict) => verdict.start === window.t);

function chips(t, row) {
  const found = new Map();
  const visit = (node, inRow) => {
    const here = inRow || node.key === row;
    if (here && node.attrs["data-look"]) found.set(node.attrs["data-token"], node.attrs["data-look"]);
    node.children.forEach((child) => visit(child, here));
  };
  scene(stage, t, { width: 1600 }).nodes.forEach((node) => visit(node, false));
  return found;
}

test("heads work on the target's device and write nothing into the draft's belief", () => {
  assert.ok(own && mixed && run.heads.length);
  for (const proposal of run.heads) {
    assert.equal(sideOf(proposal), "target");
    assert.ok(run.spans.target.includes(proposal) || proposal.end === proposal.start);
    const believed = believedAt(run, proposal.position, proposal.end);
    assert.ok(!believed || believed.adopted || believed.branch >= 0);
  }
  assert.ok(run.proposed.every((proposal) => proposal.branch >= 0));
});

test("their row shows what is judged, then what became of it, at every moment what is known", () => {
  for (const window of windows.filter((each) => each.own)) {
    const verdict = verdictOf(window);
    const judging = headsAt(run, stateAt(run, window.t + 1), window.t + 1);
    assert.equal(judging.judged, false);
    assert.deepEqual(
      judging.proposals.map((each) => each.token),
      window.tokens.slice(-window.own),
    );
    const judged = headsAt(run, stateAt(run, verdict.end), verdict.end);
    assert.equal(judged.judged, true);
    for (const { branch, position } of judged.proposals) {
      assert.equal(fateAt(run, branch, position, window.t + 1), "window");
      const fate = fateAt(run, branch, position, verdict.end);
      const index = position - verdict.position;
      const wanted =
        index < verdict.accepted ? "accepted" : index === verdict.accepted ? "rejected" : "after_mismatch";
      assert.equal(fate, wanted);
    }
  }
});

test("the picture has them below the draft, with their looks", () => {
  const t = own.t + 1;
  const looks = chips(t, "heads");
  assert.equal(looks.size, own.own);
  assert.ok([...looks.values()].every((look) => look === "pending"));
  assert.ok([...looks.keys()].every((id) => id.startsWith(`0:${own.chain}:`)));
  for (const id of chips(t, "draftRow").keys()) assert.ok(!id.startsWith("0:-"));
});

test("a rejected head kills no branch by itself", () => {
  const rejecting = run.verdicts.filter(
    (v) => v.own && v.extra === "correction" && v.accepted >= v.proposals - v.own,
  );
  assert.ok(rejecting.length > 3);
  for (const verdict of rejecting) {
    const death = [...run.deathOf.values()].find((each) => each.verdict === verdict);
    if (death) assert.equal(death.cause, "contradicted");
  }
  assert.ok(rejecting.some((v) => ![...run.deathOf.values()].some((each) => each.verdict === v)));
});

test("sentences and cards say who proposed", () => {
  assert.match(sentenceAt(stage.runs, own.t), /step in|rejected|does not know/);
  const first = `0:${own.chain}:${own.position}`;
  const facts = factsOf(stage.runs, first, verdictOf(own).end);
  assert.ok(facts.more.some(([name, value]) => name === "head" && value === "0"));
  assert.ok(!facts.more.some(([name]) => name === "branch"));
  const card = factsOf(stage.runs, `0:w:${mixed.position}`, mixed.t);
  assert.ok(card.rows.some(([name, value]) => name === "of which the heads\'" && value === String(mixed.own)));
});

test("heads without a draft model never work on a dead branch", () => {
  const recorded = new URL("../../assets/traces/speculator/sky-chain.jsonl", import.meta.url);
  const { runs } = makeStage([readFileSync(recorded, "utf8")]);
  const deaths = [...runs[0].deathOf.values()];
  assert.ok(deaths.length > 20);
  for (const death of deaths) {
    const sentence = sentenceAt(runs, death.since);
    assert.match(sentence, /start anew from there/);
    assert.doesNotMatch(sentence, /dead branch|does not know/);
  }
});

test("what was looked up in the text says so, and names no head", () => {
  const recorded = new URL("../../assets/traces/speculator/sky-chain.jsonl", import.meta.url);
  const lines = readFileSync(recorded, "utf8").trim().split("\n");
  const at = lines.findIndex((line) => JSON.parse(line).kind === "proposed");
  const { head, probability, ...rest } = JSON.parse(lines[at]);
  assert.ok(head === 0 && probability > 0);
  lines[at] = JSON.stringify({ ...rest, drafter: "prompt lookup" });
  const { runs } = makeStage([lines.join("\n")]);
  const facts = factsOf(runs, `0:${rest.branch}:${rest.position}`, rest.end);
  assert.ok(facts.more.some(([name]) => name === "by prompt lookup"));
  assert.ok(!facts.more.some(([name]) => name === "head"));
});
