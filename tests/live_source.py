"""A run that is still going, made of a recorded one: its events come when a test lets them."""

from __future__ import annotations

import threading
import time

from amusd_viz.errors import WorkerDiedError
from amusd_viz.trace import Trace


class Replayed:
    """An :class:`~amusd_viz.source.EventSource` over a finished trace, in each side's own order.

    Args:
        trace: whose events come again.
        seconds: how long the replay takes, evenly; 0: only :meth:`let` moves it.
        fails_after: number of events after which the run fails.
    """

    def __init__(self, trace: Trace, *, seconds: float = 0, fails_after: int | None = None) -> None:
        self.header = trace.header
        self._whole = trace
        self._end = len(trace.events) if fails_after is None else fails_after
        self._fails = fails_after is not None
        self._come = 0
        self.came_at: list[tuple[int, float]] = []
        """For each event that has come: its own time (ns), and when it came (s since the epoch)."""
        self._stopped = threading.Event()
        if seconds:
            threading.Thread(target=self._replay, args=(seconds,), daemon=True).start()

    def let(self, count: int) -> None:
        """Lets so many events be there in all."""
        count = min(count, self._end)
        new = self._whole.events[self._come : count]
        self.came_at += [(event.at, time.time()) for event in new]
        self._come = max(count, self._come)

    def _replay(self, seconds: float) -> None:
        started = time.monotonic()
        while self._come < self._end and not self._stopped.is_set():
            self.let(int((time.monotonic() - started) / seconds * self._end) + 1)
            time.sleep(0.005)

    def events_from(self, index: int) -> list:
        return list(self._whole.events[index : self._come])

    @property
    def done(self) -> bool:
        return self._come >= self._end or self._stopped.is_set()

    @property
    def trace(self) -> Trace:
        while not self.done:
            time.sleep(0.005)
        if self._fails:
            raise WorkerDiedError("the target's process ended")
        return Trace(self.header, self._whole.events[: self._come])

    def stop(self) -> None:
        self._stopped.set()
