"""A piece of Python to take along, with a button that copies it."""

from __future__ import annotations

import anywidget
import traitlets

from amusd_viz.views.bundle import JS, widget_script


class Copyable(anywidget.AnyWidget):
    """Shows ``text`` as code; its button puts it on the clipboard, or selects it where it may not."""

    _esm = widget_script("copyable.js")
    _css = (JS / "copyable.css").read_text(encoding="utf-8")

    text = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        return f"Copyable({self.text!r})"
