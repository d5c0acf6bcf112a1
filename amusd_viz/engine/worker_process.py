"""A worker process as the session sees it: started, ready, reporting, gone."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec

from amusd_viz import events as ev
from amusd_viz.engine.orders import (
    Birth,
    Fault,
    LoadSpeculator,
    Ready,
    Report,
    RunOrder,
    RunOver,
    SpeculatorReady,
    decode_report,
)
from amusd_viz.engine.worker import worker_main
from amusd_viz.errors import ModelError, WorkerDiedError

CONTEXT = multiprocessing.get_context("spawn")
"""Our own: forking is unsafe after CUDA or threads have started, and the global method is not ours."""


class WorkerProcess:
    """One living worker. Its reports are read by a thread of its own.

    Args:
        birth: what the worker is told; its pipes are made here.
        on_report: called in the reading thread with every report.
        on_gone: called in the reading thread when the process has ended.
    """

    def __init__(
        self,
        birth: Birth,
        on_report: Callable[[ev.Side, Report], None],
        on_gone: Callable[[WorkerProcess], None],
    ) -> None:
        self.side = birth.side
        self.ready: Future[Ready] = Future()
        self.fault: Fault | None = None
        self._speculator: Future[SpeculatorReady] | None = None
        self.idle = threading.Event()
        """Set while no run occupies the worker: it has reported the end of the last, or is gone."""
        self.idle.set()
        self._hung_up = threading.Event()
        self._on_report = on_report
        self._on_gone = on_gone
        their_orders, self._orders = CONTEXT.Pipe(duplex=False)
        self._reports, their_reports = CONTEXT.Pipe(duplex=False)
        birth = replace(birth, orders=their_orders, reports=their_reports)
        self._process = CONTEXT.Process(
            target=worker_main, args=(birth,), name=f"amusd-viz {birth.side}", daemon=True
        )
        with _interrupts_blocked(), _without_main_module():
            self._process.start()
        # Our copies must go, or the end of the process would not be the end of its pipe.
        their_orders.close()
        their_reports.close()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def alive(self) -> bool:
        # While the reader collects the exit code, the process itself would still say yes.
        return not self._hung_up.is_set() and self._process.is_alive()

    def order(self, order: RunOrder) -> None:
        """Sends a run; a worker that is gone is noticed by its reader."""
        self.idle.clear()
        try:
            self._orders.send(order)
        except OSError:
            self.idle.set()

    def load_speculator(self) -> int:
        """Waits until the target's speculator is loaded, once; returns its number of parameters.

        Raises:
            ModelError, WorkerDiedError: it cannot be loaded; the worker is gone then.
        """
        if self._speculator is None:
            self._speculator = Future()
            with contextlib.suppress(OSError):
                self._orders.send(LoadSpeculator())
            if self._hung_up.is_set():
                self._give_up_loading()
        return self._speculator.result().parameters

    def kill(self) -> None:
        """Ends the process whatever it is doing; a stopped one too."""
        self._process.kill()

    def kill_unless_idle(self, patience_s: float) -> None:
        """Kills a worker that does not come back from a run within ``patience_s`` seconds."""
        if not self.idle.wait(patience_s):
            self.kill()
            self._reader.join(patience_s)

    def close(self, patience_s: float = 2.0) -> None:
        """Lets the worker leave; kills it if it does not."""
        with contextlib.suppress(OSError):
            self._orders.send(None)
        self._process.join(patience_s)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(patience_s)
        self._orders.close()

    def why_gone(self) -> str:
        """What is known of its end, as the end of a sentence."""
        if self.fault:
            return self.fault.what
        code = self._process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            hint = " (out of memory?)" if name == "SIGKILL" else ""
            return f"its process was killed by {name}{hint}"
        return f"its process ended with exit code {code}"

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._take(self._reports.recv_bytes())
        self._hung_up.set()
        self._process.join(5)
        self.idle.set()
        self._give_up_loading()
        self._on_gone(self)

    def _take(self, data: bytes) -> None:
        try:
            report = decode_report(data)
        except msgspec.DecodeError as error:
            # Numbers that make no sense, such as probabilities that are NaN.
            self.fault = Fault(f"it reported what cannot be recorded: {error}", named=False)
            self.kill()
            return
        if isinstance(report, Ready):
            self.ready.set_result(report)
        elif isinstance(report, SpeculatorReady):
            assert self._speculator is not None, "nobody asked for the speculator"
            self._speculator.set_result(report)
        elif isinstance(report, Fault):
            self.fault = self.fault or report
        else:
            if isinstance(report, RunOver):
                self.idle.set()
            self._on_report(self.side, report)

    def _give_up_loading(self) -> None:
        for awaited in (self.ready, self._speculator):
            if awaited and not awaited.done():
                # Two threads may find this out at once.
                with contextlib.suppress(InvalidStateError):
                    awaited.set_exception(self._load_error())

    def _load_error(self) -> Exception:
        if self.fault and self.fault.named:
            return ModelError(self.fault.what)
        return WorkerDiedError(f"the {self.side} model could not be loaded: {self.why_gone()}")


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A worker inherits a blocked SIGINT, so that one that comes while it starts does not kill it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main_module() -> Iterator[None]:
    """Keeps ``spawn`` from running the caller's script again in the worker.

    The worker needs nothing of it, and a script without an ``if __name__ == "__main__"`` guard
    would start sessions for ever.
    """
    main: Any = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
