"""Both ways of sampling draw from the target exactly, and accept as often as they should."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from amusd_viz.lessons import recorded_distributions
from amusd_viz.lessons.sampling import (
    bars,
    choose,
    coupled_sample,
    draw,
    fit_test,
    flattened,
    rejection_sample,
)

DRAWS = 4000
AT = recorded_distributions()


def overlap(p, q):
    return sum(min(p.get(t, 0), q[t]) for t in q)


@pytest.mark.parametrize("position", [46, 92, 118])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_rejection_sampling_is_exact_and_accepts_the_overlap(position, temperature):
    p, q = AT[position].p, flattened(AT[position].q, temperature)
    source = random.Random(position)
    drawn = [rejection_sample(p, q, source) for _ in range(DRAWS)]
    assert fit_test(Counter(d.token for d in drawn), p).fits
    rate, expected = sum(d.accepted for d in drawn) / DRAWS, overlap(p, q)
    # A rejected proposal is never drawn again: its missing weight is 0 where q exceeds p.
    assert abs(rate - expected) < 4 * math.sqrt(expected * (1 - expected) / DRAWS) + 1e-3


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_coupled_choice_is_exact_and_accepts_as_often_as_promised(temperature):
    p, q = AT[92].p, flattened(AT[92].q, temperature)
    drawn = [coupled_sample(p, q, seed, 92) for seed in range(DRAWS)]
    assert fit_test(Counter(d.token for d in drawn), p).fits
    assert fit_test(Counter(d.proposal for d in drawn), q).fits
    distance = 1 - overlap(p, q)
    rate = sum(d.accepted for d in drawn) / DRAWS
    assert (1 - distance) / (1 + distance) - 0.03 < rate < 1 - distance + 0.03


def test_no_draft_changes_the_coupled_choice():
    p = AT[92].p
    for q in (AT[92].q, flattened(AT[92].q, 9), {"xyz": 1.0}):
        assert [coupled_sample(p, q, s, 7).token for s in range(20)] == [
            choose(p, s, 7) for s in range(20)
        ]


def test_the_fit_test_notices_a_wrong_distribution():
    p = AT[92].p
    source = random.Random(0)
    wrong = Counter(draw(flattened(p, 1.3), source) for _ in range(DRAWS))
    assert not fit_test(wrong, p).fits
    assert "does not fit" in repr(fit_test(wrong, p))
    never = Counter({"xyz": 100})
    assert not fit_test(never, p).fits


def test_bars():
    assert bars({"a": 0.75, " b": 0.25}, width=4) == "'a'   0.75 ███\n' b'  0.25 █"
