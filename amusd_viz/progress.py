"""How far each side was at any time: committed by the target, known and believed by the draft."""

from __future__ import annotations

from typing import NamedTuple

from amusd_viz import events as ev
from amusd_viz.trace import Trace


class Progress(NamedTuple):
    """The state of a run after all that happened at ``t`` (ns). Lengths count output tokens."""

    t: int
    committed: int
    """By the target."""
    known: int
    """Committed tokens the draft has heard of; it never knows more than ``committed``."""
    believed: int
    """Length of the output as the draft believes it."""

    @property
    def run_ahead(self) -> int:
        """How far the draft is past the last token it knows to be committed."""
        return self.believed - self.known


def progress(trace: Trace) -> list[Progress]:
    """One entry for each time at which something changed, in order; the first is all zeros."""
    steps = [Progress(0, 0, 0, 0)]
    for event in trace.events:
        after = _after(steps[-1], event)
        if after[1:] == steps[-1][1:]:
            continue
        if after.t == steps[-1].t and len(steps) > 1:
            steps[-1] = after
        else:
            steps.append(after)
    return steps


def _after(now: Progress, event: ev.Event | ev.Unknown) -> Progress:
    match event:
        case ev.Verified():
            return now._replace(t=event.at, committed=event.position + len(event.committed))
        case ev.Proposed(side=ev.Side.DRAFT):
            return now._replace(t=event.at, believed=event.position + 1)
        case ev.Received(side=ev.Side.DRAFT):
            return now._replace(t=event.at, known=event.position + event.count)
        case ev.RolledBack() | ev.FastForwarded():
            return now._replace(t=event.at, believed=event.position + len(event.adopted))
        case _:
            return now
