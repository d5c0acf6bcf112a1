"""The protocol under arbitrary interleavings: lossless, live, and every proposal with one fate.

What is checked after each action stands in ``toy_world.py``. ``AMUSD_VIZ_INTERLEAVINGS`` raises the
number of random interleavings.
"""

from __future__ import annotations

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from toy_world import coverage, play

from amusd_viz.protocol import Fate
from amusd_viz.trace import Trace

INTERLEAVINGS = int(os.environ.get("AMUSD_VIZ_INTERLEAVINGS", "20000"))


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_interleaving_is_lossless_and_live(rng: random.Random) -> None:
    play(rng)


def test_many_random_interleavings_are_lossless_and_live() -> None:
    seen = coverage(())
    for seed in range(INTERLEAVINGS):
        try:
            world = play(random.Random(seed))
        except AssertionError as error:
            error.add_note(f"with seed {seed}: play(random.Random({seed}))")
            raise
        if seed < 2000:
            seen += coverage((world,))
    rare = [
        *Fate,
        *(f"finish {f}" for f in ("end_token", "length", "stop_condition", "stop_request")),
        *(f"extra {e}" for e in ("correction", "bonus", "plain", "none")),
        "draft lost",
        "rolled back",
        "fast forwarded",
        "own accepted",
        "own rejected",
        "behind the draft's",
    ]
    missing = [name for name in rare if seen[name] < 10]
    assert not missing, f"the interleavings hardly ever show {missing}"


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_interleaving_makes_a_trace_that_passes_its_check(rng: random.Random) -> None:
    world = play(rng)
    trace = Trace.loads(world.trace().dumps())
    assert list(trace.tokens) == world.target.committed
    assert trace == world.trace()
    assert trace.fates == dict.fromkeys(world.made, Fate.UNFINISHED) | world.fates
