// One card at a time, beside the token it is about. Hover or focus shows it, a click pins it.

import { element } from "./elements.js";
import { factsOf } from "./facts.js";
import { say } from "./sentences.js";

export function makeCard() {
  const card = element("div", "amusd-card", { role: "note" });
  card.hidden = true;
  return card;
}

// Fills the card with what is known of a token at t; says false if nothing is.
export function fillCard(card, runs, id, t, pinned) {
  const facts = factsOf(runs, id, t);
  if (!facts) return false;
  const key = JSON.stringify([facts, pinned]);
  if (card.dataset.key !== key) {
    card.dataset.key = key;
    const more = pinned ? facts.more : [];
    card.replaceChildren(
      element("strong", "amusd-card-title", {}, facts.title),
      list([...facts.rows, ...more]),
      ...(pinned && facts.best.length ? [element("div", "amusd-bests", {}, facts.best.map(bestList))] : []),
      element("p", "amusd-hint", {}, say(pinned ? "hint_pinned" : "hint_hover")),
    );
  }
  card.classList.toggle("amusd-pinned", pinned);
  card.hidden = false;
  return true;
}

function list(rows) {
  return element(
    "dl",
    "",
    {},
    rows.flatMap(([name, value]) => [element("dt", "", {}, name), element("dd", "", {}, value)]),
  );
}

function bestList({ side, candidates }) {
  return element("div", "amusd-best", {}, [
    element("span", "amusd-best-title", {}, say("bestOf", { side })),
    list(candidates),
  ]);
}

// Below its token if there is room, else above, else beside it; never outside the stage.
export function placeCard(card, token, stageBox) {
  const frame = stageBox.getBoundingClientRect();
  const box = token.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const x = box.left - frame.left;
  const below = box.bottom - frame.top + 8;
  const above = box.top - frame.top - height - 8;
  let left = Math.min(Math.max(0, x), Math.max(0, frame.width - width));
  let top = below + height <= frame.height ? below : above;
  if (top < 0) {
    const right = x + box.width + 12;
    left = right + width <= frame.width ? right : Math.max(0, x - width - 12);
    top = Math.max(0, frame.height - height);
  }
  card.style.left = `${Math.round(left)}px`;
  card.style.top = `${Math.round(top)}px`;
}

// The card as one sentence, for the live region.
export function cardSentence(card) {
  const title = card.querySelector(".amusd-card-title")?.textContent ?? "";
  const rows = [...card.querySelectorAll("dl")][0]?.children ?? [];
  const parts = [];
  for (let i = 0; i + 1 < rows.length; i += 2)
    parts.push(`${rows[i].textContent}: ${rows[i + 1].textContent}`);
  return `${title}. ${parts.join(". ")}.`;
}
