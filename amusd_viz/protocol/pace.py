"""Whether the draft runs free, takes turns with the target, or rests: what each of them yields here.

A draft that works slows a target that shares its memory, its power or its device. Running free pays
where proposals mostly live; a weak draft had better take turns with the target, and a useless one rest.
What the target does alone is seen only while the draft rests. That costs a few tokens, and is looked at
only where running free is not clearly worth it. Times are given, so that this is as pure as the rest of
the protocol.
"""

from __future__ import annotations

import math
from enum import Enum

from amusd_viz.protocol.rates import Duration, Ratio

TRIAL = 12
"""Passes before anything is concluded about a pace."""
CLEARLY_WORTH_IT = 1.6
"""Times the speed of passes without proposals beside a working draft: no draft slows them so much."""
LOOK = 5
"""Passes without a draft at which the target alone is measured."""
UNDER_WAY = 2
"""The first passes after a change: the draft hears of it during the first, in the middle of a step."""
FIRST_STAY, LONGEST_STAY = 128, 512
"""Passes until running free is tried again; twice as many after every trial that failed."""
PROMISING = 1.05
"""Times what the best other pace yields: with less in prospect, turns are not tried."""
DOUBT = 0.25
"""How far a single pass may be from what passes yield, as a share; less for more of them."""


class Pace(Enum):
    """How far the draft may go."""

    FREE = "free"
    TURNS = "turns"
    """One proposal further than the target waits for it, and then not until it has heard of the verdict.

    That one costs a step beside the pass; in return the draft has read all that is judged, and finds one
    token to read when it hears, not two.
    """
    ALONE = "alone"
    """Nowhere: the target decodes alone."""


class PaceChoice:
    """Told of every pass, it says in :attr:`now` how far the draft may go."""

    def __init__(self) -> None:
        self.now = Pace.FREE
        self._yields = {pace: Ratio() for pace in Pace}
        self._alone = Duration()
        self._since_change = 0
        """Passes at the present pace."""
        self._looking = False
        self._comparable = True
        self._stay = FIRST_STAY

    @property
    def alone(self) -> float | None:
        """How long a pass of the target alone takes (ns), as far as known."""
        return self._alone.value

    def passed(self, *, proposals: int, tokens: int, since: int, start: int, end: int) -> None:
        """A pass over ``proposals`` from ``start`` to ``end`` committed ``tokens``; the pass before it
        was over at ``since`` (ns)."""
        self._since_change += 1
        if self._since_change > UNDER_WAY or self.now is Pace.FREE:
            self._yields[self.now].add(tokens, end - since)
            if self.now is Pace.ALONE and not proposals:
                self._alone.add(end - start)

    def choose(self, *, beside: float, turns: float | None) -> None:
        """Goes on with the pace that yields most.

        Args:
            beside: how long a pass without proposals takes while the draft works (ns).
            turns: tokens per ns that taking turns is expected to yield; ``None`` if not known.
        """
        if self._looking:
            if self._since_change == LOOK:
                self._looking = False
                # Heads that step in for the draft leave no pass without proposals.
                self._comparable = self.alone is not None
                self._settle(turns)
        elif self._since_change < TRIAL or not self._comparable:
            return
        elif self.alone is None:
            if self._yields[Pace.FREE].value * beside < CLEARLY_WORTH_IT:
                self._looking = True
                self._change(Pace.ALONE)
        elif self.now is not Pace.FREE and self._since_change >= self._stay:
            self._stay = min(LONGEST_STAY, 2 * self._stay)
            self._yields[Pace.FREE] = Ratio()
            self._change(Pace.FREE)
        elif self._since_change % TRIAL == 0:
            self._settle(turns)

    def _settle(self, turns: float | None) -> None:
        """Changes to what yields most, if that is clearly more than the present pace does."""
        if self.alone is None:
            self._change(Pace.FREE)
            return
        rates = {Pace.FREE: self._yields[Pace.FREE].value, Pace.ALONE: 1 / self.alone}
        tried = self._yields[Pace.TURNS]
        if tried.count >= TRIAL - UNDER_WAY:
            rates[Pace.TURNS] = tried.value
        elif turns is not None:
            rates[Pace.TURNS] = turns / PROMISING
        # After a look the question is whether to go on as before it.
        present = self.now if self.now in rates and self._since_change != LOOK else Pace.FREE
        best = max(rates, key=rates.__getitem__)
        if rates[best] <= rates[present] * (1 + _doubt(self._yields[present])):
            best = present
        if best is not self.now:
            self._change(best)
        elif best is Pace.FREE and self._since_change > 2 * TRIAL:
            self._stay = FIRST_STAY

    def _change(self, pace: Pace) -> None:
        self.now, self._since_change = pace, 0


def _doubt(seen: Ratio) -> float:
    """How far a rate may be from the true one, as a share of it."""
    return DOUBT / math.sqrt(max(1, seen.effective))
