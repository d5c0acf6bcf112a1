"""A theater on a plain page, without a notebook: the widget's own module over a model made here."""

from __future__ import annotations

import json
from collections.abc import Sequence

from playwright.sync_api import Page

from amusd_viz.trace import Trace
from amusd_viz.views.bundle import style, widget_script

_MODEL = """
class Model {
  constructor(traits) { this.traits = traits; this.listeners = {}; this.sent = []; this.comm_live = true; }
  get(name) { return this.traits[name]; }
  on(name, listener) { (this.listeners[name] ??= []).push(listener); }
  off(name, listener) { this.listeners[name] = (this.listeners[name] ?? []).filter((l) => l !== listener); }
  send(message) { this.sent.push(message); }
  set(traits) {
    Object.assign(this.traits, traits);
    for (const name in traits) this.emit(`change:${name}`);
  }
  emit(name, ...args) { for (const listener of this.listeners[name] ?? []) listener(...args); }
}
window.mount = async (traits, script) => {
  const module = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const widget = (await import(module)).default;
  const plain = { at: null, future: "ghost", height: null, alone: true, live: false, note: {}, offer: false };
  const model = new Model({ ...plain, ...traits });
  const el = document.createElement("div");
  document.body.append(el);
  const remove = widget.render({ model, el });
  (window.mounted ??= []).push({ model, el, remove });
};
window.hostileRan = false;
"""


def put_theater(page: Page, *traces: Trace | str, dark: bool = False, **traits: object) -> None:
    """Opens a page with one theater; call again with ``add_theater`` for another."""
    put_widget(page, widget_script(), style(), {"traces": texts(traces), **traits}, dark=dark)
    page.wait_for_selector(".amusd-picture text")


def put_widget(page: Page, script: str, css: str, traits: dict, *, dark: bool = False) -> None:
    """Opens a page with one widget of any kind."""
    paper = "#111" if dark else "#fff"
    page.set_content(
        f"<!doctype html><html data-theme={'dark' if dark else 'light'}><head><style>"
        f"body {{ margin: 16px; background: {paper} }} {css}</style></head><body></body></html>"
    )
    page.evaluate(f"() => {{ {_MODEL} }}")
    _mount(page, script, traits)


def add_theater(page: Page, *traces: Trace | str, **traits: object) -> None:
    _mount(page, widget_script(), {"traces": texts(traces), **traits})
    page.wait_for_selector(".amusd-picture text")


def _mount(page: Page, script: str, traits: dict) -> None:
    page.evaluate("([traits, script]) => window.mount(traits, script)", [traits, script])


def texts(traces: Sequence[Trace | str]) -> list[str]:
    return [t if isinstance(t, str) else t.dumps().decode() for t in traces]


def picture(page: Page) -> str:
    """Everything the theater shows, as one string to compare or search."""
    return page.evaluate("() => document.querySelector('.amusd-theater').outerHTML")


def sentence(page: Page) -> str:
    return page.locator(".amusd-picture").first.get_attribute("aria-label") or ""


def batch(trace: Trace, run: int, first: int, last: int) -> dict:
    """A batch of a live run's events, as the pump sends it."""
    lines = trace.dumps().decode().splitlines()[1:][first:last]
    return {"run": run, "from": first, "lines": "\n".join(lines)}


def send(page: Page, *batches: dict) -> None:
    page.evaluate(
        """async (message) => {
        window.mounted[0].model.emit('msg:custom', message);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }""",
        json.loads(json.dumps({"kind": "events", "batches": batches})),
    )
