"""Which proposals should be made and judged, decided while they are made.

Each head of a speculator says how sure it is of its tokens, and one that says 0.9 is right far more often
than one that says 0.1. How often tokens that were said so surely were right is counted, so a proposal's
chance is known before it is judged. It needs all those before it: its reach is the product of their
chances and its own, and proposals are worth the sum of their reaches in tokens. What they cost is time, in
which the run as a whole commits R tokens a ns: of the proposals, best first, those are judged whose reaches
exceed R times the heads' time and the time that a pass over so many takes longer than a plain one (the
choice that makes R largest). Where asking did not pay at all, none is asked for a while.

In a chain every head offers one token; in a tree, which grows where it is likeliest to be right (the idea
is that of EAGLE-2, arXiv 2406.16858), several. Prompt lookup is sure in its own way: the longer the past
agrees, the surer is what followed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from amusd_viz.protocol.rates import Chance, Duration, Ratio

TRIAL = 6
"""Steps in which all that heads can say is judged, at first; and steps it takes to find that they do
not pay."""
FIRST_PAUSE, LONGEST_PAUSE = 16, 256
"""Plain steps where they do not; twice as many every time that is found again."""
LOOK = 2
"""Steps after a pause in which all is judged, however unsure heads are."""
LOOK_AGAIN = 256
"""Steps after which a plain one is made, so that its cost stays known."""
SEEN_ENOUGH = 3
"""A size of window that was judged less often is taken to cost what its neighbours say."""
KINDS = 20
"""Of being sure, evenly from 0 to 1."""


class Guess(NamedTuple):
    """What is known of a proposal before it is judged.

    Attributes:
        chance: how sure its head is of it.
        reach: how probably it and all before it are right.
    """

    chance: float
    reach: float


class ConfidentTree:
    """Asked before every head and every pass; told what became of them.

    Args:
        most: proposals that can be judged in one pass.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._right = [Chance((kind + 0.5) / KINDS) for kind in range(KINDS)]
        """How often tokens were right, by how sure heads were of them."""
        self._passes: dict[int, Duration] = {}
        self._head = Duration()
        self._speed = Ratio()
        self._gain = Ratio()
        """Tokens that asking the heads brought, less what its time would have brought otherwise."""
        self._looks = TRIAL
        """Steps that are left in which all that heads can say is judged."""
        self._plain = 0
        """Plain steps that are left."""
        self._pause = FIRST_PAUSE
        self._since_plain = 0

    def behind(self, reach: float, chance: float) -> Guess:
        """A token of which its head is so sure, behind a proposal of that reach."""
        return Guess(chance, reach * self._right[_kind(chance)].value)

    def in_a_row(self, chances: Iterable[float]) -> list[Guess]:
        """Tokens that follow each other."""
        guesses: list[Guess] = []
        for chance in chances:
            guesses.append(self.behind(guesses[-1].reach if guesses else 1.0, chance))
        return guesses

    def another(self, size: int, reach: float = 1.0) -> bool:
        """Whether a head should speak behind a proposal of that reach, where there are ``size``."""
        if size >= self.most or self._plain:
            return False
        if self._looks or not size:
            return True
        time = (self._head.value or 0.0) + self._cost(size + 1) - self._cost(size)
        return reach > self._speed.value * time

    def choose(self, guesses: Sequence[Guess]) -> int:
        """How many of these proposals, best first, are judged now."""
        if self._looks:
            return len(guesses)
        best, best_gain, tokens, plain = 0, 0.0, 0.0, self._cost(0)
        for size, guess in enumerate(() if self._plain else guesses, 1):
            tokens += guess.reach
            gain = tokens - self._speed.value * (self._cost(size) - plain)
            if gain > best_gain:
                best, best_gain = size, gain
        for guess in guesses[best:]:
            self._right[_kind(guess.chance)].passed_over()
        return best

    def passed(
        self,
        *,
        judged: Iterable[tuple[float, bool]],
        size: int,
        spoken: int,
        accepted: int,
        drafting: int,
        verifying: int,
    ) -> None:
        """A step is over.

        Args:
            judged: how sure heads were of the tokens that followed accepted ones, and whether they
                were right.
            size: how many proposals the pass had.
            spoken: how often a head spoke.
            accepted: how many of the proposals agreed.
            drafting, verifying: what both took (ns).
        """
        for chance, right in judged:
            self._right[_kind(chance)].count(right)
        if spoken:
            self._head.add(drafting / spoken)
        self._passes.setdefault(size, Duration()).add(max(1, verifying))
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

    def _cost(self, wanted: int) -> float:
        """Of a pass over so many proposals; between sizes that were measured, on the line (ns)."""
        ends = (0, self.most)
        known = {
            size: duration.value
            for size, duration in self._passes.items()
            if duration.value and (duration.count >= SEEN_ENOUGH or size in ends)
        }
        if not known:
            return 0.0
        below = max((size for size in known if size <= wanted), default=min(known))
        above = min((size for size in known if size >= wanted), default=below)
        if above == below:
            return known[below]
        share = (wanted - below) / (above - below)
        return known[below] + share * (known[above] - known[below])


def _kind(chance: float) -> int:
    return min(KINDS - 1, int(chance * KINDS))
