"""Estimates that forget: what was seen lately counts, what was seen long ago hardly does."""

from __future__ import annotations

from collections import deque
from statistics import median

MEMORY = 0.97
"""How much of an old observation is left after a new one: about the last 33 count."""
RECENT = 9
"""Durations of a kind that are remembered."""


class Rate:
    """A probability from successes and trials, starting from an assumption."""

    def __init__(self, successes: float, trials: float) -> None:
        self._successes = successes
        self._trials = trials

    def count(self, successes: int, trials: int) -> None:
        """Counts ``trials`` more, of which ``successes`` succeeded."""
        left = MEMORY**trials
        self._successes = self._successes * left + successes
        self._trials = self._trials * left + trials

    @property
    def value(self) -> float:
        return self._successes / self._trials


class Chance:
    """A probability that goes back to what was assumed where it is not observed.

    Args:
        assumed: it counts as much as two observations.
    """

    def __init__(self, assumed: float) -> None:
        self._assumed = assumed
        self._successes = self._trials = 0.0

    def count(self, success: bool) -> None:
        """One more observation."""
        self.passed_over()
        self._successes += success
        self._trials += 1

    def passed_over(self) -> None:
        """An occasion that was not made use of."""
        self._successes *= MEMORY
        self._trials *= MEMORY

    @property
    def value(self) -> float:
        return (2 * self._assumed + self._successes) / (2 + self._trials)


class Duration:
    """The median of the last few durations (ns): one hiccup does not move it."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT)

    def add(self, ns: float) -> None:
        if ns > 0:
            self._recent.append(ns)

    @property
    def count(self) -> int:
        return len(self._recent)

    @property
    def value(self) -> float | None:
        """``None`` while nothing was seen."""
        return median(self._recent) if self._recent else None


class Ratio:
    """How much came with how much else, of late: tokens with time, gain with a step.

    Args:
        memory: how much of an old observation is left after a new one.
    """

    def __init__(self, memory: float = MEMORY) -> None:
        self.count = 0
        """Observations so far."""
        self._memory = memory
        self._much = self._of = 0.0

    def add(self, much: float, of: float = 1.0) -> None:
        """One more observation: ``much`` came with ``of``."""
        self.count += 1
        self._much = self._much * self._memory + much
        self._of = self._of * self._memory + of

    @property
    def value(self) -> float:
        """0 while nothing was seen."""
        return self._much / self._of if self._of else 0.0

    @property
    def effective(self) -> float:
        """Observations that still count: all of the first few, then as many as are remembered."""
        return min(self.count, 1 / (1 - self._memory))
