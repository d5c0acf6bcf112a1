// Everything a person can do, by name: keys and buttons lead here.

import { rollbackMoments, stopsOf } from "./beats.js";
import { keep, keepPng, keepSvg, traceText } from "./files.js";
import { togglePresenting } from "./presenting.js";

const ZOOM = [1 / 8, 8];

export function actionsOf(theater) {
  const { player, view } = theater;
  const draw = () => theater.draw();
  return {
    play: () => player.toggle(),
    next: () => step(theater, 1, false),
    previous: () => player.back(neighbour(theater, -1, false)),
    nextEvent: () => step(theater, 1, true),
    previousEvent: () => player.back(neighbour(theater, -1, true)),
    nextRollback: () => toRollback(theater, 1),
    previousRollback: () => toRollback(theater, -1),
    first: () => player.stepTo(0),
    last: () => {
      player.stepTo(player.end);
      theater.follow(true);
    },
    faster: () => setPace(theater, player.pace * 2),
    slower: () => setPace(theater, player.pace / 2),
    race: () => {
      player.race = !player.race;
      if (player.race) player.play();
      draw();
    },
    pin1: () => pinRun(theater, 0),
    pin2: () => pinRun(theater, 1),
    pin3: () => pinRun(theater, 2),
    tokenBefore: () => moveToken(theater, -1),
    tokenAfter: () => moveToken(theater, 1),
    pinCard: () => theater.pinCard(),
    present: () => togglePresenting(theater),
    details: () => {
      theater.panel.panel.hidden = !theater.panel.panel.hidden;
      draw();
    },
    predict: () => {
      view.future = view.future === "hidden" ? "ghost" : "hidden";
      player.pause();
      draw();
    },
    zoomIn: () => zoom(theater, 2),
    zoomOut: () => zoom(theater, 0.5),
    spaces: (on) => {
      view.spaces = on;
      draw();
    },
    key: () => {
      view.key = !view.key;
      draw();
    },
    saveSvg: () => keepSvg(theater.drawing, theater.dark),
    savePng: () => keepPng(theater.drawing, theater.dark),
    saveTrace: () =>
      theater.stage.traces.forEach((trace) =>
        keep(`${trace.header.method}.jsonl`, new Blob([traceText(trace)], { type: "application/jsonl" })),
      ),
    alone: () => theater.toggleAlone(),
    stop: () => theater.options.onStop?.(),
    escape: () => {
      if (theater.lit) theater.light(null);
      else if (theater.presenting) togglePresenting(theater);
      else if (!theater.panel.panel.hidden) theater.actions.details();
    },
  };
}

function neighbour(theater, direction, every) {
  const key = `${every}:${theater.view.pinned}`;
  if (!theater.stops.has(key)) {
    theater.stops.set(key, stopsOf(theater.stage.runs, { pinned: theater.view.pinned, every }));
  }
  const stops = theater.stops.get(key);
  const { t, end } = theater.player;
  const found = direction > 0 ? stops.find((stop) => stop > t) : stops.findLast((stop) => stop < t);
  return found ?? (direction > 0 ? end : 0);
}

function step(theater, direction, every) {
  const to = neighbour(theater, direction, every);
  if (to !== theater.player.t) theater.player.stepTo(to);
}

function toRollback(theater, direction) {
  const { t } = theater.player;
  const moments = rollbackMoments(theater.stage.runs, theater.view.pinned).map((moment) => moment.t);
  const to = direction > 0 ? moments.find((m) => m > t) : moments.findLast((m) => m < t);
  if (to !== undefined) theater.player.stepTo(to);
}

function setPace(theater, pace) {
  theater.player.race = false;
  theater.player.pace = Math.min(Math.max(pace, 1 / 64), 64);
  theater.draw();
}

function pinRun(theater, place) {
  const { view, stage } = theater;
  view.pinned = place < stage.runs.length && view.pinned !== place ? place : null;
  theater.draw();
  theater.announce();
}

function zoom(theater, factor) {
  theater.view.zoom = Math.min(Math.max(theater.view.zoom * factor, ZOOM[0]), ZOOM[1]);
  theater.draw();
}

// Through the tokens on screen, in reading order.
function moveToken(theater, direction) {
  const ids = [...theater.svg.querySelectorAll(".amusd-chip[data-token]")].map((chip) => chip.dataset.token);
  if (!ids.length) return;
  const at = ids.indexOf(theater.lit);
  const next =
    at < 0 ? (direction > 0 ? 0 : ids.length - 1) : Math.min(Math.max(at + direction, 0), ids.length - 1);
  theater.light(ids[next], { say: true });
}
