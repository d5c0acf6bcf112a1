"""Collects a worker's events and sends them up in batches, preferably while the device waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from amusd_viz import events as ev
from amusd_viz.engine.orders import Happened, encode_report

Later = Callable[[], Iterable[ev.Event]]
FLUSH_AFTER_NS = 80_000_000
"""A busy worker sends what it has at most so often; views look twelve times a second."""


class Recorder:
    """The events of one side in one run.

    Args:
        run: number of the run.
        clock: the run's zero on ``time.perf_counter_ns``.
        send: sends the bytes of one report.
    """

    def __init__(self, run: int, clock: int, send: Callable[[bytes], None]) -> None:
        self._run = run
        self._clock = clock
        self._send = send
        self._batch: list[ev.Event | Later] = []
        self._sent_at = 0

    def now(self) -> int:
        """Nanoseconds since the run's start."""
        return time.perf_counter_ns() - self._clock

    def add(self, *events: ev.Event) -> None:
        self._batch += events

    def later(self, make: Later) -> None:
        """Adds what ``make`` gives when the batch is sent.

        After a pass nothing that Python needs is left in the processor's caches, so that making one
        event takes as long then as making a batch of them together.
        """
        self._batch.append(make)

    def extend(self, events: Iterable[ev.Event]) -> None:
        self._batch += events

    def flush_if_due(self) -> None:
        """Sends what there is if the last batch is old enough."""
        if self._batch and self.now() - self._sent_at > FLUSH_AFTER_NS:
            self.flush()

    def flush(self) -> None:
        """Sends what there is."""
        if self._batch:
            events: list[ev.Event] = []
            for entry in self._batch:
                events += entry() if callable(entry) else (entry,)
            self._send(encode_report(Happened(self._run, tuple(events))))
            self._batch = []
            self._sent_at = self.now()
