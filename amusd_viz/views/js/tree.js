// Candidates that are judged together, below the draft's row: a column a position, an elbow from each to
// what it follows. The draft's row holds the main chain; the path that the target chose is bold.

import { CHIP, chip } from "./chips.js";
import { columnX, TREE_INSET } from "./layout.js";
import { group, label, path, round } from "./nodes.js";
import { keyOf } from "./run.js";
import { say } from "./sentences.js";
import { candidatesAt, chosenIn } from "./state.js";

const TREE_ROW = 26;
const SMALL = 22; // height of a candidate
const MOST_TREE_ROWS = 7;

export function treeHeight(run) {
  return run.breadth ? Math.min(run.breadth, MOST_TREE_ROWS) * TREE_ROW + 8 : 0;
}

export function drawTree(area) {
  const { run, state, s, y, rhythm, t, start, shownTo } = area;
  if (!run.breadth || state.finished) return null;
  const top = rhythm.graveTop + TREE_ROW;
  const { window, judged, candidates } = candidatesAt(run, state, t);
  const shown = candidates.filter(
    ({ position, candidate }) => position >= start && position < shownTo && candidate <= MOST_TREE_ROWS,
  );
  const isChosen = (each) => judged && chosenIn(window, each.position, each.candidate);
  const rowOf = (each) => top + (each.candidate - 1) * TREE_ROW;
  const boldLast = [...shown.filter((each) => !isChosen(each)), ...shown.filter(isChosen)];
  const nodes = boldLast.map((each) => elbow(area, each, rowOf(each), isChosen(each)));
  for (const each of shown) {
    const look = judged ? (isChosen(each) ? "accepted" : "dead") : "pending";
    const id = `${run.number}:${keyOf(each.branch, each.position, each.candidate)}`;
    const options = { small: true, inset: TREE_INSET };
    nodes.push(chip(area, id, each.position, rowOf(each), each.text, look, id, options));
  }
  if (nodes.length) {
    const size = 12 * s;
    nodes.push(label("treeWord", 0, y + (top + 15) * s, size, say("candidates"), { fill: "$muted" }));
  }
  return group("tree", nodes);
}

// From what a candidate follows, in the column before, through the room between the columns.
function elbow({ layout, s, y, rhythm, start }, { position, candidate, parent }, place, chosen) {
  const row = Math.min(parent ?? 0, MOST_TREE_ROWS);
  const from = row ? rhythm.graveTop + row * TREE_ROW + SMALL / 2 : rhythm.draftTop + CHIP / 2;
  const x = columnX(layout, position, start);
  const turn = row ? x + (1 + 2 * row) * s : x - 2 * s;
  const points = [
    `M${round(x - 4 * s)} ${round(y + from * s)}`,
    `H${round(turn)}`,
    `V${round(y + (place + SMALL / 2) * s)}`,
    `H${round(x + TREE_INSET * s)}`,
  ];
  return path(`edge${position}:${candidate}`, points.join(" "), {
    stroke: chosen ? "$targetEdge" : "$faint",
    "stroke-width": round((chosen ? 2.5 : 1.25) * s),
    "stroke-linejoin": "round",
  });
}
