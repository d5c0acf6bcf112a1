// A drawing as plain data: nodes {tag, key, attrs, text, children}. Colours are names such as "$ink".

export function node(tag, key, attrs = {}, content = null) {
  const isText = typeof content === "string";
  return { tag, key, attrs, text: isText ? content : null, children: isText || !content ? [] : content };
}

export function group(key, children, attrs = {}) {
  return node("g", key, attrs, children.filter(Boolean));
}

export function rect(key, x, y, width, height, attrs = {}) {
  return node("rect", key, {
    x: round(x),
    y: round(y),
    width: round(Math.max(0, width)),
    height: round(height),
    ...attrs,
  });
}

export function line(key, x1, y1, x2, y2, attrs = {}) {
  return node("line", key, { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), ...attrs });
}

export function path(key, d, attrs = {}) {
  return node("path", key, { d, fill: "none", ...attrs });
}

export function label(key, x, y, size, text, attrs = {}) {
  return node(
    "text",
    key,
    { x: round(x), y: round(y), "font-size": round(size), fill: "$ink", ...attrs },
    text,
  );
}

export function round(value) {
  return Math.round(value * 100) / 100;
}

// Marks are drawn, not set in type: no font has to know them.
export function mark(kind, key, x, y, r, colour) {
  const at = (dx, dy) => `${round(x + dx * r)} ${round(y + dy * r)}`;
  const stroke = {
    stroke: colour,
    "stroke-width": round(Math.max(1.2, r * 0.36)),
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  };
  if (kind === "check") return path(key, `M${at(-0.8, 0.05)} L${at(-0.2, 0.7)} L${at(0.85, -0.7)}`, stroke);
  if (kind === "cross")
    return path(key, `M${at(-0.7, -0.7)} L${at(0.7, 0.7)} M${at(-0.7, 0.7)} L${at(0.7, -0.7)}`, stroke);
  if (kind === "unequal") {
    return path(
      key,
      `M${at(-0.8, -0.32)} L${at(0.8, -0.32)} M${at(-0.8, 0.32)} L${at(0.8, 0.32)} M${at(-0.42, 0.85)} L${at(0.42, -0.85)}`,
      stroke,
    );
  }
  const points = [];
  for (let i = 0; i < 10; i++) {
    const radius = i % 2 ? 0.45 : 1.05;
    const angle = (Math.PI * i) / 5 - Math.PI / 2;
    points.push(at(radius * Math.cos(angle), radius * Math.sin(angle)));
  }
  return path(key, `M${points.join(" L")} Z`, { fill: colour });
}
