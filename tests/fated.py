"""One proposal of every fate, and the moment at which its fate becomes known."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from amusd_viz import events as ev
from amusd_viz import recording
from amusd_viz.protocol.messages import Fate
from amusd_viz.trace import Trace

sys.path.append(str(Path(__file__).with_name("js")))

from simulated import simulated


class Fated(NamedTuple):
    trace: Trace
    branch: int
    position: int
    t: int
    """ns"""


@cache
def one_of_each() -> dict[Fate, Fated]:
    """From a recorded run where it has that fate, otherwise from a simulated one."""
    runs = [
        recording("sky-amusd"),
        simulated(agreement=0.6, seed=2),
        simulated(latency=30),
        stopped(simulated(agreement=1.0, policy="eager"), verdicts=5),
    ]
    found: dict[Fate, Fated] = {}
    for trace in runs:
        for fate, fated in _all(trace):
            if fate not in found and _still_believed(fated):
                found[fate] = fated
    return {fate: found[fate] for fate in Fate}


def stopped(trace: Trace, verdicts: int) -> Trace:
    """The run as if the caller had asked for its end after so many verdicts.

    Its proposals must all agree, so that none was dropped before.
    """
    judged = list(trace.of(ev.Verified))[:verdicts]
    t = judged[-1].end
    length = judged[-1].position + len(judged[-1].committed)
    events = [e for e in trace.events if (e.end if isinstance(e, ev.Span) else e.t) <= t]
    waiting = sorted(
        e.position
        for e in events
        if isinstance(e, ev.Received) and e.side is ev.Side.TARGET and e.position >= length
    )
    dropped = [ev.Dropped(t=t, branch=0, position=p, fate=Fate.UNFINISHED) for p in waiting]
    assert dropped, "no proposal waits at that moment"
    return Trace(
        trace.header, [*events, *dropped, ev.Finished(t=t, reason="stop_request", tokens=length)]
    )


def _all(trace: Trace) -> Iterator[tuple[Fate, Fated]]:
    for event in trace.events:
        if isinstance(event, ev.Dropped):
            yield event.fate, Fated(trace, event.branch, event.position, event.t)
        elif isinstance(event, ev.Verified) and event.accepted:
            yield Fate.ACCEPTED, Fated(trace, event.branch, event.position, event.end)


def _still_believed(fated: Fated) -> bool:
    """Whether the draft has not taken the proposal back yet, so that its row shows it."""
    return not any(
        r.branch == fated.branch + 1 and r.t <= fated.t for r in fated.trace.of(ev.RolledBack)
    )
