// One token: its look says what is known of it.

import { columnX } from "./layout.js";
import { fitted, shown, widthOf } from "./measure.js";
import { label, mark, node, rect, round } from "./nodes.js";

export const CHIP = 28;

export const LOOKS = {
  plain: { fill: "none", stroke: "none", text: "$ink" },
  known: { fill: "none", stroke: "none", text: "$muted" },
  accepted: { fill: "none", stroke: "$targetEdge", text: "$ink", mark: "check", markColour: "$targetEdge" },
  star: {
    fill: "$targetFill",
    stroke: "$targetEdge",
    thick: 2,
    text: "$onTarget",
    bold: true,
    mark: "star",
    markColour: "$targetEdge",
  },
  acceptedBefore: { fill: "none", stroke: "$rule", text: "$ink", mark: "check", markColour: "$muted" },
  starBefore: { fill: "none", stroke: "$muted", text: "$ink", mark: "star", markColour: "$muted" },
  pending: { fill: "$draftFill", stroke: "$draftEdge", text: "$onDraft" },
  thinking: { fill: "none", stroke: "$draftEdge", text: "$draftEdge", dash: "1 3" },
  deadThinking: { fill: "none", stroke: "$deadEdge", text: "$deadText", dash: "4 3" },
  rejected: {
    fill: "$reject",
    stroke: "$rejectEdge",
    thick: 2,
    text: "$onReject",
    bold: true,
    mark: "cross",
    markColour: "$onReject",
  },
  contradicted: {
    fill: "none",
    stroke: "$reject",
    thick: 2,
    text: "$reject",
    bold: true,
    dash: "4 3",
    mark: "cross",
    markColour: "$reject",
  },
  dead: { fill: "none", stroke: "$deadEdge", text: "$deadText", dash: "4 3" },
};

// options: small and dropped (out of its row), or small and inset (among the candidates of a tree).
export function chip(
  area,
  key,
  position,
  top,
  text,
  lookName,
  id,
  { dropped = false, small = dropped, inset = 0 } = {},
) {
  const { layout, s, y, start } = area;
  const look = LOOKS[lookName];
  const x = columnX(layout, position, start) + inset * s;
  const width = columnX(layout, position + 1, start) - x - 4 * s;
  const height = (small ? 22 : CHIP) * s;
  const size = layout.size * (small ? 0.86 : 1);
  const marked = look.mark ? 13 * s : 0;
  const words = fitted(shown(text, 40, area.moment.view.spaces), width - 10 * s - marked, size, look.bold);
  const middle = height / 2;
  const children = [
    rect("box", 0, 0, width, height, {
      rx: 5 * s,
      fill: look.fill,
      stroke: look.stroke,
      "stroke-width": round((look.thick ?? 1.25) * s),
      "stroke-dasharray": look.dash ?? "",
    }),
    label("word", 6 * s, middle + size * 0.35, size, words, {
      fill: look.text,
      "font-weight": look.bold ? 700 : 400,
    }),
  ];
  if (look.mark) {
    const markX = Math.min(width - 9 * s, 6 * s + widthOf(words, size, look.bold) + 9 * s);
    children.push(mark(look.mark, "mark", markX, middle, 4.4 * s, look.markColour));
  }
  if (id && isLit(area.moment, id)) {
    children.push(
      rect("lit", -3 * s, -3 * s, width + 6 * s, height + 6 * s, {
        rx: 7 * s,
        fill: "none",
        stroke: "$focus",
        "stroke-width": 2 * s,
      }),
    );
  }
  return node(
    "g",
    key,
    {
      class: "amusd-chip",
      transform: `translate(${round(x)} ${round(y + top * s)})`,
      "data-token": id ?? "",
      "data-look": lookName,
      "data-drop": dropped ? round((layout.rhythm.graveTop - layout.rhythm.draftTop) * s) : "",
    },
    children,
  );
}

// A token is lit together with everything that stands for the same run and position.
export function isLit(moment, id) {
  const lit = moment.view.lit;
  if (!lit || !id) return false;
  if (lit === id) return true;
  const [run, branch, position] = id.split(":");
  const [litRun, litBranch, litPosition] = lit.split(":");
  return run === litRun && position === litPosition && (branch === "c" || litBranch === "c");
}
