// The gain map: shade by gain, hatched where synchronous decoding wins, a line where both are equal.

import { svgElement } from "./elements.js";
import { LAB_WORDS, pointLetter } from "./lab_words.js";

const MAP_LEFT = 46;
const MAP_TOP = 26;
const MAP_RIGHT = 10;
const MAP_BOTTOM = 42;
const MAP_HEIGHT = 330;
const MAP_CONTOURS = [1, 1.1, 1.2, 1.3];

// rows[i][j]: gain at fixed.acceptances[i] and fixed.ratios[j].
export function drawGainMap(rows, fixed, width) {
  const svg = svgElement("svg", { class: "amusd-gain", viewBox: `0 0 ${width} ${MAP_HEIGHT}`, width, height: MAP_HEIGHT, role: "img", "aria-label": LAB_WORDS.map });
  const area = mapArea(fixed, width);
  const hatch = svgElement("pattern", { id: `amusd-hatch-${++mapsDrawn}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  hatch.append(svgElement("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "amusd-gain-hatch" }));
  svg.append(svgElement("defs", {}), mapText(MAP_LEFT, 16, LAB_WORDS.mapTitle, "amusd-gain-title"));
  svg.firstChild.append(hatch);
  svg.append(...mapCells(rows, fixed, area, hatch.id), ...mapAxes(fixed, area));
  for (const level of MAP_CONTOURS) svg.append(...mapContour(rows, fixed, area, level));
  for (const [index, point] of fixed.points.entries()) svg.append(mapPoint(point, index, area));
  const mark = svgElement("g", { class: "amusd-gain-here" });
  svg.append(mark);
  svg.amusdArea = area;
  svg.amusdMark = (settings) => mark.replaceChildren(...mapHere(settings, area));
  return svg;
}

let mapsDrawn = 0;

// The setting under the pointer, for a click on the map.
export function settingAt(svg, event, fixed) {
  const box = svg?.getBoundingClientRect();
  if (!box?.width) return null;
  const scale = svg.viewBox.baseVal.width / box.width;
  const { acceptance, ratio } = svg.amusdArea.at((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
  const ranges = fixed.ranges;
  if (ratio < ranges.ratio.least || ratio > ranges.ratio.most || acceptance < 0 || acceptance > ranges.acceptance.most) return null;
  return { acceptance: Math.round(100 * acceptance) / 100, ratio: Number(ratio.toPrecision(2)) };
}

function mapArea({ acceptances, ratios }, width) {
  const [low, high] = [acceptances[0], acceptances[acceptances.length - 1]];
  const [small, large] = [Math.log(ratios[0]), Math.log(ratios[ratios.length - 1])];
  const w = (width - MAP_LEFT - MAP_RIGHT) / ratios.length;
  const h = (MAP_HEIGHT - MAP_TOP - MAP_BOTTOM) / acceptances.length;
  const [w0, h0] = [w * (ratios.length - 1), h * (acceptances.length - 1)];
  return {
    w,
    h,
    x: (ratio) => MAP_LEFT + w / 2 + (w0 * (Math.log(ratio) - small)) / (large - small),
    y: (acceptance) => MAP_HEIGHT - MAP_BOTTOM - h / 2 - (h0 * (acceptance - low)) / (high - low),
    at: (x, y) => ({
      ratio: Math.exp(small + ((x - MAP_LEFT - w / 2) / w0) * (large - small)),
      acceptance: low + ((MAP_HEIGHT - MAP_BOTTOM - h / 2 - y) / h0) * (high - low),
    }),
    bottom: MAP_HEIGHT - MAP_BOTTOM,
    right: width - MAP_RIGHT,
  };
}

function mapCells(rows, { acceptances, ratios }, area, hatch) {
  return rows.flatMap((row, i) =>
    row.map((gain, j) => {
      const wins = gain >= 1;
      const box = { x: area.x(ratios[j]) - area.w / 2, y: area.y(acceptances[i]) - area.h / 2, width: area.w + 0.5, height: area.h + 0.5 };
      const shade = wins ? Math.min(1, (gain - 1) / 0.4) * 0.75 : 1;
      const cell = svgElement("rect", { ...box, class: wins ? "amusd-gain-win" : "amusd-gain-lose", "fill-opacity": shade.toFixed(3) });
      if (!wins) cell.setAttribute("fill", `url(#${hatch})`);
      const title = svgElement("title");
      title.textContent = LAB_WORDS.cell(acceptances[i], ratios[j], gain);
      cell.append(title);
      return cell;
    }),
  );
}

function mapAxes(fixed, area) {
  const xs = [0.02, 0.05, 0.1, 0.2, 0.5, 1].map((v) => mapText(area.x(v), area.bottom + 14, String(v), "amusd-gain-tick", "middle"));
  const ys = [0.2, 0.4, 0.6, 0.8].map((v) => mapText(MAP_LEFT - 6, area.y(v) + 4, `${100 * v} %`, "amusd-gain-tick", "end"));
  const names = [mapText((MAP_LEFT + area.right) / 2, area.bottom + 32, LAB_WORDS.xAxis, "amusd-gain-axis", "middle")];
  const side = mapText(0, 0, LAB_WORDS.yAxis, "amusd-gain-axis", "middle");
  side.setAttribute("transform", `translate(12 ${(MAP_TOP + area.bottom) / 2}) rotate(-90)`);
  return [...xs, ...ys, ...names, side];
}

// Line segments where the gain passes `level`, cell by cell (marching squares).
function mapContour(rows, { acceptances, ratios }, area, level) {
  const segments = [];
  for (let i = 0; i + 1 < rows.length; i++)
    for (let j = 0; j + 1 < ratios.length; j++) {
      const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
      const crossings = corners.flatMap((from, k) => mapCrossing(rows, from, corners[(k + 1) % 4], level));
      for (let k = 0; k + 1 < crossings.length; k += 2) segments.push([crossings[k], crossings[k + 1]]);
    }
  if (!segments.length) return [];
  const at = ([i, j]) => [area.x(mapBetween(ratios, j, true)), area.y(mapBetween(acceptances, i, false))];
  const d = segments.map(([a, b]) => `M${at(a).map(tenth).join(" ")}L${at(b).map(tenth).join(" ")}`).join("");
  const line = svgElement("path", { d, class: level === 1 ? "amusd-gain-equal" : "amusd-gain-contour" });
  const [x, y] = at(segments[Math.floor(segments.length / 2)][0]);
  return [line, mapText(x + 4, y - 4, level.toFixed(1), level === 1 ? "amusd-gain-one" : "amusd-gain-level")];
}

function mapCrossing(rows, [i, j], [k, l], level) {
  const [a, b] = [rows[i][j], rows[k][l]];
  if (a >= level === b >= level) return [];
  const share = (level - a) / (b - a);
  return [[i + share * (k - i), j + share * (l - j)]];
}

function mapBetween(values, index, logarithmic) {
  const [low, share] = [Math.floor(index), index % 1];
  const [a, b] = [values[low], values[Math.min(low + 1, values.length - 1)]];
  return logarithmic ? Math.exp(Math.log(a) + share * (Math.log(b) - Math.log(a))) : a + share * (b - a);
}

function mapPoint({ acceptance, ratio }, index, area) {
  const [x, y] = [area.x(ratio), area.y(acceptance)];
  const group = svgElement("g", { class: "amusd-gain-measured" });
  group.append(svgElement("path", { d: `M${x - 7} ${y}L${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}Z` }), mapText(x, y + 3.5, pointLetter(index), "amusd-gain-letter", "middle"));
  return group;
}

function mapHere({ acceptance, ratio }, area) {
  const [x, y] = [area.x(ratio), Math.min(area.bottom - 2, Math.max(MAP_TOP + 2, area.y(acceptance)))];
  const ring = svgElement("circle", { cx: x, cy: y, r: 8 });
  const cross = svgElement("path", { d: `M${x - 13} ${y}H${x - 4}M${x + 4} ${y}H${x + 13}M${x} ${y - 13}V${y - 4}M${x} ${y + 4}V${y + 13}` });
  return [ring, cross, mapText(x + 12, y + 18, LAB_WORDS.here, "amusd-gain-one")];
}

function mapText(x, y, content, name, anchor = "start") {
  const made = svgElement("text", { x: tenth(x), y: tenth(y), class: name, "text-anchor": anchor });
  made.textContent = content;
  return made;
}

function tenth(value) {
  return Math.round(10 * value) / 10;
}
