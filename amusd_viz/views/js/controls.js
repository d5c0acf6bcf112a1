// The row of controls below the drawing.

import { button, element, icon } from "./elements.js";
import { say } from "./sentences.js";

// actions: play, next, previous, nextRollback, previousRollback, faster, slower, race, ...
export function makeControls(actions) {
  const iconButton = (name, title, action, words = "") => {
    const made = button(name, "", title, action);
    made.append(icon(name));
    if (words) made.append(element("span", "amusd-words", {}, words));
    return made;
  };
  const play = iconButton("play", say("button_play"), actions.play, say("word_play"));
  const speed = element("span", "amusd-speed", { title: say("speed_title") });
  const race = button("race", say("word_race"), say("button_race"), actions.race);
  const controls = element("div", "amusd-controls", { role: "toolbar", "aria-label": say("controls") }, [
    iconButton("previousRollback", say("button_previousRollback"), actions.previousRollback, say("word_rollback")),
    iconButton("previous", say("button_previous"), actions.previous, say("word_step")),
    play,
    iconButton("next", say("button_next"), actions.next, say("word_step")),
    iconButton("nextRollback", say("button_nextRollback"), actions.nextRollback, say("word_rollback")),
    element("span", "amusd-group", {}, [
      button("slower", "÷2", say("button_slower"), actions.slower),
      speed,
      button("faster", "×2", say("button_faster"), actions.faster),
      race,
    ]),
    element("span", "amusd-space"),
    ...actions.extra,
  ]);
  return { controls, update: (player) => update({ play, speed, race }, player) };
}

function update({ play, speed, race }, player) {
  const name = player.playing ? "pause" : "play";
  if (play.dataset.shows !== name) {
    play.dataset.shows = name;
    play.replaceChildren(icon(name), element("span", "amusd-words", {}, say(`word_${name}`)));
    play.setAttribute("aria-label", say(`button_${name}`));
    play.title = say(`button_${name}`);
  }
  speed.textContent = pace(player.slowdown);
  race.setAttribute("aria-pressed", String(player.race));
}

export function pace(slowdown) {
  if (slowdown > 0.995 && slowdown < 1.005) return say("pace_true");
  const times = slowdown > 1 ? slowdown : 1 / slowdown;
  const digits = times < 10 ? times.toFixed(1) : times.toFixed(0);
  return say(slowdown > 1 ? "pace_slowed" : "pace_fast", { times: digits });
}
