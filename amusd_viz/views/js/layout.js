// Where things stand: columns of text, pages of text, pages of time. Nothing here depends on the
// playhead except through what the pages say, so that nothing moves between two steps on one page.

import { lastNotAfter } from "./run.js";
import { shown, widthOf } from "./measure.js";

export const TREE_INSET = 14; // room for elbows left of a candidate of a tree

const PAGE_TURN = 0.85;
const MARK_AND_PADDING = 28;

// Where rows and lanes stand, in px of ordinary size; `tight` where a whole tab is to be filled.
const ROOMY = {
  title: 46,
  sentence: 8,
  ruler: 33,
  targetTop: 39,
  draftTop: 91,
  graveTop: 125,
  block: 160,
  gap: 26,
  between: 34,
  foot: 8,
};
const TIGHT = {
  title: 40,
  sentence: 4,
  ruler: 26,
  targetTop: 30,
  draftTop: 75,
  graveTop: 105,
  block: 132,
  gap: 20,
  between: 24,
  foot: 4,
};
const CONTEXT = { wide: 3, narrow: 1 }; // committed tokens kept in view when a page turns

// All measures of a stage for a width in px. `size` is the type size: 14, or 20 when presenting.
export function layOut(runs, { width, size = 14, zoom = 1, settled = true, spaces = false, tight = false }) {
  const s = size / 14;
  const narrow = width / s < 900;
  const names = runs.map((run) => widthOf(run.label, 13.5 * s, true) + 20 * s);
  const left = Math.round(Math.max((narrow ? 72 : 116) * s, ...names));
  const right = Math.round((narrow ? 72 : 104) * s);
  const room = Math.max(120, width - left - right);
  const layout = { width, size, s, narrow, left, right, room, rhythm: tight ? TIGHT : ROOMY };
  layout.columns = columnOffsets(runs, layout, settled, spaces);
  layout.joint = pagesOf(runs, layout);
  layout.own = runs.map((run) => pagesOf([run], layout));
  const step = Math.max(1, ...runs.filter((run) => run.hasDraft).map((run) => run.step));
  layout.step = step > 1 ? step : Math.max(1, ...runs.map((run) => run.step));
  layout.pageTime = (layout.step * layout.room) / (44 * s) / zoom;
  return layout;
}

// Left edge of every column, in px from the left edge of column 0; one more than there are columns.
function columnOffsets(runs, layout, settled, spaces) {
  const widths = [];
  const need = (text, inset) => {
    const wanted =
      widthOf(shown(text, 40, spaces), layout.size, true) + (MARK_AND_PADDING + inset) * layout.s;
    return Math.min(Math.max(wanted, 44 * layout.s), 160 * layout.s);
  };
  const committed = runs.map(() => 0);
  for (const [, index, isCommit, position, text, inset] of writesInOrder(runs)) {
    // A growing run may widen a column only while nothing is committed behind it.
    const free = settled || runs.every((_, i) => committed[i] <= position + 1);
    const floor = settled ? 0 : 60 * layout.s;
    if (free || widths[position] === undefined) {
      widths[position] = Math.max(widths[position] ?? floor, need(text, inset));
    }
    if (isCommit) committed[index] = position + 1;
  }
  const offsets = [0];
  for (let p = 0; p < widths.length; p++) {
    offsets.push(offsets[p] + Math.round(widths[p] ?? 60 * layout.s));
  }
  return offsets;
}

function writesInOrder(runs) {
  const writes = [];
  runs.forEach((run, index) => {
    for (const p of run.proposed) writes.push([p.end, index, false, p.position, p.text, 0]);
    for (const p of run.heads) writes.push([p.end, index, false, p.position, p.text, 0]);
    for (const p of run.candidates) writes.push([p.end, index, false, p.position, p.text, TREE_INSET]);
    for (const c of run.commits) writes.push([c.at, index, true, c.position, c.text, 0]);
  });
  return writes.sort((a, b) => a[0] - b[0]);
}

export function columnX(layout, position, start) {
  const { columns } = layout;
  const last = columns.length - 1;
  const beyond = Math.max(0, position - last) * 60 * layout.s;
  return layout.left + columns[Math.min(position, last)] + beyond - columns[Math.min(start, last)];
}

// Page turns of the text, folded over the runs' own events: times, and the first position from then on.
function pagesOf(runs, layout) {
  const times = [-1];
  const starts = [0];
  const committed = runs.map(() => 0);
  const length = runs.map(() => 0);
  const offset = (p) => layout.columns[Math.min(p, layout.columns.length - 1)];
  const limit = PAGE_TURN * layout.room;
  const context = layout.room < 400 * layout.s ? CONTEXT.narrow : CONTEXT.wide;
  for (const [t, index, what, value] of frontiers(runs)) {
    (what === "committed" ? committed : length)[index] = value;
    const start = starts[starts.length - 1];
    const frontier = Math.max(...committed, ...length);
    if (offset(frontier) - offset(start) <= limit) continue;
    let next = Math.max(0, Math.min(...committed) - context);
    if (offset(frontier) - offset(next) > limit) next = Math.max(0, Math.max(...committed) - context);
    if (next > start + 1) {
      times.push(t);
      starts.push(next);
    }
  }
  return { times, starts };
}

function frontiers(runs) {
  const moves = [];
  runs.forEach((run, index) => {
    run.committed.times.forEach((t, i) => moves.push([t, index, "committed", run.committed.values[i]]));
    run.length.times.forEach((t, i) => moves.push([t, index, "length", run.length.values[i]]));
  });
  return moves.sort((a, b) => a[0] - b[0]);
}

// First position on the page of a run at t. Runs share a page; one that lags behind it has its own.
export function pageStart(layout, run, place, t) {
  const joint = layout.joint.starts[lastNotAfter(layout.joint.times, t)];
  if (joint === 0 || run.committed.at(t) > joint) return joint;
  const own = layout.own[place];
  return Math.min(joint, own.starts[lastNotAfter(own.times, t)]);
}

// The page of time around t: {from, to} in ns. Pages turn when the playhead passes 85 % of the width.
export function timePage(layout, t) {
  const stride = 0.7 * layout.pageTime;
  const number = Math.max(0, Math.ceil((t - PAGE_TURN * layout.pageTime) / stride - 1e-9));
  return { number, from: number * stride, to: number * stride + layout.pageTime };
}

export function timeX(layout, page, t) {
  const x = layout.left + ((t - page.from) / (page.to - page.from)) * layout.room;
  return Math.min(Math.max(x, layout.left), layout.left + layout.room);
}

// Round steps for the axis, about one per 110 px, in ns.
export function tickStep(layout, page) {
  const wanted = (page.to - page.from) / (layout.room / (110 * layout.s));
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= wanted);
}
