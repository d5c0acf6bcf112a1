// The row of controls below the drawing.

import { button, element, icon } from "./elements.js";
import { say } from "./sentences.js";

// actions: play, next, previous, nextRollback, previousRollback, faster, slower, race, ...
export function makeControls(actions) {
  const iconButton = (name, word) => {
    const made = button(name, "", say(`button_${name}`), actions[name], say(`name_${name}`));
    made.append(icon(name), element("span", "amusd-words", {}, say(word)));
    return made;
  };
  const play = iconButton("play", "word_play");
  const speed = element("span", "amusd-speed", { title: say("speed_title") });
  const race = button("race", say("word_race"), say("button_race"), actions.race);
  const toggle = (name) => button(name, say(`word_${name}`), say(`button_${name}`), actions[name]);
  const [predict, details, present, stop] = ["predict", "details", "present", "stop"].map(toggle);
  const alone = toggle("alone");
  const question = element("span", "amusd-question", { role: "status" });
  const reveal = button("reveal", say("word_reveal"), say("button_reveal"), actions.next);
  const controls = element("div", "amusd-controls", { role: "toolbar", "aria-label": say("controls") }, [
    iconButton("previousRollback", "word_rollback"),
    iconButton("previous", "word_step"),
    play,
    iconButton("next", "word_step"),
    iconButton("nextRollback", "word_rollback"),
    element("span", "amusd-group", {}, [
      button("slower", "÷2", say("button_slower"), actions.slower, say("name_slower")),
      speed,
      button("faster", "×2", say("button_faster"), actions.faster, say("name_faster")),
      race,
    ]),
    element("span", "amusd-space amusd-click", { "aria-hidden": "true" }, say("click_for_keys")),
    element("span", "amusd-group", {}, [stop, alone, predict, details, present]),
    element("div", "amusd-ask", {}, [question, reveal]),
  ]);
  const parts = { play, speed, race, alone, predict, details, present, stop, question, reveal };
  return { controls, update: (theater) => showControls(parts, theater) };
}

function showControls(parts, theater) {
  const { player, view, panel, presenting, drawing, live } = theater;
  const { play, speed, race, alone, predict, details, present, stop, question, reveal } = parts;
  const name = player.playing ? "pause" : "play";
  if (play.dataset.shows !== name) {
    play.dataset.shows = name;
    play.replaceChildren(icon(name), element("span", "amusd-words", {}, say(`word_${name}`)));
    play.title = say(`button_${name}`);
  }
  setText(speed, pace(player.slowdown));
  press(race, player.race);
  press(predict, view.future === "hidden");
  press(details, !panel.panel.hidden);
  press(present, Boolean(presenting));
  stop.hidden = !live;
  alone.hidden = !theater.canToggleAlone;
  alone.title = say(theater.hasAlone ? "button_alone" : "button_aloneDemand");
  press(alone, theater.hasAlone && theater.alone);
  reveal.hidden = question.hidden = !drawing.question;
  setText(question, drawing.question);
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function press(toggle, on) {
  toggle.setAttribute("aria-pressed", String(on));
}

export function pace(slowdown) {
  if (slowdown > 0.995 && slowdown < 1.005) return say("pace_true");
  const times = slowdown > 1 ? slowdown : 1 / slowdown;
  const digits = times < 10 ? times.toFixed(1) : times.toFixed(0);
  return say(slowdown > 1 ? "pace_slowed" : "pace_fast", { times: digits });
}
