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
  "[": "tokenBefore",
  "]": "tokenAfter",
  Enter: "pinCard",
  p: "present",
  d: "details",
  h: "predict",
  k: "key",
  a: "alone",
  Escape: "escape",
};
const SHIFTED = {
  ArrowRight: "nextEvent",
  ArrowLeft: "previousEvent",
  R: "previousRollback",
  "+": "faster",
};

// The name of the action a key stands for; null if the theater has no use for it.
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  return (event.shiftKey ? SHIFTED : PLAIN)[event.key] ?? null;
}

// Whether a control inside the theater wants this key for itself.
export function belongsToControl(event) {
  const presses = event.key === " " || event.key === "Enter";
  const control = event.target.closest?.("button, a, input[type=checkbox]");
  const scrolls = event.target.closest?.(".amusd-events") && event.key.startsWith("Page");
  return Boolean((presses && control) || scrolls);
}
