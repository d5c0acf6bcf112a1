// Verdicts, and how they travel from the target's lane down to the draft's.

import { LANE } from "./bars.js";
import { timeX } from "./layout.js";
import { shown, widthOf } from "./measure.js";
import { label, line, mark, node, path, round } from "./nodes.js";
import { branchIn, lastNotAfter } from "./run.js";
import { say } from "./sentences.js";

const HALO = { stroke: "$paper", "stroke-width": 3, "paint-order": "stroke" };

export function drawVerdictMarks({ moment, run, state, targetY }) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const nodes = [];
  for (let i = Math.max(0, lastNotAfter(run.verdictTimes.times, page.from)); i < run.verdicts.length; i++) {
    const verdict = run.verdicts[i];
    if (verdict.end > Math.min(t, page.to)) break;
    if (verdict.end < page.from || !verdict.proposals || verdict.extra === "none") continue;
    const x = timeX(layout, page, verdict.end);
    const y = targetY + (LANE / 2) * s;
    const newest = verdict === state.verdict;
    const judgedLast = branchIn(verdict, verdict.position + verdict.accepted);
    const fatal = (verdict.extra === "correction" && judgedLast >= 0) || verdict === state.death?.verdict;
    nodes.push(...verdictMark(`v${i}`, x, y, s, verdict, { fatal, newest }));
  }
  return nodes;
}

// A cross where a proposal was rejected, an unequal sign where a bonus contradicts the draft, or a check.
function verdictMark(key, x, y, s, verdict, { fatal, newest }) {
  const sign = verdict.extra === "correction" ? "cross" : fatal ? "unequal" : "check";
  const strong = fatal && newest;
  const disc = strong
    ? { r: round(8.5 * s), fill: "$reject", stroke: "$rejectEdge", "stroke-width": round(1.5 * s) }
    : {
        r: round(6 * s),
        fill: "$paper",
        stroke: newest ? "$targetEdge" : "$muted",
        "stroke-width": newest ? 1.5 : 1,
      };
  const colour = strong ? "$onReject" : newest ? "$targetEdge" : "$muted";
  return [
    node("circle", `${key}disc`, { cx: round(x), cy: round(y), ...disc }),
    mark(sign, `${key}mark`, x, y, (strong ? 4.2 : 3) * s, colour),
  ];
}

export function edgeOf({ moment, state, targetY }) {
  const { layout, page } = moment;
  const end = state.death?.verdict.end ?? null;
  if (end === null || end < page.from || end > page.to) return null;
  return { x: timeX(layout, page, end), y: targetY };
}

// Verdicts travel from the target's lane down to the draft's: an arrow when heard, an unfinished one on
// its way.
export function drawMessages(lanes) {
  const { run, state, moment } = lanes;
  const { page, t } = moment;
  const nodes = [];
  for (const rollback of run.rollbacks) {
    if (rollback.t > t) break;
    const sent = rollback.death?.verdict.end ?? rollback.t;
    if (rollback.t < page.from || sent > page.to) continue;
    nodes.push(...heardMessage(lanes, rollback, sent));
  }
  if (state.death && !state.finished) nodes.push(...messageOnItsWay(lanes));
  return nodes;
}

function heardMessage({ moment, state, draftY, targetY }, rollback, sent) {
  const { layout, page } = moment;
  const { s } = layout;
  const x = timeX(layout, page, rollback.t);
  const newest = state.graveyard?.since === rollback.t;
  const colour = newest ? "$ink" : "$muted";
  const shaft = `M${round(timeX(layout, page, sent))} ${round(targetY + LANE * s)} L${round(x)} ${round(draftY - 5 * s)}`;
  const head = `M${round(x)} ${round(draftY)} l${round(-4 * s)} ${round(-7 * s)} h${round(8 * s)} Z`;
  const branch = say("branch", { branch: rollback.branch });
  return [
    path(`sent${rollback.t}`, shaft, { stroke: colour, "stroke-width": newest ? 1.75 : 1.25 }),
    path(`head${rollback.t}`, head, { fill: colour }),
    line(`cut${rollback.t}`, x, draftY, x, draftY + LANE * s, {
      stroke: colour,
      "stroke-width": newest ? 2.5 : 1.75,
    }),
    label(`branch${rollback.t}`, x + 8 * s, draftY - 8 * s, 12 * s, branch, { fill: colour, ...HALO }),
  ];
}

// How far it has come says only how long it has been out, never when it will be heard.
function messageOnItsWay({ moment, run, state, draftY, targetY }) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const { verdict, position } = state.death;
  const from = { x: timeX(layout, page, verdict.end), y: targetY + (LANE / 2 + 9) * s };
  const share = 1 - Math.exp((-4 * (t - verdict.end)) / layout.step);
  const to = { x: timeX(layout, page, t), y: from.y + (6 + share * (draftY / s - from.y / s - 9)) * s };
  const size = 12 * s;
  const whole = say("onItsWay", { committed: shown(run.commits[position].text, 20) });
  const room = { right: layout.width - to.x - 12 * s, left: to.x - 12 * s - layout.left };
  const most = Math.max(room.right, room.left);
  const text = widthOf(whole, size, true) <= most ? whole : say("onItsWayShort");
  const right = widthOf(text, size, true) <= room.right;
  const stroke = { stroke: "$reject", "stroke-width": round(2.5 * s), "stroke-linecap": "round" };
  const way = `M${round(from.x)} ${round(from.y)} L${round(to.x)} ${round(to.y)}`;
  return [
    path("halo", way, { stroke: "$paper", "stroke-width": round(12 * s) }),
    path("way", way, stroke),
    path("tip", openHead(from, to, 5.5 * s), { ...stroke, "stroke-linejoin": "round" }),
    label("wayWord", to.x + (right ? 12 : -12) * s, (from.y + draftY) / 2 + 3 * s, size, text, {
      fill: "$reject",
      "font-weight": 600,
      "text-anchor": right ? "start" : "end",
      ...HALO,
    }),
  ];
}

// Two strokes that meet at the end of a line, at 40 degrees to it.
function openHead(from, to, size) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const [left, right] = [-0.7, 0.7].map((turn) => {
    const x = to.x - size * Math.cos(angle + turn);
    return `${round(x)} ${round(to.y - size * Math.sin(angle + turn))}`;
  });
  return `M${left} L${round(to.x)} ${round(to.y)} L${right}`;
}
