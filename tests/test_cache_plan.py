"""KV arithmetic against recomputation from scratch, with a cache that remembers all it was fed."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_world import play

from amusd_viz.events import FastForwarded, Proposed, RolledBack, Verified, VerifyStarted
from amusd_viz.protocol import plan_cache

TOKENS = st.lists(st.integers(0, 2), max_size=12)


class ToyCache:
    """Entry i depends on all tokens up to i, as keys and values do; the last one is "the logits"."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.entries: list[int] = []

    def forward(self, keep: int, feed: Sequence[int]) -> list[int]:
        """Crops to ``keep`` entries, feeds ``feed`` and returns one logit a fed token."""
        del self.tokens[keep:], self.entries[keep:]
        for token in feed:
            before = self.entries[-1] if self.entries else 0
            self.entries.append(hash((before, token)))
            self.tokens.append(token)
        return self.entries[keep:]


def from_scratch(tokens: Sequence[int]) -> list[int]:
    return ToyCache().forward(0, tokens)


@given(TOKENS, TOKENS.filter(len))
def test_the_plan_gives_the_logits_of_a_fresh_pass(cached: list[int], wanted: list[int]) -> None:
    cache = ToyCache()
    cache.forward(0, cached)
    plan = plan_cache(cached, wanted)
    logits = cache.forward(plan.keep, plan.feed)
    assert logits[-1] == from_scratch(wanted)[-1]
    assert cache.tokens == wanted
    assert 0 <= plan.keep < len(wanted)


@given(TOKENS, TOKENS.filter(len))
def test_the_plan_feeds_no_more_than_needed(cached: list[int], wanted: list[int]) -> None:
    keep, feed = plan_cache(cached, wanted)
    assert [*wanted[:keep], *feed] == wanted
    assert cached[:keep] == wanted[:keep]
    could_keep_more = keep < min(len(cached), len(wanted) - 1)
    assert not could_keep_more or cached[keep] != wanted[keep]


def test_the_plan_takes_any_sequences() -> None:
    assert plan_cache((1, 2, 3), [1, 2, 4]) == (2, (4,))
    assert plan_cache(range(5), (0, 1, 2)) == (2, (2,))


def test_nothing_cannot_be_wanted() -> None:
    with pytest.raises(AssertionError, match="nothing to feed"):
        plan_cache([1], [])


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_target_keeps_n_plus_l_minus_1_entries(rng: random.Random) -> None:
    """Every verification of a random run, replayed on a cache, against recomputation."""
    prompt = [rng.randrange(3) for _ in range(rng.randint(1, 4))]
    cache = ToyCache()
    cache.forward(0, prompt)
    committed: list[int] = []
    events = play(rng).events
    windows = [e.tokens for e in events if isinstance(e, VerifyStarted)]
    outputs = [e.committed for e in events if isinstance(e, Verified)]
    for window, output in zip(windows, outputs, strict=False):
        if committed:
            wanted = [*prompt, *committed, *window]
            plan = plan_cache(cache.tokens, wanted)
            assert plan.keep == len(prompt) + len(committed) - 1
            logits = cache.forward(plan.keep, plan.feed)
            assert logits == from_scratch(wanted)[-len(window) - 1 :]
        committed += output


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_draft_keeps_n_plus_l_minus_1_entries(rng: random.Random) -> None:
    """Every step of the draft, through rollbacks and fast-forwards, against recomputation."""
    prompt = [rng.randrange(3) for _ in range(rng.randint(1, 4))]
    cache = ToyCache()
    cache.forward(0, prompt)
    believed: list[int] = []
    moved = False
    for event in play(rng).events:
        if isinstance(event, Proposed):
            wanted = [*prompt, *believed]
            plan = plan_cache(cache.tokens, wanted)
            if not moved and believed:
                assert plan == (len(wanted) - 1, (wanted[-1],)), "one token a step"
            assert cache.forward(plan.keep, plan.feed)[-1] == from_scratch(wanted)[-1]
            believed.append(event.token)
            assert len(cache.tokens) == len(prompt) + len(believed) - 1
            moved = False
        elif isinstance(event, RolledBack | FastForwarded):
            believed[event.position :] = event.adopted
            moved = True
