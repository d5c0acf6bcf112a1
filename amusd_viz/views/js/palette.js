// Colours by role. Okabe-Ito hues: orange for the draft, blue for the target, vermilion for a rejection.
// Every state also has a shape, an outline or a mark of its own: no meaning hangs on hue alone.

export const LIGHT = {
  paper: "#ffffff",
  ink: "#1b1f24",
  muted: "#57606a",
  faint: "#8c959f",
  rule: "#d0d7de",
  band: "#f6f8fa",
  draftFill: "#fbe2b0",
  draftEdge: "#8f5b00",
  onDraft: "#3d2700",
  targetFill: "#cfe3f4",
  targetEdge: "#005587",
  onTarget: "#00324f",
  deadEdge: "#7d8590",
  deadText: "#656d76",
  reject: "#c24a00",
  rejectEdge: "#7a2e00",
  onReject: "#ffffff",
  prefill: "#eaeef2",
  playhead: "#1b1f24",
  focus: "#0072b2",
};

export const DARK = {
  paper: "#111418",
  ink: "#e8ebef",
  muted: "#a4adb8",
  faint: "#737d89",
  rule: "#343b44",
  band: "#191e24",
  draftFill: "#4d3607",
  draftEdge: "#e69f00",
  onDraft: "#ffe7b8",
  targetFill: "#123a56",
  targetEdge: "#56b4e9",
  onTarget: "#d9efff",
  deadEdge: "#7f8995",
  deadText: "#98a2ad",
  reject: "#e0641a",
  rejectEdge: "#ffb184",
  onReject: "#170800",
  prefill: "#262c34",
  playhead: "#e8ebef",
  focus: "#56b4e9",
};

// Surroundings that belong to the page the widget stands in, with ours as fallback.
const FROM_PAGE = {
  paper: "--jp-layout-color0",
  ink: "--jp-content-font-color0",
};

export const FONT = '"Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif';

// The custom properties a widget sets on its root; `fixed` ignores the page (presenting).
export function customProperties(dark, fixed = false) {
  const colours = dark ? DARK : LIGHT;
  return Object.entries(colours).map(([name, value]) => {
    const page = fixed ? null : FROM_PAGE[name];
    return [`--amusd-${name}`, page ? `var(${page}, ${value})` : value];
  });
}

// "$ink" -> a colour: literal for a theme, or the widget's custom property.
export function resolveColour(value, theme) {
  if (typeof value !== "string" || value[0] !== "$") return value;
  const name = value.slice(1);
  if (theme === "widget") return `var(--amusd-${name})`;
  return (theme === "dark" ? DARK : LIGHT)[name];
}
