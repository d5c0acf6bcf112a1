// Presenting: the theater fills the tab, in large type and a light theme, whatever is around it.

const LARGE = 20;
const PLAIN_SIZE = 14;

// The root moves to the body meanwhile: inside a notebook cell it could not leave the cell's box.
export function togglePresenting(theater) {
  const { root, host, view } = theater;
  theater.presenting = !theater.presenting;
  view.size = theater.presenting ? LARGE : PLAIN_SIZE;
  root.classList.toggle("amusd-presenting", theater.presenting);
  if (theater.presenting) document.body.append(root);
  else host.append(root);
  theater.colour();
  theater.measure(true);
  root.focus({ preventScroll: !theater.presenting });
}
