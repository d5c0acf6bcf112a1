"""The two messages that travel between the sides, and what can become of a proposal.

Messages arrive in order on each channel and are never lost, but may arrive arbitrarily late.
Positions count output tokens; the first output token has position 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Proposal(NamedTuple):
    """One drafted token, from the draft to the target."""

    run: int
    branch: int
    position: int
    token: int
    unsure: bool = False
    """The draft's probability was below its threshold. A scheduling hint, never part of acceptance."""


class Commit(NamedTuple):
    """The tokens committed since the last commit, from the target to the draft.

    ``done`` may come without a token (a stop request).
    """

    run: int
    position: int
    tokens: tuple[int, ...]
    done: bool = False
    awaited: int = 0
    """How many proposals the target may wait for next; a draft that has shrunk its run-ahead lets
    it have so many."""
    rest: bool = False
    """The draft is to go at most one proposal further than it is awaited, until a commit says
    otherwise: nowhere, where that is 0. A scheduling hint, like ``awaited``."""


class Fate(StrEnum):
    """What became of one proposal."""

    ACCEPTED = "accepted"
    """The target's own choice was the same token."""
    REJECTED = "rejected"
    """The target's own choice was another token, committed in its place (the correction)."""
    AFTER_MISMATCH = "after_mismatch"
    """In the window behind the rejected one."""
    NEVER_JUDGED = "never_judged"
    """Its branch died before a window took it."""
    CONTRADICTED = "contradicted"
    """The target had committed another token of its own (a bonus) at its position."""
    TOO_LATE = "too_late"
    """It arrived after its branch was dead."""
    OVERTAKEN = "overtaken"
    """The same token, but the target had committed that position already."""
    UNFINISHED = "unfinished"
    """The run ended first."""


class Dropped(NamedTuple):
    """A proposal that left the target side without being accepted."""

    branch: int
    position: int
    fate: Fate
    candidate: int = 0
    """Which proposal of the position, where a window was a tree; 0 is on its main chain."""
