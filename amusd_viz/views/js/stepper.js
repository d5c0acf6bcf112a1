// The stepper: two columns, two mailboxes, two lanes. It shows a view and asks its driver for the next.

import { element, svgElement } from "./elements.js";
import { customProperties, FONT } from "./palette.js";
import { STEPPER_WORDS } from "./stepper_words.js";
import { isDark, watchTheme } from "./theme.js";

const COLUMNS = { draft: ["draft", "read"], target: ["receive", "start", "finish"] };
const LANES = { width: 960, left: 64, height: 34, gap: 6 };

const stepperMs = (ns) => `${Math.round(ns / 1e6)} ms`;

// `driver` has fixed, view, press(action), finishBy(policy) and undo(); it calls show() when it is done.
export class Stepper {
  constructor(host, driver) {
    this.driver = driver;
    this.build(host);
    this.show();
  }

  build(host) {
    const { fixed } = this.driver;
    this.root = element("div", "amusd-stepper", { role: "group", "aria-label": STEPPER_WORDS.stepper, "data-lm-suppress-shortcuts": "true" });
    this.root.style.setProperty("--amusd-font", FONT);
    this.sentence = element("p", "amusd-stepper-sentence", { "aria-live": "polite" });
    this.problem = element("p", "amusd-problem", { role: "alert", hidden: "" });
    const head = element("div", "amusd-stepper-head", {}, [element("span", "amusd-stepper-badge", {}, STEPPER_WORDS.byHand), this.sentence]);
    const context = element("p", "amusd-stepper-context", {}, [
      element("span", "amusd-stepper-label", {}, `${fixed.isAnswer ? STEPPER_WORDS.earlier : ""} `),
      element("span", "", { dir: "auto" }, fixed.context),
    ]);
    this.buttons = {};
    this.parts = { draft: this.column("draft"), target: this.column("target") };
    this.mail = element("div", "amusd-stepper-mail");
    const columns = element("div", "amusd-stepper-columns", {}, [this.parts.draft.root, this.mail, this.parts.target.root]);
    this.lanes = svgElement("svg", { class: "amusd-stepper-lanes", role: "img", viewBox: `0 0 ${LANES.width} ${2 * LANES.height + LANES.gap + 26}` });
    this.wasted = element("p", "amusd-stepper-wasted");
    this.scores = element("div", "amusd-stepper-scores");
    const source = element("p", "amusd-stepper-source", {}, STEPPER_WORDS.source(fixed.pair, fixed.measured));
    this.root.append(head, this.problem, context, columns, this.lanes, this.wasted, this.controls(), this.scores, source);
    host.append(this.root);
    this.root.addEventListener("keydown", (event) => event.stopPropagation());
    this.colour();
    this.themes = watchTheme(() => this.colour());
  }

  column(side) {
    const clock = element("span", "amusd-stepper-clock");
    const knows = element("span", "amusd-stepper-knows");
    const chips = element("div", "amusd-stepper-chips");
    const more = element("div", "amusd-stepper-more");
    const row = element("div", "amusd-stepper-buttons", {}, COLUMNS[side].map((action) => this.button(action)));
    const title = element("div", "amusd-stepper-title", {}, [element("strong", "", {}, STEPPER_WORDS[side]), knows, clock]);
    return { root: element("section", `amusd-stepper-column amusd-stepper-${side}`, { "aria-label": STEPPER_WORDS[side] }, [title, chips, more, row]), clock, knows, chips, more };
  }

  // Two parts: what it does, and why it cannot. Greyed buttons can be focused, so that the reason is read.
  button(action) {
    const label = element("span", "amusd-stepper-what");
    const reason = element("span", "amusd-stepper-why");
    const made = element("button", "amusd-button amusd-stepper-press", { type: "button", "data-action": action }, [label, reason]);
    made.addEventListener("click", () => {
      if (made.getAttribute("aria-disabled") !== "true" && !this.busy) this.ask(() => this.driver.press(action));
    });
    this.buttons[action] = { made, label, reason };
    return made;
  }

  controls() {
    this.undo = element("button", "amusd-button amusd-stepper-undo", { type: "button", "data-action": "undo" }, STEPPER_WORDS.undo);
    this.undo.addEventListener("click", () => {
      if (!this.undo.disabled && !this.busy) this.ask(() => this.driver.undo());
    });
    this.policy = element("select", "amusd-stepper-policy", { "aria-label": STEPPER_WORDS.finishBy });
    for (const name of this.driver.fixed.policies) this.policy.append(element("option", "", { value: name }, name));
    this.rest = element("button", "amusd-button amusd-stepper-rest", { type: "button", "data-action": "finishBy" }, STEPPER_WORDS.finishBy);
    this.rest.addEventListener("click", () => {
      if (!this.rest.disabled && !this.busy) this.ask(() => this.driver.finishBy(this.policy.value));
    });
    const rest = this.driver.fixed.policies.length ? [this.rest, this.policy] : [];
    return element("div", "amusd-stepper-controls", {}, [this.undo, ...rest]);
  }

  ask(act) {
    this.busy = true;
    this.root.setAttribute("aria-busy", "true");
    act();
  }

  // -- what is shown -------------------------------------------------------------------------

  show() {
    this.busy = false;
    this.root.removeAttribute("aria-busy");
    const { view } = this.driver;
    this.sentence.textContent = view.sentence;
    for (const [action, [label, why]] of Object.entries(view.buttons)) {
      const { made, label: what, reason } = this.buttons[action];
      what.textContent = label;
      reason.textContent = why;
      made.setAttribute("aria-disabled", why ? "true" : "false");
    }
    this.undo.disabled = !view.canUndo;
    this.undo.title = view.canUndo ? "" : STEPPER_WORDS.undoNone;
    this.rest.disabled = view.done;
    this.rest.title = view.done ? STEPPER_WORDS.finished : "";
    this.showDraft(view.draft);
    this.showTarget(view.target);
    this.showMail(view);
    this.drawLanes(view);
    this.wasted.textContent = view.wasted ? STEPPER_WORDS.wasted(stepperMs(view.wasted)) : "\u00a0";
    this.showScores(view.scores);
  }

  showDraft({ clock, chips, knows }) {
    const { draft } = this.parts;
    draft.clock.textContent = stepperMs(clock);
    draft.knows.textContent = STEPPER_WORDS.knows(knows);
    draft.chips.replaceChildren(...chips.map(stepperChip));
    draft.more.replaceChildren();
  }

  showTarget({ clock, chips, window, pending, until }) {
    const { target } = this.parts;
    target.clock.textContent = stepperMs(clock);
    target.knows.textContent = STEPPER_WORDS.committed(chips.length, this.driver.fixed.tokens);
    target.chips.replaceChildren(...chips.map(stepperChip));
    const lines = [];
    if (until !== null) lines.push([STEPPER_WORDS.judging(stepperMs(until)), window, "window"]);
    if (pending.length) lines.push([STEPPER_WORDS.pending, pending, "pending"]);
    target.more.replaceChildren(
      ...lines.map(([title, words, kind]) =>
        element("div", "amusd-stepper-line", {}, [element("span", "amusd-stepper-label", {}, title), ...words.map((word) => stepperChip([...word, kind]))]),
      ),
    );
  }

  showMail({ toTarget, toDraft }) {
    const box = (way, title, items) =>
      element("div", `amusd-stepper-box amusd-stepper-${way}`, {}, [
        element("div", "amusd-stepper-count", {}, title),
        element("div", "amusd-stepper-letters", {}, items),
      ]);
    const proposals = toTarget.map((word) => stepperChip([...word, "letter"]));
    const commits = toDraft.map((words) => element("span", "amusd-stepper-letter", {}, words.map((word) => stepperChip([...word, "committed"]))));
    this.mail.replaceChildren(
      box("to-target", `${STEPPER_WORDS.toTarget(toTarget.length)} →`, proposals),
      box("to-draft", `← ${STEPPER_WORDS.toDraft(toDraft.length)}`, commits),
    );
  }

  drawLanes({ lanes, draft, target }) {
    const now = Math.max(draft.clock, target.clock, ...lanes.map((bar) => bar[2]));
    let span = this.driver.fixed.horizon;
    while (span < now) span *= 1.5;
    const x = (ns) => LANES.left + ((LANES.width - LANES.left - 8) * ns) / span;
    const top = { draft: 0, target: LANES.height + LANES.gap };
    const parts = [];
    for (const side of ["draft", "target"]) {
      parts.push(svgText(0, top[side] + 21, STEPPER_WORDS[side], "amusd-stepper-lane"));
      parts.push(svgElement("line", { x1: LANES.left, x2: LANES.width - 8, y1: top[side] + LANES.height, y2: top[side] + LANES.height, class: "amusd-stepper-rule" }));
    }
    for (const [side, start, end, kind, label, dead] of lanes) {
      const left = x(start), width = Math.max(1, x(end) - left - 1), y = top[side] + 3;
      const bar = svgElement("rect", { x: left, y, width, height: LANES.height - 6, rx: 3, class: `amusd-stepper-bar amusd-stepper-bar-${kind} amusd-stepper-of-${side}${dead ? " amusd-stepper-bar-dead" : ""}` });
      const title = svgElement("title");
      title.textContent = `${STEPPER_WORDS[side]} ${STEPPER_WORDS.bar[kind]} ${kind === "wait" ? "" : label}: ${stepperMs(start)} to ${stepperMs(end)}`;
      bar.append(title);
      parts.push(bar);
      if (width > 7 * label.length + 4) parts.push(svgText(left + width / 2, y + 18, label, `amusd-stepper-on${dead ? " amusd-stepper-on-dead" : ""} amusd-stepper-on-${kind}`));
    }
    for (const [side, { clock }] of [["draft", draft], ["target", target]]) {
      parts.push(svgElement("line", { x1: x(clock), x2: x(clock), y1: top[side], y2: top[side] + LANES.height, class: "amusd-stepper-now" }));
    }
    const step = tickStep(span / 1e6);
    const base = 2 * LANES.height + LANES.gap;
    for (let t = 0; t * 1e6 <= span; t += step) parts.push(svgText(x(t * 1e6), base + 18, t ? String(t) : "0 ms", "amusd-stepper-tick"));
    this.lanes.replaceChildren(...parts);
    this.lanes.setAttribute("aria-label", `${STEPPER_WORDS.draft}: ${stepperMs(draft.clock)}. ${STEPPER_WORDS.target}: ${stepperMs(target.clock)}.`);
  }

  showScores(scores) {
    if (!scores.length) {
      this.scores.replaceChildren();
      return;
    }
    const cells = (tag, texts) => texts.map((text) => element(tag, "", {}, text));
    const head = element("tr", "", {}, cells("th", STEPPER_WORDS.columns));
    const rows = scores.map(([name, duration, wasted, waited, mine]) =>
      element("tr", mine ? "amusd-stepper-mine" : "", {}, cells("td", [name, stepperMs(duration), stepperMs(wasted), stepperMs(waited)])),
    );
    const table = element("table", "", {}, [element("caption", "", {}, STEPPER_WORDS.scores), element("thead", "", {}, [head]), element("tbody", "", {}, rows)]);
    this.scores.replaceChildren(table);
  }

  complain(problem) {
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
    if (problem) this.busy = false;
  }

  colour() {
    const dark = isDark(this.root);
    for (const [name, value] of customProperties(dark)) this.root.style.setProperty(name, value);
    this.root.style.colorScheme = dark ? "dark" : "light";
  }

  destroy() {
    this.themes();
    this.root.remove();
  }
}

function stepperChip([position, text, kind]) {
  return element("span", `amusd-stepper-chip amusd-stepper-chip-${kind}`, { title: `${position}: ${STEPPER_WORDS.kinds[kind] ?? ""}`, "data-position": String(position) }, [
    element("bdi", "", {}, text.trim() || text),
  ]);
}

function svgText(x, y, text, className) {
  const made = svgElement("text", { x, y, class: className });
  made.textContent = text;
  return made;
}

function tickStep(span) {
  const rough = span / 8;
  const unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * unit).find((step) => step >= rough);
}
