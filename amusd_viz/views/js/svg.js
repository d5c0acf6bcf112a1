// The picture as an SVG string: for the static site, saved pages and every export.

import { FONT, resolveColour } from "./palette.js";
import { scene } from "./scene.js";
import { makeStage } from "./stage.js";
import { momentOf } from "./beats.js";

// Traces (texts of files) and {time, width, theme, size, future, at} -> an SVG document.
export function renderSvg(traces, { time = null, at = null, theme = "light", ...view } = {}) {
  const stage = makeStage(traces);
  const moment = time ?? momentOf(stage.runs, at) ?? 0;
  const drawing = scene(stage, moment, view);
  return svgOf(drawing, theme);
}

export function svgOf({ width, height, nodes, sentence }, theme = "light") {
  const paper = resolveColour("$paper", theme);
  const margin = 16;
  const box = `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + 2 * margin}" height="${height + 2 * margin}" viewBox="${box}"` +
    ` font-family="${escaped(FONT)}" role="img"><title>${escaped(sentence)}</title>` +
    `<rect x="${-margin}" y="${-margin}" width="100%" height="100%" fill="${paper}"/>` +
    `${nodes.map((each) => markup(each, theme)).join("")}</svg>`
  );
}

function markup({ tag, attrs, text, children }, theme) {
  const list = Object.entries(attrs)
    .filter(
      ([name, value]) => value !== "" && value !== null && !name.startsWith("data-") && name !== "class",
    )
    .map(([name, value]) => ` ${name}="${escaped(String(resolveColour(value, theme)))}"`);
  const inside = text === null ? children.map((child) => markup(child, theme)).join("") : escaped(text);
  return `<${tag}${list.join("")}>${inside}</${tag}>`;
}

// Also drops what XML forbids, so that no text can break the document.
function escaped(text) {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "")
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
