"""As much is proposed as pays: by how sure heads are, and by what a pass over more rows costs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from amusd_viz.protocol.confident_tree import LONGEST_PAUSE, TRIAL, ConfidentTree

HEAD = 20
"""Of one head, where a plain pass takes 1000."""
CHEAP, DEAR = (1000, 1040, 1080, 1120, 1250), (1000, 1150, 1300, 1450, 1800)


class Played(NamedTuple):
    """The last half of a run."""

    speed: float
    """Tokens by time."""
    judged: list[int]
    """How many proposals each step judged."""


def play(
    sure: Callable[[random.Random], tuple[float, float]],
    costs: tuple[int, ...],
    fixed: int | None = None,
    *,
    steps: int = 4000,
) -> Played:
    """Plays steps in which every head says what ``sure`` draws, and is right with what it draws too.

    Args:
        fixed: judges so many proposals in every step instead of those that the chain chooses.
    """
    draw, chain = random.Random(0), ConfidentTree(len(costs) - 1)
    tokens, time, judged = 0, 0, []
    for step in range(steps):
        drawn = [sure(draw) for _ in costs[1:]]
        lots = [draw.random() for _ in drawn]
        noise = draw.uniform(0.95, 1.05)
        said: list[float] = []
        if fixed is not None:
            said = [s for s, _ in drawn[:fixed]]
            chosen = len(said)
        else:
            guesses = chain.in_a_row(said)
            while chain.another(len(said), guesses[-1].reach if said else 1.0):
                said.append(drawn[len(said)][0])
                guesses = chain.in_a_row(said)
            chosen = chain.choose(guesses)
        accepted = next((i for i in range(chosen) if lots[i] >= drawn[i][1]), chosen)
        took = {"drafting": HEAD * len(said), "verifying": int(costs[chosen] * noise)}
        seen = [(said[i], i < accepted) for i in range(min(chosen, accepted + 1))]
        counts = {"size": chosen, "spoken": len(said), "accepted": accepted}
        chain.passed(judged=seen, **counts, **took)
        if step >= steps // 2:
            tokens, time = tokens + accepted + 1, time + sum(took.values())
            judged.append(chosen)
    return Played(tokens / time, judged)


def two_minds(draw: random.Random) -> tuple[float, float]:
    """Sure and right, or unsure and wrong."""
    return (0.95, 0.95) if draw.random() < 0.5 else (0.2, 0.05)


def one_mind(draw: random.Random) -> tuple[float, float]:
    """Always as sure, and less often right than it says."""
    return 0.8, 0.6


def boaster(draw: random.Random) -> tuple[float, float]:
    """Sure, and never right."""
    return 0.9, 0.0


@pytest.mark.parametrize("costs", [CHEAP, DEAR], ids=["cheap", "dear"])
@pytest.mark.parametrize("sure", [two_minds, one_mind])
def test_it_is_as_fast_as_the_best_fixed_length(
    sure: Callable[[random.Random], tuple[float, float]], costs: tuple[int, ...]
) -> None:
    best = max(play(sure, costs, fixed).speed for fixed in range(len(costs)))
    assert play(sure, costs).speed > 0.98 * best


@pytest.mark.parametrize("costs", [CHEAP, DEAR], ids=["cheap", "dear"])
def test_it_is_faster_than_any_fixed_length_where_heads_know_what_they_know(
    costs: tuple[int, ...],
) -> None:
    best = max(play(two_minds, costs, fixed).speed for fixed in range(len(costs)))
    assert play(two_minds, costs).speed > 1.04 * best


def test_heads_that_are_never_right_are_left_alone_and_tried_again() -> None:
    played = play(boaster, DEAR)
    plain = 1 / DEAR[0]
    assert played.speed > 0.97 * plain
    longest = max(map(len, "".join("x" if n else " " for n in played.judged).split("x")))
    assert any(played.judged)
    assert 10 < longest <= LONGEST_PAUSE + 2 * TRIAL


def test_it_begins_with_all_heads_and_compares_with_a_plain_step() -> None:
    chain = ConfidentTree(2)
    unsure = chain.in_a_row((0.01, 0.01))
    took = {"accepted": 2, "drafting": 2 * HEAD, "verifying": 1100}
    for _ in range(TRIAL):
        assert chain.another(0)
        assert chain.another(1, unsure[0].reach)
        assert not chain.another(2, unsure[1].reach)
        assert chain.choose(unsure) == 2
        chain.passed(judged=[(0.01, True)] * 2, size=2, spoken=2, **took)
    assert not chain.another(0)
    assert chain.choose([]) == 0
    chain.passed(judged=(), size=0, spoken=0, accepted=0, drafting=0, verifying=1000)
    assert chain.another(0)


def test_of_a_tree_those_are_judged_that_are_worth_a_row_each() -> None:
    """Two tokens are likely behind the last one, and what follows the less likely is hardly reached."""
    tree = ConfidentTree(3)
    first, second = tree.behind(1.0, 0.52), tree.behind(1.0, 0.42)
    third = tree.behind(second.reach, 0.12)
    for step in range(60):
        count = tree.choose([first, second, third])
        right = [step % 2 == 0, step % 2 == 1]
        judged = list(zip((0.52, 0.42), right, strict=True))[:count]
        accepted = int(any(right[:count]))
        took = {"drafting": HEAD, "verifying": 1000 + 100 * count}
        tree.passed(judged=judged, size=count, spoken=int(count > 0), accepted=accepted, **took)
    assert count == 2


def test_a_text_that_becomes_easier_is_noticed() -> None:
    told = 0

    def at_last_right(draw: random.Random) -> tuple[float, float]:
        nonlocal told
        told += 1
        return 0.5, float(told > 4000)

    played = play(at_last_right, DEAR)
    assert played.judged[-500:].count(len(DEAR) - 1) > 450


def test_what_a_kind_of_sureness_is_worth_is_measured_not_believed() -> None:
    def upside_down(draw: random.Random) -> tuple[float, float]:
        return (0.95, 0.02) if draw.random() < 0.5 else (0.25, 0.9)

    best = max(play(upside_down, DEAR, fixed).speed for fixed in range(len(DEAR)))
    assert play(upside_down, DEAR).speed > 1.02 * best
