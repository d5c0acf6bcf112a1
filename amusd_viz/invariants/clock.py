"""Time runs forward on each device, and a device does one thing at a time."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.invariants.replay import Broken


class Clock:
    """The rules about times, one clock for both devices."""

    def __init__(self, header: ev.Header) -> None:
        self.has_draft = header.draft is not None
        self.now = dict.fromkeys(ev.Side, 0)
        self.busy_until = dict.fromkeys(ev.Side, 0)

    def look_at(self, event: ev.Event) -> None:
        side, kind = event.side, event.__struct_config__.tag
        if side is ev.Side.DRAFT and not self.has_draft:
            raise Broken(f"{kind} of a draft, but the header names no draft")
        if event.at < self.now[side]:
            raise Broken(
                f"time runs backwards on the {side} device: {kind} at {event.at} ns "
                f"after an event at {self.now[side]} ns"
            )
        self.now[side] = event.at
        if isinstance(event, ev.Span):
            self._check_span(event, str(kind))

    def _check_span(self, event: ev.Span, kind: str) -> None:
        side: ev.Side = event.side  # type: ignore[attr-defined]
        if event.end < event.start:
            raise Broken(f"{kind} ends at {event.end} ns but starts at {event.start} ns")
        if event.start < self.busy_until[side]:
            raise Broken(
                f"two spans overlap on the {side} device: {kind} starts at {event.start} ns, "
                f"the one before ends at {self.busy_until[side]} ns"
            )
        self.busy_until[side] = event.end
