"""Proposals that grow, against a search that leaves nothing out."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("torch")

import torch
from peaked_speculator import STATE, WORDS, peaked_speculator, reach

from amusd_viz.events import Sampling
from amusd_viz.models.choice import TokenChooser
from amusd_viz.models.drafting import Drafted, Shape, draft, sampling_scores
from amusd_viz.models.growing import Growth, Torch, Unlimited, grow
from amusd_viz.models.speculator import Speculator

ALL = Shape(3, (WORDS,) * 3, 5)
"""Every head offers every word."""


@pytest.fixture
def speculator() -> Speculator:
    return peaked_speculator()


def paths(drafted: Drafted) -> list[tuple[int, ...]]:
    tree = drafted.tree
    return [tuple(tree.tokens[n] for n in tree.path(node)) for node in range(len(tree))]


@pytest.mark.parametrize("nodes", [1, 2, 5, 9, 20])
@pytest.mark.parametrize("token", range(0, WORDS, 3))
def test_it_holds_the_most_probable_paths_of_all(
    speculator: Speculator, nodes: int, token: int
) -> None:
    drafted = grow(Torch(speculator), STATE, token, ALL, nodes=nodes, depth=3)
    everything = [
        path for depth in (1, 2, 3) for path in itertools.product(range(WORDS), repeat=depth)
    ]
    best = sorted(everything, key=lambda path: -reach(speculator, token, path))[:nodes]
    assert set(paths(drafted)) == set(best)
    assert drafted.spoken <= nodes


def test_where_each_head_offers_one_token_it_is_a_chain(speculator: Speculator) -> None:
    chain = draft(speculator, STATE, 4, Shape.chain(3))
    grown = grow(Torch(speculator), STATE, 4, Shape.chain(3), nodes=7, depth=3)
    assert grown.tree == chain.tree
    assert grown.probabilities == chain.probabilities
    assert grown.spoken == 3
    assert len(grow(Torch(speculator), STATE, 4, Shape.chain(3), nodes=7, depth=2).tree) == 2
    assert len(grow(Torch(speculator), STATE, 4, Shape.chain(3), nodes=1, depth=2).tree) == 1


def test_what_another_drafter_gave_is_read_first(speculator: Speculator) -> None:
    whole = grow(Torch(speculator), STATE, 4, Shape.chain(3), nodes=7, depth=3)
    first, *rest = whole.tree.tokens
    rest_of_it = {"given": (first,), "nodes": 7, "depth": 7}
    assert grow(Torch(speculator), STATE, 4, Shape.chain(3), **rest_of_it).tree.tokens == tuple(
        rest
    )
    full = {"given": (1, 2, 3), "nodes": 7, "depth": 7}
    assert not grow(Torch(speculator), STATE, 4, Shape.chain(3), **full).tree.tokens


def test_the_main_chain_comes_first_and_heads_say_when_they_spoke(speculator: Speculator) -> None:
    ticks = itertools.count(10)
    clock = {"clock": lambda: next(ticks)}
    drafted = grow(Torch(speculator), STATE, 4, ALL, nodes=9, depth=3, **clock)
    tree = drafted.tree
    assert not tree.is_chain
    chain = grow(Torch(speculator), STATE, 4, Shape.chain(3), nodes=9, depth=3).tree.tokens
    assert chain[: len(tree.main_chain)] == tree.main_chain
    for node, parent in enumerate(tree.parents):
        assert parent < 0 or drafted.ends[parent] < drafted.ends[node]
    assert set(drafted.ends) <= set(range(10, 10 + drafted.spoken))


def test_nothing_follows_an_end_token(speculator: Speculator) -> None:
    whole = grow(Torch(speculator), STATE, 4, ALL, nodes=9, depth=3)
    end = whole.tree.tokens[0]
    ended = grow(Torch(speculator), STATE, 4, ALL, nodes=9, depth=3, end_tokens=(end,))
    assert end in ended.tree.tokens
    assert not any(end in path[:-1] for path in paths(ended))


class Modest(Unlimited):
    """Lets heads speak as long as ``wanted`` says, and judges ``most`` proposals."""

    def __init__(self, wanted: int, most: int) -> None:
        self.wanted, self.most = wanted, most

    def another(self, size: int, reach: float) -> bool:
        return size < self.wanted

    def choose(self, guesses: object) -> int:
        return self.most


@pytest.mark.parametrize(("wanted", "most"), [(0, 3), (1, 3), (2, 2), (5, 4), (9, 0)])
def test_a_growth_ends_it(speculator: Speculator, wanted: int, most: int) -> None:
    growth: Growth = Modest(wanted, most)
    drafted = grow(Torch(speculator), STATE, 4, ALL, nodes=9, depth=3, growth=growth)
    assert drafted.spoken <= wanted
    assert len(drafted.tree) == (most if wanted else 0)
    whole = grow(Torch(speculator), STATE, 4, ALL, nodes=max(1, most), depth=3)
    if wanted >= most > 0:
        assert set(paths(drafted)) == set(paths(whole))


def test_seeded_sampling_grows_by_the_choice_rule(speculator: Speculator) -> None:
    """A chain of what a target with the heads' distribution would choose, as sure as that makes it."""
    chooser = TokenChooser(Sampling(temperature=0.8, seed=9), WORDS)
    for position in range(5):
        scores = sampling_scores(chooser, speculator, position)
        heads = Torch(speculator, scores)
        drafted = grow(heads, STATE, 4, Shape.chain(3), nodes=3, depth=3)
        logits = speculator(STATE, torch.tensor([4, *drafted.tree.tokens[:-1]]))
        for head, token in enumerate(drafted.tree.tokens):
            processed = chooser.processed(logits[head], (0,))
            assert token == chooser.choose(processed, position + head)
            plain = float(logits[head].softmax(-1)[token])
            assert drafted.probabilities[head] == pytest.approx(plain, abs=1e-5)
            noisy = float(scores(logits[head][None], head)[0, token].exp())
            assert drafted.chances[head] == pytest.approx(noisy, abs=1e-6)


def test_what_the_filters_left_out_is_not_proposed(speculator: Speculator) -> None:
    chooser = TokenChooser(Sampling(temperature=1.0, top_k=1), WORDS)
    heads = Torch(speculator, sampling_scores(chooser, speculator, 0))
    assert grow(heads, STATE, 4, ALL, nodes=9, depth=3).tree.is_chain
