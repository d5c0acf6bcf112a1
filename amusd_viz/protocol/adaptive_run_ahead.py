"""A run-ahead that shrinks when the draft's proposals do not live, down to an occasional probe.

A draft that works beside the target costs even where nothing waits for it: devices share memory,
power and heat. Tokens that hardly ever live are not worth that. What the target waits for is always
drafted, whatever the limit: it says how much that is with every commit.
"""

from __future__ import annotations

import math

from amusd_viz.protocol.policies import RunAheadPolicy
from amusd_viz.protocol.rates import Rate

RARE = 0.02
"""A token that lives less often than this is not drafted ahead of time."""
USELESS = 0.1
"""With less acceptance than this asynchrony gains at most a few percent: the draft sits out."""
FIRST_PAUSE = 4
"""Commits that a useless draft sits out before it probes; twice as many after each vain probe."""
LONGEST_PAUSE = 32
PROBE = 2
"""Tokens of a probe: one may be overtaken by the target's own."""


class AdaptiveRunAhead(RunAheadPolicy):
    """As far ahead as tokens still live often enough, at most ``tokens``."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ValueError(
                f"a run-ahead of {tokens} tokens leaves nothing to draft; use 1 or more"
            )
        self.tokens = self.promised = tokens
        self.name = f"adaptive({tokens})"
        self._living = Rate(successes=0.8, trials=1.0)
        self._pause = FIRST_PAUSE
        self._sits_out = 0

    def limit(self, known: int) -> int:
        if self._sits_out:
            return 0
        rate = self._living.value
        if rate < USELESS:
            return min(PROBE, self.tokens)
        if rate >= 1:
            return self.tokens
        return max(1, min(self.tokens, math.ceil(math.log(RARE) / math.log(rate))))

    def heard(self, *, agreed: int, contradicted: bool) -> None:
        if not agreed and not contradicted:
            self._sits_out = max(0, self._sits_out - 1)
            return
        self._living.count(agreed, agreed + contradicted)
        if self._living.value >= USELESS:
            self._pause, self._sits_out = FIRST_PAUSE, 0
        elif contradicted:
            self._sits_out = self._pause
            self._pause = min(LONGEST_PAUSE, 2 * self._pause)
