"""Medians and their intervals, by resampling prompts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

RESAMPLES = 2000


class Interval(NamedTuple):
    """A median with its 95 % bootstrap interval."""

    median: float
    low: float
    high: float


def median_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The median of ``values`` (one a prompt), and between what it falls in 95 % of resamples.

    Percentile bootstrap (Efron & Tibshirani 1993, section 13.3); the seed makes it repeatable.
    """
    assert values, "no values have no median"
    source = random.Random(seed)
    draws = sorted(median(source.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(
        median(values), draws[round(0.025 * (RESAMPLES - 1))], draws[round(0.975 * (RESAMPLES - 1))]
    )
