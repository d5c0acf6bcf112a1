// Brings an SVG element to a drawing: elements are kept by key, only what differs is touched.

import { svgElement } from "./elements.js";
import { resolveColour } from "./palette.js";

// onCreate(element, attrs) is called for every element that was not there before.
export function patch(parent, nodes, onCreate = null) {
  const before = parent.amusdChildren ?? new Map();
  const after = new Map(nodes.map((node) => [`${node.tag} ${node.key}`, node]));
  for (const [key, element] of before) if (!after.has(key)) element.remove();
  let place = parent.firstChild;
  for (const [key, node] of after) {
    const kept = before.get(key);
    const element = kept ?? create(node.tag);
    after.set(key, element);
    if (element === place) place = place.nextSibling;
    else parent.insertBefore(element, place);
    setAttributes(element, node.attrs);
    if (node.text === null) patch(element, node.children, onCreate);
    else if (element.amusdText !== node.text) element.textContent = element.amusdText = node.text;
    if (!kept && onCreate) onCreate(element, node.attrs);
  }
  parent.amusdChildren = after;
}

function create(tag) {
  const element = svgElement(tag);
  element.amusdAttrs = {};
  return element;
}

function setAttributes(element, attrs) {
  const old = element.amusdAttrs;
  for (const name in attrs) {
    const value = attrs[name];
    if (old[name] === value) continue;
    if (value === "" || value === null) element.removeAttribute(name);
    else element.setAttribute(name, resolveColour(value, "widget"));
  }
  for (const name in old) if (!(name in attrs)) element.removeAttribute(name);
  element.amusdAttrs = attrs;
}
