"""What was measured once for the lessons: distributions of both models, and the cost of rows."""

from __future__ import annotations

import msgspec

from amusd_viz.by_hand.pair import Word
from amusd_viz.paths import assets


class TwoDistributions(msgspec.Struct, frozen=True, kw_only=True):
    """What both models find probable at one position of the recorded text.

    Sampled with top-k 40 at temperature 1: each keeps its own 40 likeliest tokens, whose
    probabilities add up to 1.

    Attributes:
        position: in the output.
        before: the output up to there.
        target, draft: likeliest first.
    """

    position: int
    before: str
    target: tuple[Word, ...]
    draft: tuple[Word, ...]

    @property
    def p(self) -> dict[str, float]:
        """The target's distribution, by token text."""
        return {word.text: word.probability for word in self.target}

    @property
    def q(self) -> dict[str, float]:
        """The draft's distribution, by token text."""
        return {word.text: word.probability for word in self.draft}


class Distributions(msgspec.Struct, frozen=True, kw_only=True):
    """Both models at some positions of the recorded text."""

    pair: str
    at: tuple[TwoDistributions, ...]


class RowCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a target pass costs (ms) by how many tokens it takes in, on one device."""

    device: str
    ms: dict[int, float]


def recorded_distributions() -> dict[int, TwoDistributions]:
    """Both models' distributions, by position of the recorded text."""
    file = assets("measured", "distributions.json")
    found = msgspec.json.decode(file.read_bytes(), type=Distributions)
    return {each.position: each for each in found.at}


def recorded_row_cost() -> RowCost:
    """The measured cost of target passes."""
    file = assets("measured", "row_cost.json")
    return msgspec.json.decode(file.read_bytes(), type=RowCost, strict=False)
