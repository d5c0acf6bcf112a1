// The theater: a stage, a player and the page around them. Its picture is scene(stage, playhead).

import { grow, makeStage, scene } from "./scene.js";
import { momentOf, rollbackMoments, sentenceAt, stopsOf } from "./beats.js";
import { makeControls } from "./controls.js";
import { actionOf, belongsToControl } from "./keys.js";
import { customProperties, FONT } from "./palette.js";
import { element, svgElement } from "./elements.js";
import { patch } from "./patch.js";
import { Player } from "./player.js";
import { say } from "./sentences.js";
import { isDark, watchTheme } from "./theme.js";

const LEAST_WIDTH = 320;

export class Theater {
  // host: an element of the page. traces: texts of trace files. options: {at, future, height}.
  constructor(host, traces, options = {}) {
    this.options = options;
    this.view = { width: 0, size: 14, zoom: 1, future: options.future ?? "ghost", pinned: null, lit: null, spaces: false };
    this.player = new Player((t, why) => this.moved(why));
    this.build(host);
    this.show(traces, options.at ?? null);
    this.observe();
  }

  build(host) {
    this.root = element("div", "amusd-theater", { tabindex: "0", role: "group", "data-lm-suppress-shortcuts": "true" });
    this.root.style.setProperty("--amusd-font", FONT);
    if (this.options.height) this.root.style.maxHeight = `${this.options.height}px`;
    this.svg = svgElement("svg", { class: "amusd-picture", role: "img" });
    this.scrubber = element("input", "amusd-scrubber", { type: "range", min: "0", step: "any", "aria-label": say("scrubber") });
    this.scrubber.addEventListener("input", () => {
      this.player.pause();
      this.player.jump(Number(this.scrubber.value), "scrub");
    });
    this.problem = element("p", "amusd-problem", { role: "alert" });
    this.live = element("div", "amusd-said", { "aria-live": "polite" });
    this.stageBox = element("div", "amusd-stage", {}, [this.svg, this.scrubber]);
    this.actions = this.makeActions();
    this.controls = makeControls({ ...this.actions, extra: [] });
    this.root.append(this.problem, this.stageBox, this.controls.controls, this.live);
    this.root.addEventListener("keydown", (event) => this.key(event));
    host.append(this.root);
    this.host = host;
    this.colour();
  }

  makeActions() {
    const { player } = this;
    return {
      play: () => player.toggle(),
      next: () => this.step(1, false),
      previous: () => player.back(this.neighbour(-1, false)),
      nextEvent: () => this.step(1, true),
      previousEvent: () => player.back(this.neighbour(-1, true)),
      nextRollback: () => this.toRollback(1),
      previousRollback: () => this.toRollback(-1),
      first: () => player.stepTo(0),
      last: () => player.stepTo(player.end),
      faster: () => this.setPace(player.pace * 2),
      slower: () => this.setPace(player.pace / 2),
      race: () => {
        player.race = !player.race;
        if (player.race && !player.playing) player.play();
        this.controls.update(player);
      },
      pin1: () => this.pin(0),
      pin2: () => this.pin(1),
      pin3: () => this.pin(2),
      unpin: () => this.pin(null),
    };
  }

  // -- what is shown -------------------------------------------------------------------------

  // Puts traces on the stage; keeps the playhead unless told where to go.
  show(traces, at = undefined) {
    try {
      this.setStage(makeStage(traces));
      if (at !== undefined) this.player.jump(momentOf(this.stage.runs, at) ?? momentOf(this.stage.runs, null), "open");
      this.complain("");
    } catch (error) {
      this.complain(error.message);
      if (!this.stage) this.setStage(makeStage([]));
    }
  }

  setStage(stage) {
    this.stage = stage;
    this.stops = new Map();
    const drafting = stage.runs.filter((run) => run.hasDraft);
    const step = Math.max(1, ...(drafting.length ? drafting : stage.runs).map((run) => run.step));
    const rests = stage.runs.flatMap((run) => [...run.deathOf.values()].flatMap((d) => [d.since, d.heard ?? d.since]));
    this.player.load(stage, step, rests.sort((a, b) => a - b));
    this.root.setAttribute("aria-label", say("theater", { runs: stage.runs.map((run) => run.label).join(", ") }));
    this.draw();
  }

  complain(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = !sentence;
  }

  draw() {
    if (!this.view.width || !this.stage) return;
    const { t } = this.player;
    const drawing = scene(this.stage, t, this.view);
    this.drawing = drawing;
    if (this.svg.amusdHeight !== drawing.height || this.svg.amusdWidth !== drawing.width) {
      this.svg.setAttribute("viewBox", `0 0 ${drawing.width} ${drawing.height}`);
      this.svg.setAttribute("width", (this.svg.amusdWidth = drawing.width));
      this.svg.setAttribute("height", (this.svg.amusdHeight = drawing.height));
      const { strip } = drawing;
      Object.assign(this.scrubber.style, { left: `${strip.x}px`, top: `${strip.y}px`, width: `${strip.width}px`, height: `${strip.height}px` });
    }
    patch(this.svg, drawing.nodes);
    this.svg.setAttribute("aria-label", drawing.sentence);
    this.scrubber.max = String(this.player.end);
    this.scrubber.value = String(t);
    this.controls.update(this.player);
  }

  moved(why) {
    this.draw();
    if (why === "step" || why === "scrub" || why === "pause") this.announce();
  }

  // One polite sentence a step, none while playing.
  announce() {
    const sentence = this.drawing?.sentence ?? "";
    const ms = (ns) => (ns / 1e6).toFixed(1);
    this.live.textContent = sentence;
    this.scrubber.setAttribute(
      "aria-valuetext",
      say("scrubberValue", { ms: ms(this.player.t), end: ms(this.player.end), sentence }),
    );
  }

  // -- moving --------------------------------------------------------------------------------

  stopList(every) {
    const key = `${every}:${this.view.pinned}`;
    if (!this.stops.has(key)) this.stops.set(key, stopsOf(this.stage.runs, { pinned: this.view.pinned, every }));
    return this.stops.get(key);
  }

  neighbour(direction, every) {
    const stops = this.stopList(every);
    const { t } = this.player;
    const found = direction > 0 ? stops.find((stop) => stop > t) : stops.findLast((stop) => stop < t);
    return found ?? (direction > 0 ? this.player.end : 0);
  }

  step(direction, every) {
    const to = this.neighbour(direction, every);
    if (to !== this.player.t) this.player.stepTo(to);
  }

  toRollback(direction) {
    const { t } = this.player;
    const moments = rollbackMoments(this.stage.runs, this.view.pinned).map((moment) => moment.t);
    const to = direction > 0 ? moments.find((m) => m > t) : moments.findLast((m) => m < t);
    if (to !== undefined) this.player.stepTo(to);
  }

  setPace(pace) {
    this.player.race = false;
    this.player.pace = Math.min(Math.max(pace, 1 / 64), 64);
    this.controls.update(this.player);
  }

  pin(place) {
    this.view.pinned = place !== null && place < this.stage.runs.length && this.view.pinned !== place ? place : null;
    this.draw();
  }

  key(event) {
    if (belongsToControl(event)) {
      event.stopPropagation();
      return;
    }
    const name = actionOf(event);
    if (!name || !this.actions[name]) return;
    event.preventDefault();
    event.stopPropagation();
    this.actions[name]();
  }

  // -- surroundings --------------------------------------------------------------------------

  observe() {
    this.sizes = new ResizeObserver(() => this.measure());
    this.sizes.observe(this.root);
    this.sight = new IntersectionObserver((entries) => (this.player.visible = entries.some((e) => e.isIntersecting)));
    this.sight.observe(this.root);
    this.themes = watchTheme(() => this.colour());
    this.measure();
  }

  measure() {
    const width = Math.max(LEAST_WIDTH, Math.floor(this.stageBox.clientWidth));
    if (!this.stageBox.clientWidth || width === this.view.width) return;
    this.view.width = width;
    this.draw();
  }

  colour() {
    const dark = isDark(this.host);
    for (const [name, value] of customProperties(dark)) this.root.style.setProperty(name, value);
    this.root.style.colorScheme = dark ? "dark" : "light";
  }

  destroy() {
    this.player.pause();
    this.sizes.disconnect();
    this.sight.disconnect();
    this.themes();
    this.root.remove();
  }
}
