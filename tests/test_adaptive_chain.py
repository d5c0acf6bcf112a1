"""A chain is as long as pays: by what heads are right about and what a pass over more rows costs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from amusd_viz.protocol.adaptive_chain import FIRST_PAUSE, TRIAL, AdaptiveChain
from amusd_viz.simulate import theory


def lengths(
    rates: tuple[float, ...], costs: tuple[int, ...], head: int, steps: int = 3000, seed: int = 0
) -> Counter[int]:
    """How often each length was chosen in the last half of the steps."""
    draw, chain, seen = random.Random(seed), AdaptiveChain(len(rates)), Counter[int]()
    for step in range(steps):
        length = chain.length()
        assert 0 <= length <= len(rates)
        accepted = next((i for i in range(length) if draw.random() >= rates[i]), length)
        noise = draw.uniform(0.95, 1.05)
        chain.passed(
            heads=length,
            accepted=accepted,
            drafting=int(head * length * noise),
            verifying=int(costs[length] * noise),
        )
        seen[length] += step >= steps // 2
    return seen


@pytest.mark.parametrize(
    ("rates", "costs", "head"),
    [
        ((0.8, 0.7, 0.6, 0.6), (1000, 1020, 1040, 1060, 1080), 30),
        ((0.6, 0.3, 0.2, 0.1), (1000, 1100, 1250, 1500, 2000), 60),
        ((0.9, 0.1, 0.1, 0.1), (1000, 1100, 1400, 1800, 2200), 60),
        ((0.1, 0.1, 0.1, 0.1), (1000, 1300, 1600, 1900, 2200), 100),
    ],
)
def test_the_length_is_the_one_that_pays_most(
    rates: tuple[float, ...], costs: tuple[int, ...], head: int
) -> None:
    relative = [cost / costs[0] for cost in costs]
    best = theory.best_heads(rates, head / costs[0], relative)
    seen = lengths(rates, costs, head)
    speeds = [
        theory.speculator(rates[:k], head / costs[0], relative[: k + 1])
        for k in range(len(rates) + 1)
    ]
    near = sum(n for k, n in seen.items() if speeds[k] > 0.96 * best.speedup)
    assert near > 0.85 * seen.total(), (best, seen)


def test_no_head_speaks_where_none_is_right_and_all_are_tried_now_and_then() -> None:
    seen = lengths((0.0, 0.0), (1000, 1200, 1400), 50)
    assert seen[0] > 0.95 * seen.total()
    assert 0 < seen[2] < 0.05 * seen.total()


def test_it_begins_with_all_heads_and_compares_with_a_plain_step() -> None:
    chain = AdaptiveChain(3)
    for _ in range(TRIAL):
        assert chain.length() == 3
        chain.passed(heads=3, accepted=3, drafting=90, verifying=1000)
    assert chain.length() == 0
    chain.passed(heads=0, accepted=0, drafting=0, verifying=990)
    assert chain.length() == 3


def test_a_text_that_becomes_easier_is_noticed() -> None:
    chain = AdaptiveChain(2)
    for step in range(60 * FIRST_PAUSE):
        length = chain.length()
        accepted = length if step > 10 * FIRST_PAUSE else 0
        chain.passed(heads=length, accepted=accepted, drafting=50 * length, verifying=1000)
    assert chain.length() == 2
