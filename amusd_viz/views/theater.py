"""The theater: watch, step through and compare runs, in a notebook."""

from __future__ import annotations

from typing import Literal

import anywidget
import traitlets

from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace
from amusd_viz.views.bundle import style, widget_script

MOST_RUNS = 3


class Theater(anywidget.AnyWidget):
    """Up to three runs on one clock: what each side knows, and what each device does.

    Args:
        runs: traces.
        at: the moment to open at: ``"rollback 1"``, ``"start"``, ``"end"``, ``"192 ms"``, or ns;
            by default the first rollback.
        future: ``"ghost"`` shows the lanes right of the playhead faintly, ``"hidden"`` shows
            nothing that is not known at the playhead.
        height: most px the theater may take; it scrolls if it needs more.

    Raises:
        SettingError: no run, more than three, or a setting that means nothing.
    """

    _esm = widget_script()
    _css = style()

    traces = traitlets.List(traitlets.Unicode()).tag(sync=True)
    at = traitlets.Union(
        [traitlets.Unicode(), traitlets.Float()], default_value=None, allow_none=True
    ).tag(sync=True)
    future = traitlets.Enum(("ghost", "hidden"), default_value="ghost").tag(sync=True)
    height = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        *runs: Trace,
        at: str | float | None = None,
        future: Literal["ghost", "hidden"] = "ghost",
        height: int | None = None,
    ) -> None:
        if not 1 <= len(runs) <= MOST_RUNS:
            raise SettingError(f"a theater shows 1 to {MOST_RUNS} runs, not {len(runs)}")
        self._names = [run.header.method for run in runs]
        super().__init__(
            traces=[run.dumps().decode() for run in runs], at=at, future=future, height=height
        )

    def __repr__(self) -> str:
        return f"Theater({', '.join(self._names)})"
