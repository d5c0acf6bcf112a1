// (B) Text, one column per position: what the target has committed, what the draft believes.

import { CHIP, chip } from "./chips.js";
import { columnX } from "./layout.js";
import { fitted, fittedEnd, shown, widthOf } from "./measure.js";
import { group, label, line, mark, node, path, round } from "./nodes.js";
import { drawHeads, headsHeight, headsTop } from "./heads.js";
import { keyOf, sizeOf } from "./run.js";
import { say, sayMany } from "./sentences.js";
import { believedAt } from "./state.js";
import { drawTree, treeHeight } from "./tree.js";

const SIGN = 9.5; // radius of the unequal sign

export function blockHeight(run, { rhythm, s }) {
  return (run.hasDraft ? rhythm.block + treeHeight(run) + headsHeight(run) : rhythm.targetTop + CHIP + 18) * s;
}

// -> {nodes, mismatch}: the drawing, and where the two rows disagree (null if they do not).
export function drawBlock(moment, place, y) {
  const { layout, runs, states, starts } = moment;
  const run = runs[place];
  const state = states[place];
  const area = {
    moment,
    run,
    state,
    y,
    s: layout.s,
    rhythm: layout.rhythm,
    start: starts[place],
    layout,
    t: moment.t,
  };
  area.shownTo = lastColumn(area);
  const nodes = [drawLabels(area), drawEarlier(area), drawRuler(area), drawTargetRow(area)];
  if (run.hasDraft) {
    nodes.push(drawDraftRow(area), drawWindow(area), drawGraveyard(area), drawHeads(area), drawTree(area));
  }
  const mismatch = drawMismatch(area);
  nodes.push(mismatch.nodes);
  return { nodes: group(`block${place}`, nodes), mismatch: mismatch.at };
}

// First position that no longer fits the page.
function lastColumn({ layout, start }) {
  const edge = layout.left + layout.room;
  let p = start;
  while (p < start + 200 && columnX(layout, p + 1, start) <= edge + 1) p++;
  return p;
}

function drawLabels({ moment, run, state, y, s, rhythm, layout }) {
  const { narrow, width } = layout;
  const pinned = moment.view.pinned === run.number;
  const others = moment.states.filter((other) => other !== state).map((other) => other.committed);
  const lead = others.length ? state.committed - Math.max(...others) : 0;
  const right = width;
  const small = { fill: "$muted", "text-anchor": "end" };
  const count = say(narrow ? "committedShort" : "committedCount", { count: state.committed });
  const range = state.committed && !narrow ? say("committedRange", { last: state.committed - 1 }) : "";
  const ahead = narrow ? say("leadShort", { count: lead }) : sayMany("lead", lead);
  const nodes = [
    label("name", 0, y + 13 * s, 13.5 * s, fitted(run.label, layout.left - 6 * s, 13.5 * s, true), {
      "font-weight": 700,
      "text-decoration": pinned ? "underline" : "",
    }),
    label("target", 0, y + (rhythm.targetTop + 19) * s, 13 * s, say("target"), { fill: "$muted" }),
    label("committed", right, y + (rhythm.targetTop + 13) * s, 12.5 * s, count, {
      ...small,
      fill: "$ink",
      "font-weight": 600,
    }),
    label("range", right, y + (rhythm.targetTop + 28) * s, 11.5 * s, range, small),
  ];
  if (lead > 0)
    nodes.push(
      label("lead", right, y + 13 * s, 12.5 * s, ahead, {
        ...small,
        "font-weight": 700,
        fill: "$ink",
      }),
    );
  if (run.hasDraft) {
    const behind = state.known < state.committed && !state.draftFailed;
    const how = state.draftFailed ? "draftFailed" : narrow ? "knowsShort" : behind ? "knows" : "knowsAll";
    const knows = say(how, { count: state.known, all: state.committed });
    nodes.push(
      label("draft", 0, y + (rhythm.draftTop + 19) * s, 13 * s, say("draft"), { fill: "$muted" }),
      label("knows", right, y + (rhythm.draftTop + 19) * s, 12.5 * s, knows, {
        ...small,
        fill: behind ? "$ink" : "$muted",
        "font-weight": behind ? 600 : 400,
      }),
    );
  }
  return group("labels", nodes);
}

// Committed text left of the page, folded into one line.
function drawEarlier({ run, state, y, s, layout, start }) {
  const texts = run.commits.slice(Math.max(0, start - 160), Math.min(start, state.committed));
  if (!texts.length) return group("earlier", []);
  const plain = texts
    .map((commit) => commit.text)
    .join("")
    .replace(/\s+/g, " ");
  const text = shown(plain, 1200);
  const size = 13 * s;
  const line = fittedEnd(text, layout.room, size);
  return group("earlier", [label("text", layout.left, y + 13 * s, size, line, { fill: "$muted" })]);
}

function drawRuler({ state, y, s, rhythm, layout, start, shownTo }) {
  const base = y + rhythm.ruler * s;
  const size = 11.5 * s;
  const nodes = [label("name", 0, base, size, say("position"), { fill: "$muted" })];
  const far = Math.max(
    state.committed,
    state.length,
    state.draft?.kind === "proposed" ? state.draft.position + 1 : 0,
  );
  for (let p = start; p < Math.min(shownTo, far); p++) {
    const x = columnX(layout, p, start);
    nodes.push(label(`p${p}`, x + 6 * s, base, size, String(p), { fill: "$muted" }));
  }
  return group("ruler", nodes);
}

function drawTargetRow(area) {
  const { run, state, start, shownTo, rhythm } = area;
  const nodes = [];
  for (let p = start; p < Math.min(shownTo, state.committed); p++) {
    const commit = run.commits[p];
    const newest = commit.verdict === state.verdict && !state.finished;
    const look = newest ? lookOfNew(commit.how, isLatest(area)) : "plain";
    nodes.push(chip(area, `t${p}`, p, rhythm.targetTop, commit.text, look, `${run.number}:c:${p}`));
  }
  return group("targetRow", nodes);
}

function lookOfNew(how, latest) {
  const look = how === "accepted" || how === "plain" ? "accepted" : "star";
  return latest ? look : `${look}Before`;
}

// Whether this run's newest verdict is the newest of all runs.
function isLatest({ moment, state }) {
  return moment.states.every((other) => !other.verdict || other.verdict.end <= state.verdict.end);
}

function drawDraftRow(area) {
  const { run, state, start, shownTo, rhythm, t } = area;
  const nodes = [];
  for (let p = start; p < Math.min(shownTo, state.length); p++) {
    const believed = believedAt(run, p, t);
    if (!believed) continue;
    const id = believed.adopted ? `${run.number}:c:${p}` : `${run.number}:${believed.branch}:${p}`;
    const key = believed.adopted ? `a${p}` : keyOf(believed.branch, p);
    nodes.push(chip(area, key, p, rhythm.draftTop, believed.text, lookOfBelief(area, p), id));
  }
  const hidden = state.length - shownTo;
  if (hidden > 0) nodes.push(more(area, hidden));
  else if (state.draft?.kind === "proposed" && state.draft.position < shownTo && !state.finished) {
    const look = state.death ? "deadThinking" : "thinking";
    nodes.push(
      chip(
        area,
        keyOf(state.draft.branch, state.draft.position),
        state.draft.position,
        rhythm.draftTop,
        "…",
        look,
        null,
      ),
    );
  }
  return group("draftRow", nodes);
}

function lookOfBelief({ state }, p) {
  const { death } = state;
  if (death && p === death.position) return death.cause === "correction" ? "rejected" : "contradicted";
  if (death && p > death.position) return "dead";
  if (p < state.known) return "known";
  return "pending";
}

function more({ layout, rhythm, s, y }, count) {
  const x = layout.left + layout.room;
  return label(
    "beyond",
    x + 4 * s,
    y + (rhythm.draftTop + CHIP + 17) * s,
    11.5 * s,
    say("ahead", { count }),
    {
      fill: "$muted",
      "text-anchor": "end",
    },
  );
}

// The window being judged, or the one just judged: a bracket over the draft's row, its word at its end.
function drawWindow(area) {
  const { state, s, y, rhythm, layout } = area;
  const judging = state.window;
  const judged = !judging && state.verdict && state.verdict.proposals ? state.verdict : null;
  const count = judging ? sizeOf(judging) : judged ? judged.proposals : 0;
  if (!count || state.finished) return group("window", []);
  const { position, own = 0 } = judging ?? judged;
  const middle = position + count - own;
  // The last bracket has the word: the draft's own, or that of the heads' row where they stepped in.
  const parts = [
    [position, middle, y + (rhythm.draftTop - 7) * s],
    [middle, position + count, y + (headsTop(rhythm) - 7) * s],
  ]
    .map(([from, to, top]) => ({ span: columnsSpan(area, from, to), top }))
    .filter(({ span }) => span);
  if (!parts.length) return group("window", []);
  const { span, top } = parts.at(-1);
  const colour = judging ? "$targetEdge" : "$faint";
  const size = 11.5 * s;
  const x = Math.max(span.x + span.width, own ? 0 : edgeOfSign(area, position + count)) + 6 * s;
  const words = judging
    ? [say("judging")]
    : ["judged", "judgedShort"].map((name) => say(name, { accepted: judged.accepted, count }));
  const text = words.find((each) => x + widthOf(each, size) <= layout.width) ?? "";
  const stroke = { stroke: colour, "stroke-width": round((judging ? 2 : 1.25) * s) };
  return group("window", [
    ...parts.map((part, i) => path(i ? "bracket2" : "bracket", bracketOver(part, s), stroke)),
    label("bracketWord", x, top + 1 * s, size, text, { fill: judging ? "$targetEdge" : "$muted" }),
  ]);
}

function bracketOver({ span, top }, s) {
  const down = round(top + 5 * s);
  return `M${round(span.x)} ${down} V${round(top)} H${round(span.x + span.width)} V${down}`;
}

// Right edge of the unequal sign where it stands behind a window of which all was accepted.
function edgeOfSign(area, end) {
  const { state, s } = area;
  const column = state.death?.position === end ? columnsSpan(area, end, end + 1) : null;
  return column ? column.x + column.width / 2 + SIGN * s : 0;
}

function columnsSpan({ layout, start, shownTo, s }, from, to) {
  const first = Math.max(from, start);
  const last = Math.min(to, shownTo);
  if (last <= first) return null;
  const x = columnX(layout, first, start);
  return { x, width: columnX(layout, last, start) - x - 4 * s };
}

// Where the two rows disagree: the unequal sign between them, the dead branch below.
function drawMismatch(area) {
  const { state, s, y, rhythm, layout, start, shownTo } = area;
  const { death } = state;
  if (!death || death.position < start || death.position >= shownTo || state.finished) {
    return { nodes: group("mismatch", []), at: null };
  }
  const x = columnX(layout, death.position, start);
  const width = columnX(layout, death.position + 1, start) - x - 4 * s;
  const middle = x + width / 2;
  const cy = y + ((rhythm.targetTop + CHIP + rhythm.draftTop) / 2) * s;
  const nodes = [
    line("link", middle, y + (rhythm.targetTop + CHIP) * s, middle, y + rhythm.draftTop * s, {
      stroke: "$reject",
      "stroke-width": 2 * s,
    }),
    node("circle", "disc", {
      cx: round(middle),
      cy: round(cy),
      r: round(SIGN * s),
      fill: "$reject",
      stroke: "$rejectEdge",
      "stroke-width": round(1.5 * s),
    }),
    mark("unequal", "sign", middle, cy, 5.6 * s, "$onReject"),
  ];
  const far = Math.max(state.length, state.draft?.kind === "proposed" ? state.draft.position + 1 : 0);
  const branch = columnsSpan(area, death.position, far);
  const bottom = y + (rhythm.draftTop + CHIP + 6) * s;
  const d = `M${round(branch.x)} ${round(bottom - 3 * s)} V${round(bottom)} H${round(branch.x + branch.width)} V${round(bottom - 3 * s)}`;
  nodes.push(
    path("branch", d, { stroke: "$deadEdge", "stroke-width": round(1.25 * s) }),
    label(
      "branchWord",
      branch.x + 12 * s,
      bottom + 15 * s,
      12.5 * s,
      say("deadBranch", { branch: death.branch }),
      { fill: "$deadText" },
    ),
  );
  return { nodes: group("mismatch", nodes), at: { x: x + 6 * s, y: y + (rhythm.draftTop + CHIP) * s } };
}

// What the draft threw away, dropped below its row until the next verdict.
function drawGraveyard(area) {
  const { state, run, s, y, rhythm, layout, start } = area;
  const grave = state.graveyard;
  if (!grave || state.death || state.finished) return group("grave", []);
  const nodes = [];
  for (const proposal of grave.proposals) {
    if (proposal.position < start || proposal.position >= area.shownTo) continue;
    const id = `${run.number}:${proposal.branch}:${proposal.position}`;
    nodes.push(
      chip(
        area,
        keyOf(proposal.branch, proposal.position),
        proposal.position,
        rhythm.graveTop,
        proposal.text,
        "dead",
        id,
        { dropped: true },
      ),
    );
  }
  if (nodes.length) {
    nodes.push(
      label("graveWord", 0, y + (rhythm.graveTop + 15) * s, 12 * s, sayMany("discarded", nodes.length), {
        fill: "$deadText",
      }),
    );
  }
  return group("grave", nodes);
}
