"""Where the draft of a recorded run agreed with the target."""

from __future__ import annotations

from collections.abc import Iterable

from amusd_viz import events as ev
from amusd_viz.trace import Trace


def agreement_of(trace: Trace) -> list[bool | None]:
    """For each output position, whether the draft's token equalled the committed one.

    Only tokens drafted on a right prefix count; behind a mismatch a token may be right by chance
    and says nothing. ``None`` where the draft proposed nothing on a right prefix.
    """
    tokens = trace.tokens
    agrees: list[bool | None] = [None] * len(tokens)
    astray: dict[int, int] = {}
    for proposal in trace.of(ev.Proposed):
        branch, position = proposal.branch, proposal.position
        if proposal.side is ev.Side.TARGET:
            continue  # A head that stepped in; what it says is no agreement of the draft's.
        if position >= len(tokens) or position > astray.get(branch, position):
            continue
        agrees[position] = proposal.token == tokens[position]
        if not agrees[position]:
            astray[branch] = position
    return agrees


def known(agrees: Iterable[bool | None]) -> tuple[bool, ...]:
    """The agreement without the positions at which nothing is known."""
    return tuple(a for a in agrees if a is not None)
