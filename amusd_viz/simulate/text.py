"""What two imaginary models write, and where the draft agrees with the target."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Protocol

from amusd_viz.errors import SettingError
from amusd_viz.simulate.checks import probability


@dataclass(frozen=True)
class Text:
    """What the two imaginary models write.

    Attributes:
        target: the target's token at each position.
        draft: the draft's token at each position; equal where it agrees.
        words: text of each token id.
        astray: the draft's token at each position while it builds on a wrong one. A token that
            equals the target's there is right by chance, and dies all the same. Empty: as
            ``draft``.
        heads: what a speculator's head, that steps in for the draft, says at each position if all
            before it is right.
    """

    target: Sequence[int]
    draft: Sequence[int]
    words: dict[int, str] = field(default_factory=dict)
    astray: Sequence[int] = ()
    heads: Sequence[int] = ()


class Acceptance(Protocol):
    """Where the draft agrees with the target, given that everything before it is right."""

    def runs(self, seed: int) -> Iterator[int]:
        """Endless: how many tokens agree before each next mismatch."""
        ...


@dataclass(frozen=True)
class Iid:
    """Agrees with probability ``rate`` at every position, independently."""

    rate: float

    def __post_init__(self) -> None:
        probability("acceptance", self.rate)

    def runs(self, seed: int) -> Iterator[int]:
        if self.rate == 1:
            return repeat(NEVER)
        if self.rate == 0:
            return repeat(0)
        draw, scale = random.Random(seed).random, 1 / math.log(self.rate)
        # Geometric by inversion: P(run >= n) = rate ** n.
        return (int(math.log(1.0 - draw()) * scale) for _ in repeat(None))


@dataclass(frozen=True)
class Profile:
    """Agrees with ``rates[i]`` at the i-th token after a mismatch; the last one goes on."""

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.rates:
            raise SettingError("an acceptance profile is empty; give one probability or more")
        for rate in self.rates:
            probability("acceptance in a profile", rate)

    def runs(self, seed: int) -> Iterator[int]:
        draw = random.Random(seed).random
        *head, tail = self.rates
        rest = Iid(tail).runs(seed + 1)
        while True:
            agreed = next((i for i, rate in enumerate(head) if draw() >= rate), None)
            yield len(head) + next(rest) if agreed is None else agreed


@dataclass(frozen=True)
class Recorded:
    """Agrees where a recorded run agreed; behind its end the recording starts anew."""

    agreement: tuple[bool, ...]

    def __post_init__(self) -> None:
        if not self.agreement:
            raise SettingError("a recorded agreement is empty; give a run with some tokens")

    def runs(self, seed: int = 0) -> Iterator[int]:
        if all(self.agreement):
            yield from repeat(NEVER)
        length = 0
        while True:
            for agrees in self.agreement:
                if agrees:
                    length += 1
                else:
                    yield length
                    length = 0


NEVER = 10**15
"""A run of agreement that no simulation reaches the end of."""


@dataclass(frozen=True)
class PerHead:
    """Heads of a speculator: number i of a pass is right with probability ``rates[i]``, given that
    those before it are. Of use where as many speak before each pass (its lookahead)."""

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.rates:
            raise SettingError("no head has an acceptance; give one probability or more")
        for rate in self.rates:
            probability("acceptance of a head", rate)

    def runs(self, seed: int) -> Iterator[int]:
        draw = random.Random(seed).random
        if all(rate == 1 for rate in self.rates):
            yield from repeat(NEVER)
        length = 0
        while True:
            wrong = next((i for i, rate in enumerate(self.rates) if draw() >= rate), None)
            if wrong is None:
                length += len(self.rates) + 1  # The bonus behind them is the target's own.
            else:
                yield length + wrong
                length = 0


def agreement(acceptance: Acceptance, tokens: int, seed: int) -> list[bool]:
    """Whether the draft agrees at each of the first ``tokens`` positions."""
    flags = chain.from_iterable(chain(repeat(True, run), (False,)) for run in acceptance.runs(seed))
    return list(islice(flags, tokens))


def text_of(
    agrees: Sequence[bool], sentence: Sequence[str], *, seed: int = 0, coincidence: float = 0.2
) -> Text:
    """A text in words for the theater.

    Args:
        agrees: whether the draft agrees at each position.
        sentence: what the target writes, repeated as often as needed.
        seed: chooses the draft's wrong words.
        coincidence: how often a drafted token behind a mismatch equals the target's by chance.
    """
    source = random.Random(f"{seed}/words")
    ids = {word: index for index, word in enumerate(dict.fromkeys(sentence))}
    if len(ids) < 2:
        raise SettingError("a sentence of fewer than two words leaves nothing to get wrong")
    target = [ids[sentence[p % len(sentence)]] for p in range(len(agrees))]

    def other(token: int) -> int:
        return (token + source.randrange(1, len(ids))) % len(ids)

    draft = [t if yes else other(t) for t, yes in zip(target, agrees, strict=True)]
    astray = [t if source.random() < coincidence else other(t) for t in target]
    return Text(target, draft, {index: word for word, index in ids.items()}, astray)
