"""How many heads of a speculator should speak, from what they were right about and what passes cost.

With head i right with probability p_i (given that those before it are), a head's time h and a pass over
k proposals that takes v(k), a step of k heads yields 1 + p_1 + p_1 p_2 + ... tokens in k h + v(k). The k
with most tokens in its time is chosen, 0 included: then no head speaks, and now and then all of them are
tried again, since neither heads that are silent nor windows that are never taken can be measured.
"""

from __future__ import annotations

from amusd_viz.protocol.rates import Duration, Rate

TRIAL = 6
"""Steps in which all heads speak, at first."""
FIRST_PAUSE, LONGEST_PAUSE = 16, 256
"""Steps after which all heads speak again; twice as many where that changed nothing."""
LOOK = 2
"""How many steps such a second look takes."""


class AdaptiveChain:
    """Says the length of the next chain, and is told what became of it.

    Args:
        heads: most that can speak.
    """

    def __init__(self, heads: int) -> None:
        self.heads = heads
        self._rates = [Rate(successes=1.0, trials=2.0) for _ in range(heads)]
        self._passes: dict[int, Duration] = {}
        self._head = Duration()
        self._looks = TRIAL
        """Steps of the present look that are left."""
        self._wait = 0
        self._pause = FIRST_PAUSE
        self._chosen = heads

    def length(self) -> int:
        """How many heads should speak before the next pass."""
        if self._looks:
            return self.heads
        return self._chosen if 0 in self._passes else 0

    def passed(self, *, heads: int, accepted: int, drafting: int, verifying: int) -> None:
        """A step is over.

        Args:
            heads: how many of them spoke and were judged.
            accepted: how many of their proposals agreed.
            drafting, verifying: what both took (ns).
        """
        for rate in self._rates[:accepted]:
            rate.count(1, 1)
        if accepted < heads:
            self._rates[accepted].count(0, 1)
        if heads:
            self._head.add(drafting / heads)
        self._passes.setdefault(heads, Duration()).add(max(1, verifying))
        self._decide(heads)

    def _decide(self, heads: int) -> None:
        if self._looks and heads:
            self._looks -= 1
        if self._looks or 0 not in self._passes:
            return
        before, self._chosen = self._chosen, self._best()
        if self._chosen != before:
            self._pause = FIRST_PAUSE
        if self._chosen == self.heads:
            self._wait = 0
            return
        self._wait += 1
        if self._wait >= self._pause:
            self._wait, self._looks = 0, LOOK
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _best(self) -> int:
        head = self._head.value or 0.0
        best, best_speed, tokens, right = 0, 0.0, 0.0, 1.0
        for length in range(self.heads + 1):
            tokens += right
            speed = tokens / (length * head + self._cost(length))
            if speed > best_speed:
                best, best_speed = length, speed
            if length < self.heads:
                right *= self._rates[length].value
        return best

    def _cost(self, length: int) -> float:
        """Of a pass over so many proposals; between sizes that were measured, on the line (ns)."""
        known = {k: d.value for k, d in self._passes.items() if d.value}
        below = max(k for k in known if k <= length)
        above = min((k for k in known if k >= length), default=below)
        if above == below:
            return known[below]
        share = (length - below) / (above - below)
        return known[below] + share * (known[above] - known[below])
