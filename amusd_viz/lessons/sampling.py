"""Two ways to sample from the target with proposals of a draft, on distributions small enough to see.

Distributions are mappings from tokens to probabilities. Rejection sampling is that of Leviathan et al.
(arXiv 2211.17192) and Chen et al. (arXiv 2302.01318); the coupled choice is the engine's own rule
(arXiv 2408.07978).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

Chances = Mapping[str, float]


class Drawn(NamedTuple):
    """The draft's proposal, and the token that was taken."""

    proposal: str
    token: str

    @property
    def accepted(self) -> bool:
        return self.proposal == self.token


def rejection_sample(p: Chances, q: Chances, source: random.Random) -> Drawn:
    """Draws from the target's ``p`` by way of a proposal from the draft's ``q``.

    The proposal is kept with probability min(1, p/q); otherwise the token is drawn from what is missing.
    """
    proposal = draw(q, source)
    if source.random() * q[proposal] < p.get(proposal, 0.0):
        return Drawn(proposal, proposal)
    missing = {t: max(0.0, p[t] - q.get(t, 0.0)) for t in p}
    return Drawn(proposal, draw(missing, source))


def coupled_sample(p: Chances, q: Chances, seed: int, position: int) -> Drawn:
    """Both models choose with the same noise; the target's own choice is taken, always."""
    return Drawn(choose(q, seed, position), choose(p, seed, position))


def choose(chances: Chances, seed: int, position: int) -> str:
    """``argmax(log probability + Gumbel noise)``: a draw from ``chances``.

    The noise belongs to seed, position and token, so it is the same for every model.
    """
    likely = (token for token, chance in chances.items() if chance > 0)
    return max(likely, key=lambda t: math.log(chances[t]) + noise(seed, position, t))


def noise(seed: int, position: int, token: str) -> float:
    """Gumbel noise of one token at one position."""
    digest = blake2b(f"{seed}/{position}/{token}".encode(), digest_size=7).digest()
    uniform = (int.from_bytes(digest, "little") + 0.5) / 2.0**56
    return -math.log(-math.log(uniform))


def draw(weights: Chances, source: random.Random) -> str:
    """One token, with a probability in proportion to its weight."""
    return source.choices(list(weights), list(weights.values()))[0]


def flattened(chances: Chances, temperature: float) -> dict[str, float]:
    """The same distribution at another temperature: above 1 it is less sure."""
    weights = {t: c ** (1 / temperature) for t, c in chances.items() if c > 0}
    total = sum(weights.values())
    return {t: w / total for t, w in weights.items()}


@dataclass(frozen=True, repr=False)
class FitTest:
    """Pearson's chi-squared test that draws come from a distribution.

    Attributes:
        statistic: the sum over tokens of (seen - expected)² / expected.
        freedom: degrees of freedom; about what the statistic is where the draws fit.
        z: how far the statistic is off, in standard deviations (Wilson-Hilferty).
    """

    statistic: float
    freedom: int
    z: float

    @property
    def fits(self) -> bool:
        """Not refuted at one in a thousand."""
        return self.z < 3.09

    def __repr__(self) -> str:
        verdict = "fits" if self.fits else "does not fit"
        seen = f"chi² {self.statistic:.1f} at {self.freedom} degrees of freedom"
        return f"{seen} (z = {self.z:+.1f}): {verdict}"


def fit_test(seen: Counter[str], chances: Chances, least: float = 5.0) -> FitTest:
    """Tests counted draws; tokens expected fewer than ``least`` times count as one."""
    total = sum(seen.values())
    cells: list[tuple[float, float]] = []
    rest_seen, rest_expected = float(sum(seen[t] for t in seen if t not in chances)), 0.0
    for token, chance in chances.items():
        if chance * total >= least:
            cells.append((seen[token], chance * total))
        else:
            rest_seen += seen[token]
            rest_expected += chance * total
    if rest_expected or rest_seen:
        cells.append((rest_seen, max(rest_expected, 1e-9)))
    statistic = sum((s - e) ** 2 / e for s, e in cells)
    freedom = max(1, len(cells) - 1)
    spread = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return FitTest(statistic, freedom, z)


def bars(chances: Chances, count: int = 5, width: int = 30) -> str:
    """The likeliest tokens as a bar chart in text."""
    best = sorted(chances.items(), key=lambda item: -item[1])[:count]
    longest = max(len(token) for token, _ in best)
    return "\n".join(
        f"{token!r:<{longest + 2}} {chance:5.2f} {'█' * round(width * chance)}"
        for token, chance in best
    )
