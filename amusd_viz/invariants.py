"""What must hold in every recording; a trace that breaks one of these is refused.

Events of a draft that died may be missing, but only where a ``failed`` event of the draft says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from amusd_viz import events as ev
from amusd_viz.errors import BrokenTraceError


def check_events(
    header: ev.Header, events: Sequence[ev.Event | ev.Unknown], *, partial: bool = False
) -> None:
    """Raises :class:`BrokenTraceError` at the first contradiction.

    Args:
        header: of the same trace.
        events: in the order of the file; line 1 of the file is the header.
        partial: the events may end before the run does.
    """
    checker = _Checker(draft_failed=_draft_failed(events))
    for line, event in enumerate(events, start=2):
        if not isinstance(event, ev.Unknown):
            checker.look_at(line, event)
    if not partial:
        checker.look_at_end(len(events) + 1, header)


def _draft_failed(events: Sequence[ev.Event | ev.Unknown]) -> bool:
    return any(isinstance(e, ev.Failed) and e.side is ev.Side.DRAFT for e in events)


class _Checker:
    """Replays a trace and compares every event with what the earlier ones say."""

    def __init__(self, *, draft_failed: bool) -> None:
        self.draft_failed = draft_failed
        self.clock = dict.fromkeys(ev.Side, 0)
        self.busy_until = dict.fromkeys(ev.Side, 0)
        self.proposed: dict[tuple[int, int], int] = {}
        self.ended: set[tuple[int, int]] = set()
        self.committed: list[int] = []
        self.branch = 0
        self.known = 0
        self.finished: ev.Finished | None = None

    def look_at(self, line: int, event: ev.Event) -> None:
        self._check_clock(line, event)
        match event:
            case ev.Proposed():
                self._check_proposed(line, event)
            case ev.Dropped():
                self._end_proposal(line, event.branch, event.position)
            case ev.Verified():
                self._check_verified(line, event)
            case ev.RolledBack():
                self._check_rolled_back(line, event)
            case ev.Received(side=ev.Side.DRAFT):
                self._check_heard(line, event)
            case ev.Finished():
                self._check_finished(line, event)

    def look_at_end(self, line: int, header: ev.Header) -> None:
        if self.finished and len(self.committed) > header.max_new_tokens:
            raise BrokenTraceError(
                line,
                f"{len(self.committed)} tokens were committed, the limit was {header.max_new_tokens}",
            )

    def _check_clock(self, line: int, event: ev.Event) -> None:
        side = event.side
        start = event.start if isinstance(event, ev.Span) else event.t
        if start < 0 or event.at < start:
            raise BrokenTraceError(
                line, f"{_kind(event)} ends at {event.at} ns but starts at {start} ns"
            )
        if event.at < self.clock[side]:
            raise BrokenTraceError(
                line,
                f"time runs backwards on the {side} device: {_kind(event)} at {event.at} ns "
                f"after an event at {self.clock[side]} ns",
            )
        self.clock[side] = event.at
        if isinstance(event, ev.Span):
            if start < self.busy_until[side]:
                raise BrokenTraceError(
                    line,
                    f"two spans overlap on the {side} device: {_kind(event)} starts at {start} ns, "
                    f"the one before ends at {self.busy_until[side]} ns",
                )
            self.busy_until[side] = event.at

    def _check_proposed(self, line: int, event: ev.Proposed) -> None:
        key = (event.branch, event.position)
        if event.parent is None and event.drafter == "draft":
            if event.branch != self.branch:
                raise BrokenTraceError(
                    line,
                    f"a proposal of branch {event.branch} while the draft is on branch {self.branch}",
                )
            if key in self.proposed:
                raise BrokenTraceError(
                    line, f"position {event.position} is proposed twice on one branch"
                )
        self.proposed[key] = event.token

    def _end_proposal(self, line: int, branch: int, position: int) -> None:
        key = (branch, position)
        if key not in self.proposed and not self.draft_failed:
            raise BrokenTraceError(
                line, f"a fate for position {position}, branch {branch}: never proposed"
            )
        if key in self.ended:
            raise BrokenTraceError(line, f"position {position}, branch {branch} has two fates")
        self.ended.add(key)

    def _check_verified(self, line: int, event: ev.Verified) -> None:
        done = len(self.committed)
        if event.position < done:
            raise BrokenTraceError(line, f"position {event.position} is committed twice")
        if event.position > done:
            raise BrokenTraceError(
                line, f"positions {done} to {event.position - 1} were never committed"
            )
        if self.finished:
            raise BrokenTraceError(line, "a token is committed after the run finished")
        extra = 0 if event.extra is ev.Extra.NONE else 1
        if event.accepted + extra != len(event.committed) or event.accepted > event.proposals:
            raise BrokenTraceError(
                line,
                f"{len(event.committed)} tokens committed, but {event.accepted} of {event.proposals} "
                f"proposals accepted and {extra} token added",
            )
        for offset, token in enumerate(event.committed[: event.accepted]):
            self._check_accepted(line, event.branch, event.position + offset, token)
        self.committed += event.committed

    def _check_accepted(self, line: int, branch: int, position: int, token: int) -> None:
        proposed = self.proposed.get((branch, position))
        if proposed is None:
            if not self.draft_failed:
                raise BrokenTraceError(line, f"position {position} was accepted but never proposed")
        elif proposed != token:
            raise BrokenTraceError(
                line,
                f"token {token} was accepted at position {position}, but {proposed} was proposed",
            )
        self._end_proposal(line, branch, position)

    def _check_rolled_back(self, line: int, event: ev.RolledBack) -> None:
        if event.branch != self.branch + 1:
            raise BrokenTraceError(line, f"branch {event.branch} follows branch {self.branch}")
        if event.position + len(event.discarded) != event.length or not event.discarded:
            raise BrokenTraceError(
                line,
                f"a rollback from length {event.length} to {event.position} discards "
                f"{len(event.discarded)} tokens",
            )
        if (
            tuple(self.committed[event.position : event.position + len(event.adopted)])
            != event.adopted
        ):
            raise BrokenTraceError(
                line, f"the tokens adopted at {event.position} were never committed"
            )
        self.branch = event.branch

    def _check_heard(self, line: int, event: ev.Received) -> None:
        if event.position != self.known:
            raise BrokenTraceError(
                line, f"the draft hears of position {event.position} but knew {self.known} tokens"
            )
        self.known += event.count
        if self.known > len(self.committed):
            raise BrokenTraceError(
                line,
                f"the draft knows {self.known} committed tokens, {len(self.committed)} exist",
            )

    def _check_finished(self, line: int, event: ev.Finished) -> None:
        if self.finished:
            raise BrokenTraceError(line, "the run finishes twice")
        if event.tokens != len(self.committed):
            raise BrokenTraceError(
                line,
                f"finished with {event.tokens} tokens, but {len(self.committed)} were committed",
            )
        self.finished = event


def _kind(event: ev.Event) -> str:
    return str(type(event).__struct_config__.tag)
