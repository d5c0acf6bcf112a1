"""One trace to one file, in a format chosen by name: what ``amusd-viz export`` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace

FORMATS = ("perfetto", "html", "svg", "png", "gif", "csv")
"""What a trace can become; ``svg``, ``png`` and ``gif`` need the extra ``[export]``."""


def export_trace(trace: Trace, to: str, output: str | Path, *, at: str | None = None) -> Path:
    """Writes a trace in another format and returns the path written.

    Args:
        trace: the run.
        to: one of :data:`FORMATS`.
        output: the file; its folder must exist.
        at: for pictures and pages, which moment: ``"rollback 1"``, ``"192 ms"``; by default where
            the theater opens.

    Raises:
        SettingError: the format is unknown, the moment does not exist, or the file cannot be written.
        MissingExtraError: the packages for pictures are not installed.
    """
    if to not in FORMATS:
        raise SettingError(f"unknown format {to!r}; use one of: {', '.join(FORMATS)}")
    path = Path(output)
    try:
        _writer(to)(trace, path, at)
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror or error}") from None
    return path


_Writer = Callable[[Trace, Path, str | None], object]


def _writer(to: str) -> _Writer:
    """The function for a format, with what it needs imported only now."""
    if to == "perfetto":
        from amusd_viz.export.perfetto import to_perfetto

        return lambda trace, path, at: path.write_text(to_perfetto(trace), encoding="utf-8")
    if to == "csv":
        from amusd_viz.export.events import to_csv

        return lambda trace, path, at: path.write_text(to_csv(trace), encoding="utf-8")
    if to == "html":
        from amusd_viz.export.page import save_html

        return lambda trace, path, at: save_html(path, trace, at=at)
    from amusd_viz.export import pictures

    if to == "gif":
        return lambda trace, path, at: pictures.save_gif(path, trace, around=at or "rollback 1")
    save = pictures.save_svg if to == "svg" else pictures.save_png
    return lambda trace, path, at: save(path, trace, at=at)
