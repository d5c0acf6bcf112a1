"""One prompt decoded by several methods in turn, in a thread, and watched in one theater meanwhile.

It knows no engine: what opens a session is given to it. The thread prints nothing and only sets
traits, so that Stop is heard with kernel subshells and without.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from amusd_viz.source import EventSource
from amusd_viz.trace import Trace
from amusd_viz.views.theater import MOST_RUNS, Theater

AUTOREGRESSIVE = "autoregressive"


class Decoder(Protocol):
    """What a session is to a view."""

    def decode(self, prompt: str, method: str, **settings: Any) -> EventSource: ...


class InTurn:
    """Decodes as soon as it is started. No two methods decode at once, which would ruin both.

    Args:
        open_session: gives the warm session, in a context that may close it afterwards.
        prompt: what is decoded.
        methods: one after the other.
        settings: of ``decode``, the same for all.
        recordings: shown until the first run begins, and where none can.
        say: told what is being done, in a sentence.
        over: called when nothing more is decoded, in the thread.
    """

    def __init__(
        self,
        open_session: Callable[[], AbstractContextManager[Decoder]],
        prompt: str,
        methods: Sequence[str],
        settings: Mapping[str, Any],
        *,
        recordings: Sequence[Trace] = (),
        say: Callable[[str], None] = lambda sentence: None,
        over: Callable[[InTurn], None] = lambda in_turn: None,
    ) -> None:
        self._open_session, self._prompt, self._settings = open_session, prompt, dict(settings)
        self._methods = tuple(methods)
        self._say, self._over = say, over
        self._stop_asked = threading.Event()
        self._run: EventSource | None = None
        self._worker: threading.Thread | None = None
        self.traces: tuple[Trace, ...] = ()
        """The runs that are over."""
        self.texts: tuple[str, ...] = ()
        """What each of them wrote."""
        self.failure: Exception | None = None
        """Why a run could not begin or end."""
        on_demand = None if AUTOREGRESSIVE in methods else self.add_autoregressive
        self.theater = Theater(
            recordings=recordings, on_demand=on_demand, on_stop=self._stop_asked.set
        )

    def start(self) -> InTurn:
        """Begins to decode, in a thread; returns at once."""
        self._begin(self._methods)
        return self

    def add_autoregressive(self) -> None:
        """Decodes by the target alone too, unless something is decoded now or that has been."""
        if self.theater.offer and not self.going:
            self._begin((AUTOREGRESSIVE,))

    def stop(self) -> None:
        """Ends the run that is going on with what is committed; no further one starts."""
        self._stop_asked.set()
        run = self._run
        if run is not None:
            run.stop()

    @property
    def going(self) -> bool:
        """Whether something is being decoded."""
        return self._worker is not None and self._worker.is_alive()

    def wait(self, timeout: float | None = None) -> InTurn:
        """Waits until nothing more is decoded (at most ``timeout`` seconds).

        Raises:
            AmusdVizError: why a run could not begin or end.
            KeyboardInterrupt: the caller was interrupted; the run is stopped first.
        """
        self.join(timeout)
        if self.failure and not self.going:
            raise self.failure
        return self

    def join(self, timeout: float | None = None) -> None:
        """As :meth:`wait`, without raising what went wrong with the runs."""
        try:
            if self._worker:
                self._worker.join(timeout)
        except KeyboardInterrupt:
            self.stop()
            raise

    def _begin(self, methods: Sequence[str]) -> None:
        self._stop_asked.clear()
        self.theater.offer = False
        if self.traces:
            self.theater.note = {"name": "loading"}
        self._worker = threading.Thread(
            target=self._work, args=(methods,), name="amusd-viz decoding", daemon=True
        )
        self._worker.start()

    def _work(self, methods: Sequence[str]) -> None:
        try:
            self._say("Loading the models …")
            with self._open_session() as session:
                for method in methods:
                    if not self._stop_asked.is_set():
                        self._decode(session, method)
        except Exception as reason:  # raised again where the caller waits
            self.failure = reason
            self.theater.fail(str(reason) or type(reason).__name__)
        finally:
            self._run = None
            methods_run = {trace.header.method for trace in self.traces}
            room = 0 < len(self.traces) < MOST_RUNS
            self.theater.offer = room and not self.failure and AUTOREGRESSIVE not in methods_run
            self._over(self)

    def _decode(self, session: Decoder, method: str) -> None:
        self._say(f"Decoding: {method}.")
        run = self._run = session.decode(self._prompt, method, **self._settings)
        if self._stop_asked.is_set():
            run.stop()
        self.theater.add(run)
        trace = run.trace
        self.texts += (getattr(run, "text", ""),)
        self.traces += (trace,)
