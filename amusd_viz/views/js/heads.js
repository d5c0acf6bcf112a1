// What a speculator's heads propose where they step in for the draft: a row of its own below the
// draft's, which they do not write in. Its window is bracketed there.

import { chip } from "./chips.js";
import { group, label } from "./nodes.js";
import { keyOf } from "./run.js";
import { say } from "./sentences.js";
import { fateAt, headsAt } from "./state.js";

const HEADS_ROW = 42;

export function stepsIn(run) {
  return Boolean(run.header.speculator) || run.heads.length > 0;
}

export function headsHeight(run) {
  return stepsIn(run) ? HEADS_ROW : 0;
}

// Where the row stands below the top of its run.
export function headsTop(rhythm) {
  return rhythm.graveTop + HEADS_ROW;
}

export function drawHeads(area) {
  const { run, state, s, y, rhythm, t, start, shownTo } = area;
  if (!stepsIn(run) || state.finished) return null;
  const top = headsTop(rhythm);
  const { judged, proposals } = headsAt(run, state, t);
  const shown = proposals.filter(({ position }) => position >= start && position < shownTo);
  const nodes = shown.map((each) => {
    const id = `${run.number}:${keyOf(each.branch, each.position)}`;
    const look = judged ? (HEAD_LOOKS[fateAt(run, each.branch, each.position, t)] ?? "dead") : "pending";
    return chip(area, id, each.position, top, each.text, look, id, { small: true });
  });
  nodes.push(
    label("headsWord", 0, y + (top + 11 + 4) * s, 12 * s, say("heads"), { fill: "$muted" }),
  );
  return group("heads", nodes);
}

const HEAD_LOOKS = { accepted: "accepted", rejected: "rejected" };
