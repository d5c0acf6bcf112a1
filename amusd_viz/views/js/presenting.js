// Presenting: the theater fills the tab, in large type and a light theme, whatever is around it.

const LARGE = 20;
const PLAIN_SIZE = 14;

// The root moves to the body meanwhile: inside a notebook cell it could not leave the cell's box.
export function togglePresenting(theater) {
  const { root, host, view } = theater;
  theater.presenting = view.tight = !theater.presenting;
  view.size = theater.presenting ? LARGE : PLAIN_SIZE;
  view.key = !theater.presenting; // room for large type; the K key brings it back
  root.classList.toggle("amusd-presenting", theater.presenting);
  if (theater.presenting) document.body.append(root);
  else host.append(root);
  theater.colour();
  theater.measure(true);
  if (theater.presenting) fitTab(theater);
  root.focus({ preventScroll: !theater.presenting });
}

// Smaller type where the large one would not leave room for the controls, never below the plain size.
function fitTab(theater) {
  const { view, stageBox, controls } = theater;
  const room = innerHeight - stageBox.offsetTop - controls.controls.offsetHeight - 24;
  const fits = Math.floor((view.size * room * 2) / theater.drawing.height) / 2;
  if (fits >= view.size) return;
  view.size = Math.max(PLAIN_SIZE, fits);
  theater.draw();
}
