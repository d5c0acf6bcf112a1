// The lab (anywidget): sliders in, Python's answer out. Nothing is computed here but the drawing.

import { element } from "./elements.js";
import { drawGainMap, settingAt } from "./gain_map.js";
import { customProperties, FONT } from "./palette.js";
import { LAB_WORDS } from "./lab_words.js";
import { Theater } from "./theater.js";
import { isDark, watchTheme } from "./theme.js";

const LAB_MAIN = ["acceptance", "ratio", "latency", "wait"];
const LAB_ADVANCED = ["slope", "tensor_parallel", "run_ahead", "jitter", "lookahead"];
const MAP_WIDTH = 460;
const LAB_KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -1e6, End: 1e6 };

class LabPanel {
  constructor(model, host) {
    this.model = model;
    this.fixed = model.get("fixed");
    this.sliders = {};
    this.build(host);
    this.listen();
    this.showSettings();
    this.showAnswer();
    this.showMap();
  }

  build(host) {
    this.root = element("div", "amusd-lab", { role: "group", "aria-label": LAB_WORDS.lab, "data-lm-suppress-shortcuts": "true" });
    this.root.style.setProperty("--amusd-font", FONT);
    const badge = element("span", "amusd-lab-badge", {}, LAB_WORDS.simulated);
    this.sentence = element("p", "amusd-lab-sentence", { "aria-live": "polite" });
    this.problem = element("p", "amusd-problem", { role: "alert", hidden: "" });
    this.speeds = element("div", "amusd-lab-speeds");
    this.map = element("div", "amusd-lab-map");
    this.points = element("ol", "amusd-lab-points");
    const fold = element("details", "amusd-lab-advanced", {}, [
      element("summary", "", {}, LAB_WORDS.advanced),
      ...LAB_ADVANCED.map((name) => this.slider(name)),
    ]);
    const left = element("div", "amusd-lab-left", {}, [this.presets(), ...LAB_MAIN.map((name) => this.slider(name)), fold, this.speeds]);
    const right = element("div", "amusd-lab-right", {}, [this.map, this.points]);
    const columns = element("div", "amusd-lab-columns", {}, [left, right]);
    this.stage = element("div", "amusd-lab-stage");
    this.root.append(element("div", "amusd-lab-head", {}, [badge, this.sentence]), this.problem, columns, this.stage);
    host.append(this.root);
    this.colour();
    this.theater = new Theater(this.stage, this.model.get("traces"));
    for (const [index, point] of this.fixed.points.entries()) this.points.append(labPointLine(point, index));
  }

  slider(name) {
    const { least, most, step } = this.fixed.ranges[name];
    const input = element("input", "amusd-lab-slider", { type: "range", "aria-label": LAB_WORDS.settings[name], ...scaleOf(name, least, most, step) });
    const value = element("output", "amusd-lab-value");
    input.addEventListener("input", () => this.ask({ [name]: fromSlider(name, Number(input.value)) }));
    this.sliders[name] = { input, value };
    return element("label", "amusd-lab-row", { title: LAB_WORDS.help[name] }, [
      element("span", "amusd-lab-name", {}, LAB_WORDS.settings[name]),
      input,
      value,
    ]);
  }

  presets() {
    const select = element("select", "amusd-lab-presets", { "aria-label": LAB_WORDS.presets });
    select.append(element("option", "", { value: "" }, LAB_WORDS.presets));
    for (const name of Object.keys(this.fixed.presets)) select.append(element("option", "", { value: name }, name));
    select.addEventListener("change", () => {
      if (select.value) this.ask(this.fixed.presets[select.value], true);
    });
    this.select = select;
    return select;
  }

  listen() {
    this.heard = {
      "change:settings": () => this.showSettings(),
      "change:answer": () => this.showAnswer(),
      "change:gain": () => this.showMap(),
      "change:traces": () => this.theater.show(this.model.get("traces"), { at: null }),
      "change:problem": () => this.complain(this.model.get("problem")),
    };
    for (const [event, act] of Object.entries(this.heard)) this.model.on(event, act);
    this.map.addEventListener("click", (event) => {
      const setting = settingAt(this.map.firstChild, event, this.fixed);
      if (setting) this.ask(setting);
    });
    // The notebook around it has plans of its own for arrow keys.
    this.root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      const steps = event.target.classList.contains("amusd-lab-slider") ? LAB_KEYS[event.key] : undefined;
      if (steps === undefined) return;
      event.preventDefault();
      const { target } = event;
      const before = target.value;
      target.value = String(Number(target.value) + steps * Number(target.step));
      if (target.value !== before) target.dispatchEvent(new Event("input", { bubbles: true }));
    });
    this.themes = watchTheme(() => this.colour());
  }

  ask(changed, isPreset = false) {
    if (!isPreset) this.select.value = "";
    this.model.set("settings", { ...this.model.get("settings"), ...changed });
    this.model.save_changes();
  }

  // -- what is shown -------------------------------------------------------------------------

  showSettings() {
    const settings = this.model.get("settings");
    for (const [name, { input, value }] of Object.entries(this.sliders)) {
      const text = LAB_WORDS.value(name, settings[name]);
      if (fromSlider(name, Number(input.value)) !== settings[name]) input.value = String(toSlider(name, settings[name]));
      input.setAttribute("aria-valuetext", text);
      value.textContent = text;
    }
    this.markPoint();
  }

  showAnswer() {
    const { sentence, speeds } = this.model.get("answer");
    this.sentence.textContent = sentence;
    const most = Math.max(1, ...speeds.map((speed) => speed.speedup));
    const all = [{ method: "plain", setting: "", speedup: 1 }, ...speeds];
    this.speeds.replaceChildren(...all.map((speed) => labSpeedBar(speed, most)));
  }

  showMap() {
    this.map.replaceChildren(drawGainMap(this.model.get("gain"), this.fixed, MAP_WIDTH));
    this.markPoint();
  }

  markPoint() {
    this.map.firstChild?.amusdMark(this.model.get("settings"));
  }

  complain(problem) {
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
  }

  colour() {
    const dark = isDark(this.root);
    for (const [name, value] of customProperties(dark)) this.root.style.setProperty(name, value);
    this.root.style.colorScheme = dark ? "dark" : "light";
  }

  destroy() {
    for (const [event, act] of Object.entries(this.heard)) this.model.off(event, act);
    this.themes();
    this.theater.destroy();
    this.root.remove();
  }
}

function labSpeedBar({ method, setting, speedup }, most) {
  const bar = element("span", `amusd-lab-bar amusd-lab-${method}`);
  bar.style.width = `${((100 * speedup) / most).toFixed(1)}%`;
  return element("div", "amusd-lab-speed", {}, [
    element("span", "amusd-lab-method", {}, LAB_WORDS.method(method, setting)),
    element("span", "amusd-lab-track", {}, [bar]),
    element("span", "amusd-lab-times", {}, `${speedup.toFixed(2)}×`),
  ]);
}

function labPointLine(point, index) {
  return element("li", "amusd-lab-point", {}, LAB_WORDS.point(point, index));
}

// The ratio's slider is logarithmic, in hundredths of a natural logarithm.
function scaleOf(name, least, most, step) {
  if (name !== "ratio") return { min: least, max: most, step };
  return { min: toSlider(name, least), max: toSlider(name, most), step: 10 };
}

function toSlider(name, value) {
  return name === "ratio" ? Math.round(100 * Math.log(value)) : value;
}

function fromSlider(name, value) {
  if (name !== "ratio") return Math.round(value * 1e6) / 1e6;
  return Math.min(1.2, Math.max(0.02, Number(Math.exp(value / 100).toPrecision(2))));
}

export default {
  render({ model, el }) {
    const panel = new LabPanel(model, el);
    return () => panel.destroy();
  },
};
