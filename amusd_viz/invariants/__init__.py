"""What must hold in every recording; a trace that breaks one of these is refused.

The events are replayed in their order: ``clock`` watches the times of each device, ``target_rules``
what is judged and committed, ``draft_rules`` what the draft believes. Events of a draft that died may
be missing, but only where a ``failed`` event of the draft says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from amusd_viz import events as ev
from amusd_viz.errors import BrokenTraceError
from amusd_viz.invariants.clock import Clock
from amusd_viz.invariants.draft_rules import DraftRules
from amusd_viz.invariants.replay import Broken, Replay
from amusd_viz.invariants.target_rules import TargetRules


def check_events(
    header: ev.Header,
    events: Sequence[ev.Event | ev.Unknown],
    *,
    lines: Sequence[int] | None = None,
) -> None:
    """Raises :class:`BrokenTraceError` at the first contradiction.

    Args:
        header: of the same trace.
        events: in the order of the file. They may end before the run does.
        lines: the line of each event in its file; by default the header is line 1, and no line
            is blank.
    """
    replay = Replay(header, draft_failed=_draft_failed(events))
    rules = (Clock(header), TargetRules(replay), DraftRules(replay))
    for line, event in zip(lines or range(2, len(events) + 2), events, strict=True):
        if isinstance(event, ev.Unknown):
            continue
        try:
            for rule in rules:
                rule.look_at(event)
        except Broken as broken:
            raise BrokenTraceError(line, str(broken)) from None


def _draft_failed(events: Sequence[ev.Event | ev.Unknown]) -> bool:
    return any(isinstance(e, ev.Failed) and e.side is ev.Side.DRAFT for e in events)
