"""The theater: watch, step through and compare runs, in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import anywidget
import traitlets

from amusd_viz.errors import SettingError
from amusd_viz.source import EventSource
from amusd_viz.trace import Trace
from amusd_viz.views.bundle import style, widget_script
from amusd_viz.views.keeping import Keeping
from amusd_viz.views.pump import Pump

MOST_RUNS = 3


class Theater(Keeping, anywidget.AnyWidget):
    """Up to three runs on one clock: what each side knows, and what each device does.

    A run that is still going is followed; the stop button of the theater ends it. The autoregressive
    run is put away and brought back by a button.

    Args:
        runs: traces, or runs that are still going. None may be given where recordings are: they are
            shown until :meth:`add` brings the first run.
        at: the moment to open at: ``"rollback 1"``, ``"start"``, ``"end"``, ``"192 ms"``, or ns;
            by default the first rollback.
        future: ``"ghost"`` shows the lanes right of the playhead faintly, ``"hidden"`` shows
            nothing that is not known at the playhead.
        height: most px the theater may take; it scrolls if it needs more.
        recordings: traces shown, and labelled so, where live runs fail or are slow to start.
        autoregressive: the run of the target alone, put away at first.
        on_demand: called when the autoregressive run is asked for, which is offered while
            :attr:`offer` is set; adds it.
        on_stop: called when the runs are asked to stop, before they are.

    Raises:
        SettingError: no run, more than three, or something that is no run.
    """

    _esm = widget_script()
    _css = style()

    traces = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Contents of trace files; of a live run the header alone, until it is over."""
    at = traitlets.Union(
        [traitlets.Unicode(), traitlets.Float()], default_value=None, allow_none=True
    ).tag(sync=True)
    future = traitlets.Enum(("ghost", "hidden"), default_value="ghost").tag(sync=True)
    height = traitlets.Int(None, allow_none=True).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)
    alone = traitlets.Bool(True).tag(sync=True)
    """Whether the autoregressive run is shown at first."""
    offer = traitlets.Bool(False).tag(sync=True)
    """Whether an autoregressive run can be had on demand."""
    note = traitlets.Dict().tag(sync=True)
    """Why a recording is shown: the name of a sentence and what it speaks of."""

    _pump: Pump | None = None

    def __init__(
        self,
        *runs: Trace | EventSource,
        at: str | float | None = None,
        future: Literal["ghost", "hidden"] = "ghost",
        height: int | None = None,
        recordings: Sequence[Trace] = (),
        autoregressive: Trace | None = None,
        on_demand: Callable[[], None] | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        given = (*runs, autoregressive) if autoregressive is not None else runs
        _check(given, recordings, future)
        self._runs = [run if isinstance(run, Trace) else _settled(run) for run in given]
        self._recordings = [_text(recording) for recording in recordings]
        self._on_demand, self._on_stop = on_demand, on_stop
        super().__init__(
            traces=self._texts() or self._recordings,
            at=at,
            future=future,
            height=height,
            live=bool(self._going()),
            note={} if given else {"name": "liveSlow"},
            alone=autoregressive is None,
        )
        self.on_msg(self._hear)
        self._follow()

    def __repr__(self) -> str:
        return f"Theater({', '.join(run.header.method for run in self._runs)})"

    def add(self, run: Trace | EventSource) -> None:
        """Shows a further run below the others; what is still going there is waited for."""
        _check([*self._runs, run], (), self.future)
        if self._pump:
            self._pump.hurry()
            self._pump.join()
        self._runs.append(run if isinstance(run, Trace) else _settled(run))
        self._set(traces=self._texts(), live=bool(self._going()), note={})
        self._follow()

    def fail(self, reason: str) -> None:
        """No further run can begin: says why, and shows the recordings where nothing else is."""
        if not self.note.get("what"):
            self._say_failed(reason)

    def stop(self) -> None:
        """Asks the runs that are still going to end with what is committed."""
        if self._on_stop:
            self._on_stop()
        for run in self._runs:
            if not isinstance(run, Trace):
                run.stop()

    def wait(self, timeout: float | None = None) -> Theater:
        """Waits until all runs are over and shown whole (at most ``timeout`` seconds)."""
        if self._pump:
            self._pump.join(timeout)
        return self

    def close(self) -> None:
        """Takes the theater off the page; runs go on."""
        if self._pump:
            self._pump.close()
        super().close()

    # -- live runs; called from the pump's thread, or from the kernel's ------------------------

    def _hear(self, _: object, message: dict, __: object) -> None:
        kind = message.get("kind")
        if kind == "stop":
            self.stop()
        elif kind == "autoregressive" and self._on_demand:
            self._on_demand()
        elif kind == "ready" and self._pump:
            self._pump.listens()
        elif kind == "missing" and self._pump:
            self._pump.ask(int(message.get("run", 0)), int(message.get("have", 0)))

    def _going(self) -> dict[int, EventSource]:
        return {i: run for i, run in enumerate(self._runs) if not isinstance(run, Trace)}

    def _follow(self) -> None:
        going = self._going()
        if not going:
            return
        self._pump = Pump(
            going,
            send=lambda batches: self.send({"kind": "events", "batches": batches}),
            late=self._show_recordings_meanwhile,
            begun=self._show_live,
            over=self._show_results,
            messages=self._pump.messages if self._pump else 0,
        )
        self._pump.start()

    def _show_recordings_meanwhile(self) -> None:
        if self._recordings:
            self._set(traces=self._recordings, live=False, note={"name": "liveSlow"})

    def _show_live(self) -> None:
        if not self.live:
            self._set(traces=self._texts(), live=True, note={})

    def _show_results(self, traces: dict[int, Trace], failure: str) -> None:
        self._runs = [traces.get(i, run) for i, run in enumerate(self._runs)]
        if failure:
            self._say_failed(failure)
        else:
            self._set(traces=self._texts(), live=False, note={})

    def _say_failed(self, reason: str) -> None:
        whole = any(isinstance(run, Trace) and run.finish for run in self._runs)
        if self._recordings and not whole:
            note = {"name": "liveFailed", "what": reason}
            self._set(traces=self._recordings, live=False, note=note)
        else:
            note = {"name": "liveBroken", "what": reason}
            self._set(traces=self._texts(), live=False, note=note)

    def _set(self, **traits: object) -> None:
        """Several traits in one message."""
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def _texts(self) -> list[str]:
        return [
            _text(run if isinstance(run, Trace) else Trace(run.header, ())) for run in self._runs
        ]


def _check(runs: Sequence[object], recordings: Sequence[object], future: str) -> None:
    if len(runs) > MOST_RUNS or not (runs or recordings):
        raise SettingError(f"a theater shows 1 to {MOST_RUNS} runs, not {len(runs)}")
    for run in runs:
        # Not isinstance(run, EventSource): it may ask for run.trace, which waits for the end.
        if not isinstance(run, Trace) and not callable(getattr(run, "events_from", None)):
            raise SettingError(
                f"a theater shows traces and runs, not {type(run).__name__}; "
                "open a trace file with Trace.load(path)"
            )
    if any(not isinstance(recording, Trace) for recording in recordings):
        raise SettingError("recordings must be traces; open a trace file with Trace.load(path)")
    if future not in ("ghost", "hidden"):
        raise SettingError(f"future must be 'ghost' or 'hidden', not {future!r}")


def _settled(run: EventSource) -> Trace | EventSource:
    """The trace of a run that is over without fault; otherwise the run."""
    if not run.done:
        return run
    try:
        return run.trace
    except Exception:  # shown by the pump, in the run's place
        return run


def _text(trace: Trace) -> str:
    return trace.dumps().decode()
