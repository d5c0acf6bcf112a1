"""One run as its caller sees it: events while it goes on, then a trace and a text."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from amusd_viz import events as ev
from amusd_viz.errors import AmusdVizError
from amusd_viz.models.tokens import Tokens
from amusd_viz.stop_strings import until_stop
from amusd_viz.trace import Trace

_PATIENCE_AFTER_INTERRUPT_S = 0.7


class Run:
    """A run of a warm session. Iterate over it to see its events as they arrive.

    Events arrive in batches, in order on each side; between the sides their times may interleave.
    ``trace`` has them all in order.

    Attributes:
        header: what the run is.
    """

    def __init__(
        self,
        header: ev.Header,
        tokens: Tokens,
        sides: Sequence[ev.Side],
        request_stop: Callable[[], None],
    ) -> None:
        self.header = header
        self._tokens = tokens
        self._request_stop = request_stop
        self._outstanding = set(sides)
        self._arrived: list[ev.Event] = []
        self._told: list[ev.Event] = []
        """Those of them that somebody has looked at, with the texts of their tokens."""
        self._error: AmusdVizError | None = None
        lock = threading.RLock()
        # Who waits for the end is not woken by every batch: that would take time from the devices.
        self._news, self._over = threading.Condition(lock), threading.Condition(lock)
        self._trace: Trace | None = None

    def __repr__(self) -> str:
        state = "over" if self.done else "going on"
        return f"Run({self.header.method}, {state}, {len(self._arrived)} events)"

    # -- what the caller may ask -------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the run is over and no event will follow."""
        return not self._outstanding

    @property
    def error(self) -> AmusdVizError | None:
        """Why the run could not be finished, if so."""
        return self._error

    def events_from(self, index: int) -> Sequence[ev.Event]:
        """Events number ``index`` and later, in order of arrival. Safe in any thread."""
        with self._news:
            # Texts are added for those who look: while nobody does, the devices have the cores.
            for event in self._arrived[len(self._told) :]:
                self._told.append(self._with_texts(event))
            return self._told[index:]

    def __iter__(self) -> Iterator[ev.Event]:
        seen = 0
        while batch := self._next_events(seen):
            yield from batch
            seen += len(batch)
        if self._error:
            raise self._error

    def _next_events(self, seen: int) -> Sequence[ev.Event]:
        """Waits for events beyond the first ``seen``; none are left if it returns nothing."""
        self._wait_for(self._news, lambda: len(self._arrived) > seen or self.done, None)
        return self.events_from(seen)

    def wait(self, timeout: float | None = None) -> Run:
        """Waits until the run is over and returns it.

        Args:
            timeout: seconds; after them the run is returned as it is.

        Raises:
            EngineError: the run could not be finished.
            KeyboardInterrupt: the caller was interrupted; the run is stopped first.
        """
        self._wait_for(self._over, lambda: self.done, timeout)
        if self._error and self.done:
            raise self._error
        return self

    def stop(self) -> None:
        """Asks the run to end with what is committed; returns at once."""
        if not self.done:
            self._request_stop()

    @property
    def trace(self) -> Trace:
        """The whole run; waits for its end."""
        self.wait()
        if self._trace is None:
            self._trace = Trace(self.header, self.events_from(0))
        return self._trace

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Ids of the output, end token included; waits for the end."""
        return self.trace.tokens

    @property
    def text(self) -> str:
        """The output without special tokens, up to a stop string; waits for the end."""
        return self.text_of(self.token_ids)

    def text_of(self, ids: Sequence[int]) -> str:
        """The text of some token ids, without special tokens, up to a stop string."""
        return until_stop(self._tokens.text(ids), self.header.stop)

    def _wait_for(
        self, told: threading.Condition, ready: Callable[[], bool], timeout: float | None
    ) -> None:
        try:
            with told:
                told.wait_for(ready, timeout)
        except KeyboardInterrupt:
            # Outside our lock: stopping takes the session's, whose holder may be waiting for ours.
            self.stop()
            with self._over:
                self._over.wait_for(lambda: self.done, _PATIENCE_AFTER_INTERRUPT_S)
            raise

    # -- what the session tells it -----------------------------------------------------------

    def happened(self, events: Sequence[ev.Event]) -> None:
        """Takes in a batch of one side's events."""
        with self._news:
            self._arrived += events
            self._news.notify_all()

    def side_over(self, side: ev.Side) -> None:
        """One worker is idle again, or gone."""
        with self._over:
            self._outstanding.discard(side)
            self._tell()

    def waits_for(self, side: ev.Side) -> bool:
        return side in self._outstanding

    def fail(self, error: AmusdVizError) -> None:
        """The run cannot be finished."""
        with self._over:
            self._error = error
            self._outstanding.clear()
            self._tell()

    def _tell(self) -> None:
        self._news.notify_all()
        self._over.notify_all()

    def _with_texts(self, event: ev.Event) -> ev.Event:
        if isinstance(event, ev.Proposed):
            return msgspec.structs.replace(
                event,
                text=self._tokens.token_text(event.token),
                alternatives=self._candidates(event.alternatives),
            )
        if isinstance(event, ev.Verified):
            return msgspec.structs.replace(
                event,
                texts=self._tokens.token_texts(event.committed),
                alternatives=tuple(self._candidates(row) for row in event.alternatives),
            )
        return event

    def _candidates(self, row: tuple[ev.Candidate, ...]) -> tuple[ev.Candidate, ...]:
        text = self._tokens.token_text
        return tuple(ev.Candidate(c.token, text(c.token), c.probability) for c in row)


def elapsed_ns(clock: int) -> int:
    """Nanoseconds since a run's zero."""
    return time.perf_counter_ns() - clock
