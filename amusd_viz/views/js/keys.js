// Keys work only while the theater has the focus, and never reach the notebook around it.

const PLAIN = {
  " ": "play",
  ArrowRight: "next",
  ArrowLeft: "previous",
  PageDown: "next",
  PageUp: "previous",
  Home: "first",
  End: "last",
  r: "nextRollback",
  "+": "faster",
  "=": "faster",
  "-": "slower",
  1: "pin1",
  2: "pin2",
  3: "pin3",
  0: "unpin",
  "[": "tokenBefore",
  "]": "tokenAfter",
  p: "present",
  d: "details",
  "?": "help",
  Escape: "escape",
};
const SHIFTED = { ArrowRight: "nextEvent", ArrowLeft: "previousEvent", R: "previousRollback", "+": "faster", "?": "help" };

// The name of the action a key stands for; null if the theater has no use for it.
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const map = event.shiftKey ? SHIFTED : PLAIN;
  return map[event.key] ?? null;
}

// Whether a control inside the theater wants this key for itself.
export function belongsToControl(event) {
  const { target } = event;
  if (target.closest?.("input[type=text], select, textarea")) return true;
  return Boolean(target.closest?.("button, summary, a")) && (event.key === " " || event.key === "Enter");
}
