// Small helpers for HTML around the drawing. Text is always set as text.

export function element(tag, className = "", attrs = {}, content = null) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attrs)) made.setAttribute(name, value);
  if (typeof content === "string") made.textContent = content;
  else if (content) made.append(...content);
  return made;
}

export function svgElement(tag, attrs = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attrs)) made.setAttribute(name, value);
  return made;
}

// `label` names the button where its text alone would not.
export function button(name, text, title, onClick, label = "") {
  const made = element("button", `amusd-button amusd-${name}`, { type: "button", title }, text);
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", onClick);
  return made;
}

// Icons are drawn: no font has to know them.
const ICONS = {
  play: "M4 2.5 L13 8 L4 13.5 Z",
  pause: "M4 2.5 H7 V13.5 H4 Z M9.5 2.5 H12.5 V13.5 H9.5 Z",
  next: "M5 3 L11 8 L5 13 Z",
  previous: "M11 3 L5 8 L11 13 Z",
  nextRollback: "M3 3 L9 8 L3 13 Z M10.5 3 H13 V13 H10.5 Z",
  previousRollback: "M13 3 L7 8 L13 13 Z M3 3 H5.5 V13 H3 Z",
};

export function icon(name) {
  const svg = svgElement("svg", { viewBox: "0 0 16 16", class: "amusd-icon", "aria-hidden": "true" });
  svg.append(svgElement("path", { d: ICONS[name] }));
  return svg;
}
