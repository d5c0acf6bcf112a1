"""What a view may ask of a run that is still going. Views see this and never the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from amusd_viz.events import Event, Header
from amusd_viz.trace import Trace


@runtime_checkable
class EventSource(Protocol):
    """A run as its readers see it: append-only, safe to ask from any thread."""

    header: Header

    def events_from(self, index: int) -> Sequence[Event]:
        """Events number ``index`` and later, in the order they arrived (each side's own order)."""
        ...

    @property
    def done(self) -> bool:
        """Whether the run is over and no event will follow."""
        ...

    @property
    def trace(self) -> Trace:
        """The whole run; waits for its end."""
        ...

    def stop(self) -> None:
        """Asks the run to end with what is committed."""
        ...
