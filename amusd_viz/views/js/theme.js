// Whether the surroundings are dark: JupyterLab, VS Code, a page of our own, or the system's wish.

export function isDark(element) {
  const { body, documentElement } = document;
  if (body.dataset.jpThemeLight !== undefined) return body.dataset.jpThemeLight === "false";
  if (body.dataset.vscodeThemeKind) return body.dataset.vscodeThemeKind.includes("dark");
  const wish = documentElement.dataset.theme ?? body.dataset.theme;
  if (wish) return wish === "dark";
  const background = backgroundOf(element);
  if (background) return brightness(background) < 110;
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function backgroundOf(element) {
  for (let each = element; each; each = each.parentElement) {
    const rgba = (getComputedStyle(each).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (rgba.length === 3 || rgba[3] > 0.5) return rgba;
  }
  return null;
}

function brightness([r, g, b]) {
  return 0.3 * r + 0.59 * g + 0.11 * b;
}

// Calls back when the theme may have changed; returns how to stop.
export function watchTheme(onChange) {
  const observer = new MutationObserver(onChange);
  const filter = {
    attributes: true,
    attributeFilter: [
      "class",
      "style",
      "data-jp-theme-light",
      "data-jp-theme-name",
      "data-theme",
      "data-vscode-theme-kind",
    ],
  };
  observer.observe(document.body, filter);
  observer.observe(document.documentElement, filter);
  const wish = matchMedia("(prefers-color-scheme: dark)");
  wish.addEventListener("change", onChange);
  return () => {
    observer.disconnect();
    wish.removeEventListener("change", onChange);
  };
}
