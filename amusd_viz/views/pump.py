"""From runs that are still going to the browser: one thread, few messages, nothing printed.

The events of live runs leave in batches as custom messages; the whole traces are set once, at the
end. A batch may be lost before the browser listens, so the first batches start at event 0, and the
browser asks for what it misses.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from amusd_viz.events import Event
from amusd_viz.source import EventSource
from amusd_viz.trace import Trace

TICK_S = 1 / 12
"""Under 15 messages a second."""
SLOWER_AFTER = ((300, 0.25), (500, 1.0), (700, 5.0))
"""After so many messages one every so many seconds: a long run stays under 1,000 in one cell."""
MOST_MESSAGES = 900
LISTENING_AFTER_S = 2.0
"""For so long every batch starts at event 0, unless the browser says that it listens."""
PATIENCE_S = 8.0
"""After so long without an event, a recording is shown in the meantime."""

_encode = msgspec.json.Encoder().encode


class Pump(threading.Thread):
    """Polls live runs until all are over.

    Args:
        sources: the live runs, by their place on the stage.
        send: sends one message, given its batches.
        late: called once if no run has begun after :data:`PATIENCE_S`.
        begun: called when a run begins after all.
        over: called once, with the traces by place and what failed (empty if nothing did).
        messages: sent already from the same cell.
    """

    def __init__(
        self,
        sources: Mapping[int, EventSource],
        *,
        send: Callable[[list[dict]], None],
        late: Callable[[], None],
        begun: Callable[[], None],
        over: Callable[[dict[int, Trace], str], None],
        messages: int = 0,
    ) -> None:
        super().__init__(name="amusd-viz theater", daemon=True)
        self.sources = dict(sources)
        self._send, self._late, self._begun, self._over = send, late, begun, over
        self._sent = dict.fromkeys(self.sources, 0)
        self._asked: dict[int, int] = {}
        self._lock = threading.Lock()
        self._listening = False
        self._closed = False
        self._wake = threading.Event()
        self.messages = messages

    def ask(self, place: int, have: int) -> None:
        """The browser has only the first ``have`` events of a run."""
        with self._lock:
            self._listening = True
            self._asked[place] = min(have, self._asked.get(place, have))

    def listens(self) -> None:
        """The browser is ready, and has nothing yet."""
        for place in self.sources:
            self.ask(place, 0)

    def close(self) -> None:
        """Nobody watches any more."""
        self._closed = True
        self._wake.set()

    def hurry(self) -> None:
        """Looks at the runs now, instead of after a pause."""
        self._wake.set()

    def run(self) -> None:
        started = time.monotonic()
        waiting_since: float | None = started
        is_late = False
        while True:
            self._wake.wait(self._pause())
            self._wake.clear()
            if self._closed:
                return
            over = all(source.done for source in self.sources.values())
            batches = self._batches(first=time.monotonic() - started < LISTENING_AFTER_S)
            if batches and is_late:
                is_late = False
                self._begun()
            if batches:
                waiting_since = None
                self._send_some(batches)
            if over:
                break
            if waiting_since and time.monotonic() - waiting_since > PATIENCE_S:
                waiting_since, is_late = None, True
                self._late()
        self._over(*self._results())

    def _pause(self) -> float:
        return next((s for n, s in reversed(SLOWER_AFTER) if self.messages >= n), TICK_S)

    def _send_some(self, batches: list[dict]) -> None:
        if self.messages < MOST_MESSAGES:
            self.messages += 1
            self._send(batches)

    def _batches(self, *, first: bool) -> list[dict]:
        with self._lock:
            asked, self._asked = self._asked, {}
            again = first and not self._listening
        batches = []
        for place, source in self.sources.items():
            new = source.events_from(self._sent[place])
            start = min(self._sent[place], asked.get(place, self._sent[place]))
            if not new and start == self._sent[place]:
                continue
            start = 0 if again else start
            events = source.events_from(start)
            self._sent[place] = start + len(events)
            batches.append({"run": place, "from": start, "lines": _lines(events)})
        return batches

    def _results(self) -> tuple[dict[int, Trace], str]:
        traces, failures = {}, []
        for place, source in self.sources.items():
            try:
                traces[place] = source.trace
            except Exception as error:  # a thread has nobody to raise to; the theater shows it
                failures.append(str(error) or type(error).__name__)
                traces[place] = Trace(source.header, source.events_from(0))
        return traces, "; ".join(failures)


def _lines(events: Sequence[Event]) -> str:
    return b"\n".join(_encode(event) for event in events).decode()
