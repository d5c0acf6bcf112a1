"""How many proposals in a row should be made and judged, decided while they are made.

Each head of a speculator says how sure it is of its token, and one that says 0.9 is right far more often
than one that says 0.1. How often those that said so were right is counted, so a proposal's chance to be
accepted, c, is known before it is judged; it needs all those before it, so k proposals are worth
c_1 + c_1 c_2 + ... tokens. What they cost is time, in which the run as a whole commits R tokens a ns:
those are judged whose tokens exceed R times the heads' time and the time that a pass over k proposals
takes longer than a plain one (the choice that makes R largest). Where asking did not pay at all, none is
asked for a while.

Prompt lookup is sure in its own way: the longer the past agrees, the surer is what followed it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from amusd_viz.protocol.rates import Chance, Duration, Ratio

TRIAL = 6
"""Steps in which all heads speak and are judged, at first; and steps it takes to find that they do not
pay."""
FIRST_PAUSE, LONGEST_PAUSE = 16, 256
"""Plain steps where they do not; twice as many every time that is found again."""
LOOK = 2
"""Steps after a pause in which all heads are judged, however unsure they are."""
LOOK_AGAIN = 256
"""Steps after which a plain one is made, so that its cost stays known."""
SEEN_ENOUGH = 3
"""A size of window that was judged less often is taken to cost what its neighbours say."""
KINDS = 10
"""Of being sure, evenly from 0 to 1."""


class ConfidentChain:
    """Asked before every head and every pass; told what became of them.

    Args:
        heads: most that can speak.
    """

    def __init__(self, heads: int) -> None:
        self.heads = heads
        self._right = [Chance((kind + 0.5) / KINDS) for kind in range(KINDS)]
        """How often heads were right, by how sure they were."""
        self._passes: dict[int, Duration] = {}
        self._head = Duration()
        self._speed = Ratio()
        self._gain = Ratio()
        """Tokens that asking the heads brought, less what its time would have brought otherwise."""
        self._looks = TRIAL
        """Steps that are left in which all heads are judged."""
        self._plain = 0
        """Plain steps that are left."""
        self._pause = FIRST_PAUSE
        self._since_plain = 0

    def another(self, chances: Sequence[float]) -> bool:
        """Whether one more head should speak behind those that were so sure of their tokens."""
        spoken = len(chances)
        if spoken >= self.heads or self._plain:
            return False
        if self._looks or not spoken:
            return True
        time = (self._head.value or 0.0) + self._cost(spoken + 1) - self._cost(spoken)
        reach = math.prod(self._right[_kind(chance)].value for chance in chances)
        return reach > self._speed.value * time

    def choose(self, chances: Sequence[float]) -> int:
        """How many of the proposals of heads that were so sure are judged now."""
        if self._looks:
            return len(chances)
        best, best_gain, tokens, reach = 0, 0.0, 0.0, 1.0
        for length, chance in enumerate(() if self._plain else chances, 1):
            reach *= self._right[_kind(chance)].value
            tokens += reach
            gain = tokens - self._speed.value * (self._cost(length) - self._cost(0))
            if gain > best_gain:
                best, best_gain = length, gain
        for chance in chances[best:]:
            self._right[_kind(chance)].passed_over()
        return best

    def passed(
        self, *, chances: Sequence[float], spoken: int, accepted: int, drafting: int, verifying: int
    ) -> None:
        """A step is over.

        Args:
            chances: how sure the heads were whose proposals were judged.
            spoken: how many heads spoke.
            accepted: how many of the proposals agreed.
            drafting, verifying: what both took (ns).
        """
        for place, chance in enumerate(chances[: accepted + 1]):
            self._right[_kind(chance)].count(place < accepted)
        if spoken:
            self._head.add(drafting / spoken)
        self._passes.setdefault(len(chances), Duration()).add(max(1, verifying))
        self._speed.add(accepted + 1, max(1, drafting + verifying))
        if spoken and not self._looks:
            time = drafting + verifying - self._cost(0)
            self._gain.add(accepted - self._speed.value * time)
        self._plan_next(spoken)

    def _plan_next(self, spoken: int) -> None:
        """Whether the next step is a look, a plain one, or one of the usual."""
        self._since_plain = self._since_plain + 1 if spoken else 0
        if self._looks:
            self._looks -= bool(spoken)
            if not self._looks and 0 not in self._passes:
                self._plain = 1
        elif self._plain:
            self._plain -= not spoken
            if not self._plain and self._gain.value < 0:
                self._looks, self._gain = LOOK, Ratio()
        elif self._gain.count >= TRIAL and self._gain.value < 0:
            self._plain, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        elif self._since_plain >= LOOK_AGAIN:
            self._plain, self._pause = 1, FIRST_PAUSE

    def _cost(self, length: int) -> float:
        """Of a pass over so many proposals; between sizes that were measured, on the line (ns)."""
        ends = (0, self.heads)
        known = {
            size: duration.value
            for size, duration in self._passes.items()
            if duration.value and (duration.count >= SEEN_ENOUGH or size in ends)
        }
        if not known:
            return 0.0
        below = max((size for size in known if size <= length), default=min(known))
        above = min((size for size in known if size >= length), default=below)
        if above == below:
            return known[below]
        share = (length - below) / (above - below)
        return known[below] + share * (known[above] - known[below])


def _kind(chance: float) -> int:
    return min(KINDS - 1, int(chance * KINDS))
