// Verdicts, and how they travel from the target's lane up to the draft's.

import { LANE } from "./bars.js";
import { timeX } from "./layout.js";
import { label, line, mark, node, path, round } from "./nodes.js";
import { lastNotAfter } from "./run.js";
import { say } from "./sentences.js";

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
    const fatal = verdict.extra === "correction" || verdict === state.death?.verdict;
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

// Verdicts travel from the target's lane up to the draft's: an arrow when heard, a dot on its way.
export function drawMessages(lanes) {
  const { moment, run, state, draftY, targetY } = lanes;
  const { layout, page, t } = moment;
  const { s } = layout;
  const nodes = [];
  const bottom = draftY + LANE * s;
  for (const rollback of run.rollbacks) {
    if (rollback.t > t) break;
    const sent = rollback.death?.verdict.end ?? rollback.t;
    if (rollback.t < page.from || sent > page.to) continue;
    const x = timeX(layout, page, rollback.t);
    const newest = state.graveyard?.since === rollback.t;
    const colour = newest ? "$ink" : "$muted";
    nodes.push(
      path(
        `sent${rollback.t}`,
        `M${round(timeX(layout, page, sent))} ${round(targetY)} L${round(x)} ${round(bottom + 4 * s)}`,
        { stroke: colour, "stroke-width": newest ? 1.75 : 1.25 },
      ),
      path(
        `head${rollback.t}`,
        `M${round(x)} ${round(bottom)} l${round(-3.5 * s)} ${round(6 * s)} h${round(7 * s)} Z`,
        { fill: colour },
      ),
      line(`cut${rollback.t}`, x, draftY - 4 * s, x, bottom, {
        stroke: colour,
        "stroke-width": newest ? 2.5 : 1.75,
      }),
      label(
        `branch${rollback.t}`,
        x + 4 * s,
        draftY - 5 * s,
        10 * s,
        say("branch", { branch: rollback.branch }),
        { fill: colour },
      ),
    );
  }
  if (state.death && !state.finished) nodes.push(...messageOnItsWay(lanes, bottom));
  return nodes;
}

// Its height says only how long it has been out, never when it will be heard.
function messageOnItsWay({ moment, state, targetY }, bottom) {
  const { layout, page, t } = moment;
  const { s } = layout;
  const sent = state.death.verdict.end;
  if (sent < page.from) return [];
  const x = timeX(layout, page, t);
  const share = 1 - Math.exp((-4 * (t - sent)) / layout.step);
  const y = targetY - share * (targetY - bottom - 5 * s);
  return [
    path("way", `M${round(timeX(layout, page, sent))} ${round(targetY)} L${round(x)} ${round(y)}`, {
      stroke: "$reject",
      "stroke-width": 1.75 * s,
      "stroke-dasharray": "3 3",
    }),
    node("circle", "dot", {
      cx: round(x),
      cy: round(y),
      r: round(5 * s),
      fill: "$reject",
      stroke: "$rejectEdge",
      "stroke-width": 1,
    }),
    label("wayWord", x + 9 * s, (targetY + bottom) / 2 + 4 * s, 11 * s, say("onItsWay"), {
      fill: "$reject",
      "font-weight": 600,
      stroke: "$paper",
      "stroke-width": 3,
      "paint-order": "stroke",
    }),
  ];
}
