// On demand: scores, every event as a table, visible spaces, zoom, pictures and files to keep.

import { button, element } from "./elements.js";
import { eventRows, scoresOf } from "./facts.js";
import { say } from "./sentences.js";

const MOST_ROWS = 400;

// actions: {spaces(on), key, zoomIn, zoomOut, saveSvg, savePng, saveTrace}
export function makePanel(actions) {
  const spaces = element("input", "", { type: "checkbox" });
  spaces.addEventListener("change", () => actions.spaces(spaces.checked));
  const key = element("input", "", { type: "checkbox" });
  key.addEventListener("change", actions.key);
  const option = (box, word) => element("label", "", {}, [box, element("span", "", {}, say(word))]);
  const scores = element("div", "amusd-scores");
  const table = element("div", "amusd-events", {
    tabindex: "0",
    role: "region",
    "aria-label": say("events"),
  });
  const panel = element("div", "amusd-panel", { role: "group", "aria-label": say("button_details") }, [
    element("div", "amusd-row", {}, [
      option(spaces, "option_spaces"),
      option(key, "option_key"),
      button("zoomOut", "−", say("button_zoomOut"), actions.zoomOut, say("name_zoomOut")),
      button("zoomIn", "+", say("button_zoomIn"), actions.zoomIn, say("name_zoomIn")),
      element("span", "amusd-space"),
      button("save", say("word_svg"), say("button_svg"), actions.saveSvg),
      button("save", say("word_png"), say("button_png"), actions.savePng),
      button("save", say("word_trace"), say("button_trace"), actions.saveTrace),
    ]),
    scores,
    table,
    element("p", "amusd-keys", {}, say("keys")),
  ]);
  panel.hidden = true;
  const update = (runs, t, view) => {
    key.checked = view.key;
    fillPanel(scores, table, runs, t);
  };
  return { panel, update };
}

function fillPanel(scores, table, runs, t) {
  scores.replaceChildren(...runs.map((run) => scoreList(run, t)));
  const rows = eventRows(runs, t);
  const left = Math.max(0, rows.length - MOST_ROWS);
  const body = element("tbody", "", {}, rows.slice(left).reverse().map(tableRow));
  const head = element(
    "tr",
    "",
    {},
    ["ms", "run", "device", "event", "details"].map((name) =>
      element("th", "", { scope: "col" }, say(`column_${name}`)),
    ),
  );
  const caption = element(
    "caption",
    "",
    {},
    left
      ? say("events_last", { count: MOST_ROWS, all: rows.length })
      : say("events_all", { count: rows.length }),
  );
  table.replaceChildren(element("table", "", {}, [caption, element("thead", "", {}, [head]), body]));
}

function scoreList(run, t) {
  const cells = scoresOf(run, t).flatMap(([name, value]) => [
    element("dt", "", {}, name),
    element("dd", "", {}, value),
  ]);
  return element("div", "amusd-score", {}, [
    element("strong", "", {}, run.label),
    element("dl", "", {}, cells),
  ]);
}

function tableRow(cells) {
  return element(
    "tr",
    "",
    {},
    cells.map((cell) => element("td", "", {}, cell)),
  );
}
