// The theater: a stage, a player and the page around them. Its picture is scene(stage, playhead).

import { actionsOf } from "./actions.js";
import { momentOf } from "./beats.js";
import { cardSentence, fillCard, makeCard, placeCard } from "./card.js";
import { makeControls } from "./controls.js";
import { element, svgElement } from "./elements.js";
import { acceptDrops } from "./files.js";
import { actionOf, belongsToControl } from "./keys.js";
import { Arrivals } from "./live.js";
import { customProperties, FONT } from "./palette.js";
import { shown } from "./measure.js";
import { makePanel } from "./panel.js";
import { patch } from "./patch.js";
import { Player } from "./player.js";
import { scene } from "./scene.js";
import { frontierOf, grow, makeStage, speculative } from "./stage.js";
import { say } from "./sentences.js";
import { isDark, watchTheme } from "./theme.js";

const LEAST_WIDTH = 320;
const DROP_MS = 180;

export class Theater {
  // host: an element of the page. traces: texts of trace files.
  // options: {at, future, height, alone, offer, live, note, onStop, onMissing, onAlone}
  constructor(host, traces, options = {}) {
    this.host = host;
    this.options = options;
    this.view = {
      width: 0,
      size: 14,
      zoom: 1,
      future: options.future ?? "ghost",
      pinned: null,
      lit: null,
      spaces: false,
      key: true,
      badge: "",
    };
    this.player = new Player((t, why) => this.moved(why));
    this.arrivals = new Arrivals((run, have) => options.onMissing?.(run, have));
    this.lit = null;
    this.pinned = false;
    this.following = false;
    this.alone = options.alone ?? true;
    this.offer = options.offer ?? false;
    this.build();
    this.show(traces, { at: options.at ?? null, live: options.live ?? false, note: options.note ?? null });
    this.observe();
  }

  build() {
    const attrs = { tabindex: "0", role: "group", "data-lm-suppress-shortcuts": "true" };
    this.root = element("div", "amusd-theater", attrs);
    this.root.style.setProperty("--amusd-font", FONT);
    if (this.options.height) this.root.style.maxHeight = `${this.options.height}px`;
    this.svg = svgElement("svg", { class: "amusd-picture", role: "img" });
    this.scrubber = element("input", "amusd-scrubber", {
      type: "range",
      min: "0",
      step: "any",
      "aria-label": say("scrubber"),
    });
    this.problem = element("p", "amusd-problem", { role: "alert" });
    this.said = element("div", "amusd-said", { "aria-live": "polite" });
    this.card = makeCard();
    this.stageBox = element("div", "amusd-stage", {}, [this.svg, this.scrubber, this.card]);
    this.actions = actionsOf(this);
    this.controls = makeControls(this.actions);
    this.panel = makePanel(this.actions);
    this.root.append(this.problem, this.stageBox, this.controls.controls, this.panel.panel, this.said);
    this.host.append(this.root);
    this.listen();
    this.colour();
  }

  listen() {
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.scrubber.addEventListener("input", () => {
      this.player.pause();
      this.player.jump(Number(this.scrubber.value), "scrub");
    });
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerleave", () => this.pinned || this.light(null));
    this.svg.addEventListener("click", (event) => this.click(event));
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.actions[event.deltaY < 0 ? "zoomIn" : "zoomOut"]();
    });
    acceptDrops(
      this.root,
      (texts) => this.show(texts, { at: null, offer: false }),
      (sentence) => this.complain(sentence),
    );
  }

  // -- what is shown -------------------------------------------------------------------------

  // Puts traces on the stage. `at`: where to go, otherwise the playhead stays. `note`: {name, what}.
  // `offer`: whether an autoregressive run can be asked for.
  show(traces, { at = undefined, live = false, note = null, offer = this.offer } = {}) {
    try {
      const every = makeStage(traces, { settled: !live });
      this.traces = every.traces;
      this.offer = offer;
      // Batches name a run by its place among all: while one is live, all are on the stage.
      const stage = live || this.alone ? every : makeStage(speculative(this.traces));
      this.arrivals.forget();
      this.live = live;
      this.view.badge = RECORDED.has(note?.name) ? say("recording") : live ? say("live") : "";
      this.setStage(stage);
      if (live) this.follow(true);
      else if (at !== undefined)
        this.player.jump(momentOf(stage.runs, at) ?? momentOf(stage.runs, null), "open");
      const prompt = shown(stage.runs[0]?.header.prompt ?? "", 80);
      this.complain(note ? say(note.name, { ...note, prompt }) : "");
    } catch (error) {
      this.complain(error.message);
      if (!this.stage) this.setStage(makeStage([]));
    }
  }

  get hasAlone() {
    return this.traces.some(({ header }) => header.method === "autoregressive");
  }

  get canToggleAlone() {
    if (this.live) return false;
    return this.hasAlone ? speculative(this.traces).length < this.traces.length : this.offer;
  }

  // Puts the autoregressive run away, or shows it; asks for it where there is none yet.
  toggleAlone() {
    if (!this.canToggleAlone) return;
    this.alone = this.hasAlone ? !this.alone : true;
    if (!this.hasAlone) this.options.onAlone?.();
    else this.setStage(makeStage(this.alone ? this.traces : speculative(this.traces)));
  }

  // Batches of live runs: [{run, from, lines}]. Drawn once a frame, however many come: a busy page
  // falls behind by a frame, not by a growing queue.
  append(batches) {
    for (const batch of batches) if (this.stage.runs[batch.run]) this.arrivals.take(batch);
    this.growing ??= requestAnimationFrame(() => {
      this.growing = null;
      const fresh = this.arrivals.collect();
      if (!fresh.length) return;
      this.setStage(fresh.reduce((stage, [place, events]) => grow(stage, place, events), this.stage));
    });
  }

  setStage(stage) {
    this.stage = stage;
    this.stops = new Map();
    const drafting = stage.runs.filter((run) => run.hasDraft);
    const step = Math.max(1, ...(drafting.length ? drafting : stage.runs).map((run) => run.step));
    const deaths = stage.runs.flatMap((run) => [...run.deathOf.values()]);
    const rests = deaths.flatMap((death) => [death.since, death.heard ?? death.since]);
    this.player.load(
      stage.end,
      step,
      rests.sort((a, b) => a - b),
    );
    this.root.setAttribute(
      "aria-label",
      say("theater", { runs: stage.runs.map((run) => run.label).join(", ") }),
    );
    if (this.following) this.player.move(frontierOf(stage), "live");
    else this.draw();
  }

  // A live run is followed until someone moves the playhead, and again from the End key on.
  follow(on) {
    this.following = on && this.live;
    if (this.following) this.player.move(frontierOf(this.stage), "live");
  }

  complain(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = !sentence;
  }

  draw(why = "draw") {
    if (!this.view.width || !this.stage) return;
    const { player, svg } = this;
    const drawing = scene(this.stage, player.t, this.view);
    this.drawing = drawing;
    if (svg.amusdHeight !== drawing.height || svg.amusdWidth !== drawing.width) this.resize(drawing);
    patch(svg, drawing.nodes, MOVING.has(why) && !this.still ? dropIn : null);
    svg.setAttribute("aria-label", drawing.sentence);
    this.scrubber.max = String(drawing.strip.end);
    this.scrubber.value = String(player.t);
    this.controls.update(this);
    this.drawCard();
    if (!this.panel.panel.hidden && why !== "playing") this.panel.update(drawing.runs, player.t, this.view);
  }

  resize({ width, height, strip }) {
    const { svg, scrubber } = this;
    svg.amusdWidth = width;
    svg.amusdHeight = height;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const box = { left: strip.x - 8, top: strip.y, width: strip.width + 16, height: strip.height };
    for (const side in box) scrubber.style[side] = `${box[side]}px`;
  }

  moved(why) {
    if (why !== "live") this.following = false;
    this.draw(why);
    if (why === "step" || why === "scrub" || why === "pause") this.announce();
  }

  // One polite sentence a step, none while playing.
  announce(sentence = this.drawing?.sentence ?? "") {
    const ms = (this.player.t / 1e6).toFixed(1);
    this.said.textContent = sentence;
    this.scrubber.setAttribute("aria-valuetext", say("scrubberValue", { ms, sentence }));
  }

  // -- cards ---------------------------------------------------------------------------------

  hover(event) {
    if (this.pinned) return;
    this.light(event.target.closest("[data-token]")?.dataset.token ?? null);
  }

  click(event) {
    const id = event.target.closest("[data-token]")?.dataset.token ?? null;
    this.pinned = Boolean(id) && !(this.pinned && this.lit === id);
    this.light(id);
  }

  pinCard() {
    if (!this.lit) return;
    this.pinned = !this.pinned;
    this.draw();
    this.announce(cardSentence(this.card));
  }

  // Lights a token up wherever it stands, and shows its card.
  light(id, { say: aloud = false } = {}) {
    if (!id) this.pinned = false;
    if (this.lit === id && !aloud) return this.drawCard();
    this.lit = this.view.lit = id;
    this.draw();
    if (aloud && id) this.announce(cardSentence(this.card));
    return undefined;
  }

  drawCard() {
    const chip = this.lit && this.svg.querySelector(`[data-token="${CSS.escape(this.lit)}"]`);
    if (!chip || !fillCard(this.card, this.drawing.runs, this.lit, this.player.t, this.pinned)) {
      this.card.hidden = true;
      return;
    }
    placeCard(this.card, chip, this.stageBox);
  }

  // -- surroundings --------------------------------------------------------------------------

  key(event) {
    if (belongsToControl(event)) {
      event.stopPropagation();
      return;
    }
    const name = actionOf(event);
    if (!name) return;
    event.preventDefault();
    event.stopPropagation();
    this.actions[name]();
  }

  observe() {
    this.sizes = new ResizeObserver(() => this.measure());
    this.sizes.observe(this.root);
    this.sight = new IntersectionObserver(
      (seen) => (this.player.visible = seen[seen.length - 1].isIntersecting),
    );
    this.sight.observe(this.root);
    const stillness = matchMedia("(prefers-reduced-motion: reduce)");
    this.still = stillness.matches;
    stillness.addEventListener("change", () => (this.still = stillness.matches));
    this.themes = watchTheme(() => this.colour());
    this.measure();
  }

  measure(always = false) {
    const room = Math.floor(this.stageBox.clientWidth);
    const width = Math.max(LEAST_WIDTH, room);
    if (!room || (width === this.view.width && !always)) return;
    this.view.width = width;
    this.draw();
  }

  colour() {
    this.dark = !this.presenting && isDark(this.host);
    for (const [name, value] of customProperties(this.dark, this.presenting))
      this.root.style.setProperty(name, value);
    this.root.style.colorScheme = this.dark ? "dark" : "light";
  }

  destroy() {
    this.player.pause();
    cancelAnimationFrame(this.growing);
    this.sizes.disconnect();
    this.sight.disconnect();
    this.themes();
    this.root.remove();
  }
}

// Notes under which a recording stands in the place of the live run.
const RECORDED = new Set(["liveSlow", "liveFailed"]);

const MOVING = new Set(["step", "playing", "live"]);

// What the draft discards drops out of its row, once, fast.
function dropIn(made, attrs) {
  if (!attrs["data-drop"]) return;
  const from = `${attrs.transform} translate(0 ${-attrs["data-drop"]})`;
  const frames = [from, attrs.transform].map((transform) => ({
    transform: transform.replace(/([\d.-]+) ([\d.-]+)\)/g, "$1px, $2px)"),
  }));
  made.animate(frames, { duration: DROP_MS, easing: "ease-out" });
}
