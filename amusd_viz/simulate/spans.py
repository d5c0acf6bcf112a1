"""What one device did, asked by time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Steps:
    """Spans of one device (starts and ends in ns), in order and without overlap."""

    def __init__(self, steps: Sequence[tuple[int, int]]) -> None:
        self.starts = [start for start, _ in steps]
        self.ends = [end for _, end in steps]

    def ended(self, begin: int, end: int) -> int:
        """How many ended behind ``begin``, up to ``end``."""
        return bisect_right(self.ends, end) - bisect_right(self.ends, begin)

    def rest(self, t: int) -> int:
        """How long the step that is under way at ``t`` still takes (0 if there is none)."""
        index = bisect_right(self.ends, t)
        under_way = index < len(self.ends) and self.starts[index] < t
        return self.ends[index] - t if under_way else 0

    def overlap(self, begin: int, end: int) -> int:
        """How much of the time from ``begin`` to ``end`` was spent in steps."""
        first, last = bisect_right(self.ends, begin), bisect_left(self.starts, end)
        return sum(min(self.ends[i], end) - max(self.starts[i], begin) for i in range(first, last))
