"""What a theater can leave behind: a page, a picture, a film, a storyboard.

Thin: everything is made in :mod:`amusd_viz.export`, from the runs the theater shows. A run that is
still going is waited for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from amusd_viz.source import EventSource
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.export.page import Page
    from amusd_viz.export.pictures import Storyboard

At = str | float | None


class Keeping:
    """Methods of the theater that write files. ``at`` is by default the moment it opens at.

    All but :meth:`save_html` and :meth:`show_html` need the extra ``[export]``, and raise
    ``MissingExtraError`` without it; a moment that does not exist is a ``SettingError``.
    """

    _runs: list[Trace | EventSource]
    at: At
    alone: bool

    def save_html(self, path: str | Path, at: At = None) -> Path:
        """Writes one file that plays without kernel or network. It contains prompts and texts."""
        from amusd_viz.export.page import save_html

        return save_html(path, *self._whole_runs(), at=self._moment(at))

    def show_html(self, height: int = 760) -> Page:
        """The same page in a frame, where the widget itself cannot load."""
        from amusd_viz.export.page import show_html

        return show_html(*self._whole_runs(), at=self.at, height=height)

    def save_svg(self, path: str | Path, at: At = None, **look: Any) -> Path:
        """Writes one moment as SVG; ``look``: ``theme``, ``width``."""
        from amusd_viz.export.pictures import save_svg

        return save_svg(path, *self._runs_in_pictures(), at=self._moment(at), **look)

    def save_png(self, path: str | Path, at: At = None, **look: Any) -> Path:
        """Writes one moment as PNG; ``look``: ``theme``, ``width``, ``scale``."""
        from amusd_viz.export.pictures import save_png

        return save_png(path, *self._runs_in_pictures(), at=self._moment(at), **look)

    def save_gif(self, path: str | Path, around: At = "rollback 1", **look: Any) -> Path:
        """Writes one rollback as a GIF under 5 MB; ``look``: ``theme``, ``width``."""
        from amusd_viz.export.pictures import save_gif

        return save_gif(path, *self._runs_in_pictures(), around=around, **look)

    def storyboard(self, n: int = 6, around: At = "rollback 1", **look: Any) -> Storyboard:
        """A rollback in ``n`` stills on one sheet, to be read in black and white too."""
        from amusd_viz.export.pictures import storyboard

        return storyboard(*self._runs_in_pictures(), n=n, around=around, **look)

    def _whole_runs(self) -> list[Trace]:
        return [run if isinstance(run, Trace) else run.trace for run in self._runs]

    def _runs_in_pictures(self) -> list[Trace]:
        """Without the autoregressive run where that is put away."""
        runs = self._whole_runs()
        if self.alone:
            return runs
        return [run for run in runs if run.header.method != "autoregressive"] or runs

    def _moment(self, at: At) -> At:
        return self.at if at is None else at
