"""A page that plays by itself: the theater and its traces in one HTML file, without kernel or network.

Traces are data in the page, never markup: the page's policy lets only its own scripts run (by their
hashes), and nothing be fetched. A trace file dropped on it, or chosen, is opened in its place.
The file contains the prompt and everything the run wrote.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace
from amusd_viz.views.bundle import page_script, style
from amusd_viz.words import labelled_names, visible

PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 16px; max-width: 1400px; font: 14px/1.5 system-ui, sans-serif; }
body.over { outline: 3px dashed #0072b2; outline-offset: -6px; }
footer { margin-top: 12px; display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; }
th, td { padding: 2px 10px 2px 0; }
"""

_MOUNT = """
"use strict";
const given = JSON.parse(document.getElementById("given").textContent);
const theater = new amusdViz.Theater(document.getElementById("theater"), given.traces, given.options);

async function textOf(file) {
  const packed = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const zipped = packed[0] === 0x1f && packed[1] === 0x8b;
  const stream = zipped ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return new Response(stream).text();
}

async function open(files) {
  const texts = await Promise.all([...files].slice(0, 3).map((file) => textOf(file).catch(() => "")));
  if (texts.length) theater.show(texts, { at: null });
}

addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  open(event.dataTransfer.files);
});
document.getElementById("open").addEventListener("change", (event) => open(event.target.files));
"""


@dataclass(frozen=True, repr=False)
class Page:
    """A page of its own. A notebook shows it in a frame that can reach nothing outside itself.

    Attributes:
        html: the whole document.
        height: of the frame in a notebook, in px.
    """

    html: str
    height: int = 760

    def __repr__(self) -> str:
        return f"Page({len(self.html.encode()) // 1000} kB of HTML)"

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" title="theater" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )


def show_html(*traces: Trace, at: str | float | None = None, height: int = 760) -> Page:
    """The theater in a frame, for places where the widget cannot load.

    Args:
        traces: up to three runs.
        at: the moment it opens at, as in the theater.
        height: of the frame, in px.
    """
    return Page(theater_page(traces, at=at), height)


def save_html(path: str | Path, *traces: Trace, at: str | float | None = None) -> Path:
    """Writes the theater as one HTML file that plays without kernel or network; returns its path."""
    path = Path(path)
    path.write_text(theater_page(traces, at=at), encoding="utf-8")
    return path


def theater_page(
    traces: Sequence[Trace],
    *,
    at: str | float | None = None,
    alone: bool = True,
    title: str = "",
    before: str = "",
    after: str = "",
) -> str:
    """The HTML document itself.

    Args:
        traces: one to three runs.
        at: the moment it opens at.
        alone: whether the autoregressive run is shown at first; a button brings it back.
        title: of the page; by default the names of the runs.
        before, after: trusted HTML above the theater, and at the end of the page.

    Raises:
        SettingError: no run, or more than three.
    """
    if not 1 <= len(traces) <= 3:
        raise SettingError(f"a page shows 1 to 3 runs, not {len(traces)}")
    given = {
        "traces": [trace.dumps().decode() for trace in traces],
        "options": {"at": at, "alone": alone},
    }
    scripts = (page_script(), _MOUNT)
    styles = (PAGE_STYLE, style())
    name = title or " / ".join(labelled_names(traces))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{script_policy(scripts)}">'
        f"<title>{escape(visible(name, 200))}</title>"
        f"{''.join(f'<style>{text}</style>' for text in styles)}</head>\n<body>{before}"
        '<main id="theater"><noscript>The theater needs JavaScript.</noscript></main>'
        '<footer><label>Open a trace (or drop one on this page): <input type="file" id="open" '
        'accept=".jsonl,.gz" multiple></label>'
        f"<span>This page contains the prompt and the text of its runs.</span></footer>{after}"
        f'<script type="application/json" id="given">{as_data(given)}</script>\n'
        f"{''.join(f'<script>{text}</script>' for text in scripts)}</body></html>\n"
    )


def script_policy(scripts: Sequence[str]) -> str:
    """Only these scripts may run, and nothing may be fetched."""
    for text in scripts:
        assert "</script" not in text.lower(), "a script would end early"
    allowed = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_data(value: object) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
