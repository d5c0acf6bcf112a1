"""The theater's own renderer, run in Python: pictures are drawn once, by the code the widget uses.

The JavaScript runs in an embedded engine without a document, a network or files (mini-racer), and
gives SVG; resvg turns that into pixels. Both come with the extra ``[export]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from amusd_viz.errors import MissingExtraError, SettingError, TraceError
from amusd_viz.extras import missing_from
from amusd_viz.trace import Trace
from amusd_viz.views.bundle import join

if TYPE_CHECKING:
    from py_mini_racer import MiniRacer

_PACKAGES = {"py_mini_racer": "mini-racer", "resvg_py": "resvg-py", "PIL": "pillow"}
"""What the extra ``[export]`` installs for pictures: import name and the name to install."""

_SECONDS = 60
"""Longest time one picture may take."""

_GLUE = """
let stage = null;
function load(texts) { stage = makeStage(texts); return stage.end; }
function draw(time, theme, view) { return svgOf(scene(stage, time, view), theme); }
function moment(at) { return momentOf(stage.runs, at); }
function rollbacks() {
  const times = ({ t, run, death }) => [t, run, death.since, death.heard ?? stage.end];
  return rollbackMoments(stage.runs).map(times);
}
function stops(run) { return stopsOf(stage.runs, { pinned: run }); }
"""


class Rollback(NamedTuple):
    """One rollback as the theater sees it; times in ns."""

    t: int
    """A moment at which the draft does not know yet."""
    run: int
    """Index of the run."""
    since: int
    """When the target committed what contradicts the draft."""
    heard: int
    """When the draft rolled back."""


class Renderer:
    """The theater of some runs, without a screen. Use it in a ``with`` statement.

    Args:
        traces: runs shown together, as in the theater.

    Raises:
        SettingError: no trace was given.
        MissingExtraError: the packages of ``[export]`` are not installed.
        TraceError: the theater cannot draw the run, or not in reasonable time.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        if not traces:
            raise SettingError("no run was given; pass one or more traces")
        need_export()
        # A notebook's own thread has a running event loop, on which the engine cannot work.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="renderer")
        self._engine = self._thread.submit(_start_engine).result()
        try:
            self.end: int = self._call("load", [trace.dumps().decode() for trace in traces])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine; nothing can be drawn afterwards."""
        self._thread.submit(self._engine.close).result()
        self._thread.shutdown()

    def svg(self, t: int, *, theme: str = "light", **view: Any) -> str:
        """The picture of the moment ``t`` (ns) as an SVG document; ``view`` as in ``scene.js``."""
        if theme not in ("light", "dark"):
            raise SettingError(f"unknown theme {theme!r}; use 'light' or 'dark'")
        return self._call("draw", t, theme, view)

    def moment(self, at: str | float | None) -> int:
        """The time (ns) that ``at`` names: ``"rollback 1"``, ``"192 ms"``, ``"start"``, ``"end"``.

        ``None`` is the theater's opening moment.

        Raises:
            SettingError: it names nothing in these runs.
        """
        found = self._call("moment", at)
        if found is None:
            raise SettingError(
                f"at={at!r} names no moment of these runs, which have "
                f"{len(self.rollbacks())} rollbacks; use 'rollback 1', '192 ms', 'start' or 'end'"
            )
        return int(found)

    def rollbacks(self) -> list[Rollback]:
        """All rollbacks of all runs, in the order in which the drafts fell into error."""
        return [Rollback(*map(int, each)) for each in self._call("rollbacks")]

    def stops(self, run: int | None = None) -> list[int]:
        """Times (ns) of the beats of one run, or of all."""
        return [int(t) for t in self._call("stops", run)]

    def _call(self, function: str, *args: Any) -> Any:
        call = partial(self._engine.call, function, *args, timeout_sec=_SECONDS)
        from py_mini_racer import JSEvalException, JSTimeoutException

        try:
            return self._thread.submit(call).result()
        except JSTimeoutException:
            raise TraceError(f"drawing took more than {_SECONDS} s; show a shorter run") from None
        except JSEvalException as error:
            reason = str(error).strip().splitlines()[0]
            raise TraceError(f"the theater cannot draw this trace: {reason}") from None


def _start_engine() -> MiniRacer:
    from py_mini_racer import MiniRacer

    engine = MiniRacer()
    engine.eval(join("svg.js") + _GLUE, timeout_sec=_SECONDS)
    return engine


def need_export(feature: str = "Drawing pictures") -> None:
    """Raises :class:`MissingExtraError` where the packages for pictures are not all installed."""
    missing = missing_from(tuple(_PACKAGES))
    if missing:
        raise MissingExtraError(feature, "export", ", ".join(_PACKAGES[name] for name in missing))
