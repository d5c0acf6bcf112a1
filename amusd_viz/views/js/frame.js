// Above rows and lanes: what was asked of which models, measured or simulated, and the sentence (A).

import { fitted, shown, widthOf, wrapped } from "./measure.js";
import { group, label, node, rect, round } from "./nodes.js";
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
  const named = (places) => runs.map((run) => modelNames(run.header, places)).findLast(Boolean) ?? "";
  const title = prompts.join("  /  ") || named(false) || say("nothing");
  const models = prompts.length ? named(true) : "";
  const titleSize = 15 * s;
  const space = right - 12 * s;
  const fittedTitle = fitted(title, space * (layout.narrow ? 1 : 0.72), titleSize, true);
  nodes.unshift(label("title", 0, 21 * s, titleSize, fittedTitle, { "font-weight": 600 }));
  const x = widthOf(fittedTitle, titleSize, true) + 16 * s;
  if (space - x > 200 * s) {
    nodes.push(label("models", x, 21 * s, 12.5 * s, fitted(models, space - x, 12.5 * s), { fill: "$muted" }));
  }
  return group("header", nodes);
}

function badgeText(source, runs, several) {
  const who = several ? `${runs.map((run) => run.label).join(", ")} ` : "";
  return fitted(who + say(source), 420, 11, true);
}

// Which model drafts and which one decides, and, with `places`, where each of them runs.
function modelNames(header, places) {
  const { draft, target, speculator, draft_device: draftDevice, target_device: targetDevice } = header;
  return [
    [say("draft"), draft, draftDevice],
    [say("target"), target, targetDevice],
    [say("heads"), speculator],
  ]
    .filter(([, model]) => model?.name)
    .map(([side, model, device]) => {
      const slots = { side, model: shown(model.name, 40), device: shown(device?.label ?? "", 28) };
      return say(places && device?.label ? "modelOn" : "model", slots);
    })
    .join(", ");
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
