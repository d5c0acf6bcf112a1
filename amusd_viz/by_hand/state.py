"""Where a hand-driven run stands: both sides, their clocks and mailboxes, and what has happened."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass, field

from amusd_viz import events as ev
from amusd_viz.protocol import Commit, DraftSide, Proposal, TargetSide


@dataclass
class State:
    """Everything that a press may change.

    Attributes:
        draft, target: the two sides of the protocol.
        draft_clock, target_clock: until when each device has acted (ns); a verification that is
            out moves the target's when it is finished.
        verifying: start and end of the verification that is out (ns).
        proposals, commits: the mailbox of the target, and that of the draft: with the moment each
            message was sent (ns).
        events: what happened.
        sentence: what the last press did, in words.
        wasted: time spent so far on branches the target had already decided against (ns).
    """

    draft: DraftSide
    target: TargetSide
    draft_clock: int = 0
    target_clock: int = 0
    verifying: tuple[int, int] | None = None
    proposals: deque[tuple[int, Proposal]] = field(default_factory=deque)
    commits: deque[tuple[int, Commit]] = field(default_factory=deque)
    events: list[ev.Event] = field(default_factory=list)
    sentence: str = ""
    wasted: int = 0

    def copied(self) -> State:
        """A state of its own: what is done to it does not touch this one."""
        return copy.deepcopy(self, {id(e): e for e in self.events})

    @property
    def dead_from(self) -> int | None:
        """First position at which the draft believes what the target has not committed."""
        believed, committed = self.draft.tokens, self.target.committed
        for position, (ours, theirs) in enumerate(zip(believed, committed, strict=False)):
            if ours != theirs:
                return position
        return None

    @property
    def done(self) -> bool:
        return self.target.finish is not None
