"""Whether the draft should rest: what both models reach together against the target alone.

A draft that works slows a target that shares its memory or its power, so what the target could do
alone is seen only while the draft rests. That costs a few tokens, and is looked at only where drafting
is not clearly worth it. Times are given, so that this is as pure as the rest of the protocol.
"""

from __future__ import annotations

import math

from amusd_viz.protocol.rates import MEMORY, Duration

TRIAL = 12
"""Passes with a working draft before anything is concluded, at first and after every rest."""
CLEARLY_WORTH_IT = 1.6
"""Times the pace of passes without proposals beside a working draft: no draft slows them so much."""
LOOK = 5
"""Passes without a draft at which the target alone is measured."""
UNDER_WAY = 2
"""The first passes of a rest: the draft hears of it during the first, in the middle of a step."""
FIRST_REST, LONGEST_REST = 64, 512
"""Passes of a rest; twice as many after each trial that failed."""
DOUBT = 0.25
"""How far a single pass may be from what passes yield, as a share; less for more of them."""


class Resting:
    """Told of every pass, it says in :attr:`now` whether the draft should rest."""

    def __init__(self) -> None:
        self.now = False
        self._alone = Duration()
        self._left = 0
        """Passes until the rest is over."""
        self._rested = 0
        """Passes since it began."""
        self._next_rest = FIRST_REST
        self._comparable = True
        self._forget_trial()

    def passed(
        self, *, proposals: int, tokens: int, since: int, start: int, end: int, beside: float
    ) -> None:
        """A pass over ``proposals`` committed ``tokens``.

        Args:
            since: when the pass before it was over (ns).
            start, end: of this one (ns).
            beside: what a pass without proposals takes while the draft works, as far as known (ns).
        """
        if self.now:
            self._rested += 1
            if not proposals and self._rested > UNDER_WAY:
                self._alone.add(end - start)
            self._left -= 1
            if not self._left:
                self._end_rest()
            return
        self._passes += 1
        self._tokens = self._tokens * MEMORY + tokens
        self._ns = self._ns * MEMORY + end - since
        if self._passes >= TRIAL and self._comparable:
            self._conclude(beside)

    def _conclude(self, beside: float) -> None:
        alone = self._alone.value
        if alone is None:
            if self._tokens * beside < CLEARLY_WORTH_IT * self._ns:
                self._rest(LOOK)
        elif self._loses(alone):
            self._rest(self._next_rest)
            self._next_rest = min(LONGEST_REST, 2 * self._next_rest)
        elif self._passes > 2 * TRIAL:
            self._next_rest = FIRST_REST

    def _loses(self, alone: float) -> bool:
        seen = min(self._passes, 1 / (1 - MEMORY))
        return self._tokens * alone < (1 - DOUBT / math.sqrt(seen)) * self._ns

    def _rest(self, passes: int) -> None:
        self.now, self._left, self._rested = True, passes, 0

    def _end_rest(self) -> None:
        alone = self._alone.value
        # Heads that step in for the draft leave no pass without proposals.
        self._comparable = alone is not None
        looked = self._rested == LOOK
        if looked and alone is not None and self._loses(alone):
            self._left = self._next_rest
            self._next_rest = min(LONGEST_REST, 2 * self._next_rest)
            return
        self.now = False
        if not looked:
            self._forget_trial()

    def _forget_trial(self) -> None:
        self._passes = 0
        self._tokens = self._ns = 0.0
