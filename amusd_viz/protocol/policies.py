"""When the target stops waiting for proposals, and how far ahead the draft may run.

A window policy answers one question: how many pending proposals are worth waiting for? A window
then takes everything pending, up to its limit (the dynamic batching of AMUSD, arXiv 2410.17375).
A run-ahead policy answers: how many tokens past the last known committed one may be drafted?

Policies have no clock: what they know of time, drivers tell them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from amusd_viz.protocol.messages import Proposal

NO_LIMIT = 1 << 30
"""More proposals than any window holds."""


class WindowPolicy(Protocol):
    """How many proposals the target waits for.

    Implementations may keep statistics from what they are told; by default they ignore it.
    """

    name: str

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        """Number of pending proposals (>= 0) at which a verification starts."""
        ...

    def most(self) -> int:
        """Largest window worth judging (proposals); the rows of a pass limit it anyway."""
        return NO_LIMIT

    def rests(self) -> bool:
        """Whether the draft should go hardly further than the target waits for it: one proposal."""
        return False

    def judged(self, *, proposed: int, accepted: int) -> None:
        """A window of ``proposed`` proposals was judged; the ``accepted`` leading ones agreed."""

    def compared(self, *, agreed: bool) -> None:
        """A proposal met a token that the target had committed without it."""

    def arrived(self, proposal: Proposal, *, at: int, idle: bool) -> None:
        """A proposal was taken in at ``at`` ns.

        ``idle``: the target was in no pass, so the proposal has only just come.
        """

    def passed(self, *, proposals: int, tokens: int, start: int, end: int) -> None:
        """A verification of so many proposals went on from ``start`` to ``end`` ns and committed
        ``tokens``."""

    def learn_from(self, earlier: WindowPolicy) -> None:
        """Starts from what the same policy measured in an earlier run of the same models."""


class Fixed(WindowPolicy):
    """Waits for ``proposals`` pending ones: ``fixed(2)`` is the paper's rule, ``fixed(0)`` never waits."""

    def __init__(self, proposals: int, name: str | None = None) -> None:
        if proposals < 0:
            raise ValueError(f"a target cannot wait for {proposals} proposals; use 0 or more")
        self.proposals = proposals
        self.name = name or f"fixed({proposals})"

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        return self.proposals


class Confidence(WindowPolicy):
    """Verifies as soon as a proposal is pending that the draft was not sure of, or a window is full.

    The least certain proposals are judged first; sure ones wait until they fill a window.

    Args:
        probability: below it a proposal counts as unsure; the draft flags those.
    """

    def __init__(self, probability: float) -> None:
        if not 0 < probability <= 1:
            raise ValueError(
                f"a draft is never less sure than {probability:g}; use a probability above 0, up to 1"
            )
        self.probability = probability
        self.name = f"confidence({probability:g})"

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        return 0 if any(proposal.unsure for proposal in pending) else NO_LIMIT


class RunAheadPolicy(Protocol):
    """How far past the last known committed token the draft may go.

    Attributes:
        promised: the draft goes so far at least where the target waits for it.
    """

    name: str
    promised: int

    def limit(self, known: int) -> int:
        """Largest number of unconfirmed tokens, given ``known`` committed ones."""
        ...

    def heard(self, *, agreed: int, contradicted: bool) -> None:
        """Called on every commit: how many drafted tokens it confirmed, and whether it killed a branch."""


class ConstantRunAhead(RunAheadPolicy):
    """Always ``tokens`` ahead: the free-running draft of AMUSD."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ValueError(
                f"a run-ahead of {tokens} tokens leaves nothing to draft; use 1 or more"
            )
        self.tokens = self.promised = tokens
        self.name = f"constant({tokens})"

    def limit(self, known: int) -> int:
        return self.tokens


class TakeTurns(ConstantRunAhead):
    """``tokens`` a round, and nothing before the first commit: synchronous speculative decoding."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.name = f"lookahead({tokens})"

    def limit(self, known: int) -> int:
        return self.tokens if known else 0
