// Around rows and lanes: title and badge, the sentence (A), earlier text, the strip of the whole run.

import { rollbackMoments } from "./beats.js";
import { fitted, fittedEnd, shown, widthOf, wrapped } from "./measure.js";
import { group, label, node, path, rect, round } from "./nodes.js";
import { say } from "./sentences.js";

export function drawHeader({ layout, runs, view }) {
  const { s, width } = layout;
  const sources = [...new Set(runs.map((run) => run.header.source))];
  const badges = sources.map((source) =>
    badgeText(
      source,
      runs.filter((run) => run.header.source === source),
      sources.length > 1,
    ),
  );
  if (view.badge) badges.push(view.badge);
  const size = 11 * s;
  const nodes = [];
  let right = width;
  badges.forEach((text, i) => {
    const w = widthOf(text, size, true) + 20 * s;
    const measured = sources[i] !== "simulated";
    right -= w;
    nodes.push(
      rect(`badge${i}`, right + 0.5, 6.5 * s, w - 1, 20 * s, {
        rx: 10 * s,
        fill: "none",
        stroke: "$muted",
        "stroke-width": 1.25,
        "stroke-dasharray": measured ? "" : "4 3",
      }),
      label(`badgeText${i}`, right + w / 2, 20.5 * s, size, text, {
        "text-anchor": "middle",
        "font-weight": 600,
        fill: "$muted",
        "letter-spacing": 0.3,
      }),
    );
    right -= 10 * s;
  });
  const prompts = [...new Set(runs.map((run) => run.header.prompt || "").filter(Boolean))].map((p) =>
    shown(p, 300),
  );
  const pairs = [...new Set(runs.map((run) => modelNames(run.header)))];
  const names = shown(pairs[pairs.length - 1] ?? "", 80);
  const title = prompts.join("  /  ") || names || say("nothing");
  const models = prompts.length ? names : "";
  const titleSize = 15 * s;
  const space = right - 12 * s;
  const fittedTitle = fitted(title, space * (layout.narrow ? 1 : 0.72), titleSize, true);
  nodes.unshift(label("title", 0, 21 * s, titleSize, fittedTitle, { "font-weight": 600 }));
  const x = widthOf(fittedTitle, titleSize, true) + 16 * s;
  if (space - x > 80 * s) {
    nodes.push(label("models", x, 21 * s, 12.5 * s, fitted(models, space - x, 12.5 * s), { fill: "$muted" }));
  }
  return group("header", nodes);
}

function badgeText(source, runs, several) {
  const labels = runs.flatMap((run) => [run.header.draft_device?.label, run.header.target_device?.label]);
  const where =
    source === "measured" ? [...new Set(labels.filter(Boolean))].map((l) => shown(l, 28)).join(" + ") : "";
  const who = several ? `${runs.map((run) => run.label).join(", ")} ` : "";
  return fitted(who + say(source) + (where ? ` · ${where}` : ""), 420, 11, true);
}

function modelNames(header) {
  return [header.draft?.name, header.target?.name].filter(Boolean).join(" + ");
}

// Size and place for the sentence: two lines, or three smaller ones where there is little room.
export function sentenceType({ narrow, s }) {
  return narrow ? { size: 15 * s, pitch: 21 * s, most: 3 } : { size: 18 * s, pitch: 25 * s, most: 2 };
}

export function drawSentence({ layout }, sentence) {
  const { s, width } = layout;
  const { size, pitch, most } = sentenceType(layout);
  const lines = wrapped(sentence, Math.min(width, 860 * s), size, most);
  return group(
    "sentence",
    lines.map((text, i) =>
      node(
        "text",
        `s${i}`,
        { x: 0, y: round((layout.rhythm.title + 8) * s + pitch * i), "font-size": round(size), fill: "$ink" },
        emphasised(text),
      ),
    ),
  );
}

// The tokens a sentence speaks of stand out in it.
function emphasised(text) {
  const parts = text.split(/(“[^”]*”)/).filter(Boolean);
  return parts.map((part, i) => node("tspan", `${i}`, { "font-weight": part[0] === "“" ? 700 : 400 }, part));
}

// Committed text left of the page, folded into one line.
export function drawEarlier({ layout, runs, starts, states }, y) {
  const { s } = layout;
  const leader = starts.indexOf(Math.max(0, ...starts));
  const run = runs[leader];
  if (!run || !starts[leader]) return group("earlier", []);
  const texts = run.commits.slice(0, Math.min(starts[leader], states[leader].committed));
  const text = shown(
    texts
      .slice(-160)
      .map((c) => c.text)
      .join(""),
    1200,
  );
  const size = 13 * s;
  return group("earlier", [
    label("earlierText", layout.left, y + 14 * s, size, fittedEnd(text, layout.room, size), {
      fill: "$muted",
    }),
  ]);
}

export function stripEnd({ settled, end, t, page }) {
  return Math.max(1, settled ? end : Math.max(end, t, page.to));
}

// The whole run as a thin strip: one tick per rollback; it is the scrubber.
export function drawStrip(moment, box) {
  const { layout, runs, t, page } = moment;
  const { s } = layout;
  const end = stripEnd(moment);
  const x = (at) => round(box.x + (Math.min(at, end) / end) * box.width);
  const mid = box.y + box.height / 2;
  const words = say(moment.settled ? "wholeRun" : "soFar");
  const nodes = [
    label("words", 0, mid + 4 * s, 11 * s, words, { fill: "$muted" }),
    rect("base", box.x, mid - 3 * s, box.width, 6 * s, { rx: 3 * s, fill: "$prefill" }),
    rect("page", x(page.from), mid - 7 * s, Math.max(2, x(Math.min(page.to, end)) - x(page.from)), 14 * s, {
      rx: 4 * s,
      fill: "none",
      stroke: "$faint",
      "stroke-width": 1,
    }),
    rect("done", box.x, mid - 3 * s, x(t) - box.x, 6 * s, { rx: 3 * s, fill: "$faint" }),
  ];
  const share = (12 * s) / Math.max(1, runs.length);
  const ticksOf = (run, i) =>
    rollbackMoments([run])
      .map((m) => `M${x(m.death.since)} ${round(mid - 6 * s + i * share)}v${round(share - 1)}`)
      .join("");
  const ticks = moment.settled ? (layout.ticks ??= runs.map(ticksOf)) : runs.map(ticksOf);
  ticks.forEach((d, i) => d && nodes.push(path(`ticks${i}`, d, { stroke: "$ink", "stroke-width": 1.5 })));
  nodes.push(
    node("circle", "knob", {
      cx: x(t),
      cy: round(mid),
      r: round(6.5 * s),
      fill: "$paper",
      stroke: "$ink",
      "stroke-width": 2,
    }),
  );
  return group("strip", nodes);
}
