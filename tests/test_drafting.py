"""Chains and candidate trees of a speculator, against a search that leaves nothing out."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("torch")

import torch
from peaked_speculator import STATE, WORDS, peaked_speculator, reach

from amusd_viz.events import Sampling
from amusd_viz.models.choice import TokenChooser, gumbel_noise
from amusd_viz.models.drafting import Shape, draft, limited, sampling_scores
from amusd_viz.models.speculator import Speculator, with_short_list


@pytest.fixture
def speculator() -> Speculator:
    return peaked_speculator()


def test_a_chain_takes_every_heads_best(speculator: Speculator) -> None:
    chain = draft(speculator, STATE, 4, Shape.chain(3))
    assert chain.tree.is_chain
    given = torch.tensor([4, *chain.tree.tokens[:-1]])
    assert chain.tree.tokens == tuple(speculator(STATE, given).argmax(-1).tolist())
    best = speculator(STATE, given).softmax(-1).max(-1).values
    assert chain.probabilities == pytest.approx(best.tolist(), abs=1e-5)


@pytest.mark.parametrize("kept", [1, 4, 9])
def test_the_best_candidates_of_all(speculator: Speculator, kept: int) -> None:
    shape = Shape(3, (WORDS,) * 3, kept)
    tree = draft(speculator, STATE, 4, shape).tree
    everything = itertools.product(range(WORDS), repeat=3)
    ranked = sorted(everything, key=lambda p: -reach(speculator, 4, p))
    leaves = [n for n in range(len(tree)) if not tree.has_children(n)]
    found = {tuple(tree.tokens[n] for n in tree.path(leaf)) for leaf in leaves}
    assert found == set(ranked[:kept])
    assert tree.main_chain == ranked[0]


def test_each_head_offers_its_top_k(speculator: Speculator) -> None:
    tree = draft(speculator, STATE, 4, Shape(3, (3, 2, 1), 99)).tree
    assert [tree.depths.count(d) for d in range(3)] == [3, 6, 6]
    first = speculator(STATE, torch.tensor([4]))[0].topk(3).indices.tolist()
    assert [n.token for n in tree.nodes if n.depth == 0] == first


def test_fewer_beams_follow_only_the_best_prefixes(speculator: Speculator) -> None:
    tree = draft(speculator, STATE, 4, Shape(3, (4, 3, 2), 6, beams=1)).tree
    assert tree.depths.count(0) == tree.depths.count(1) == 1


def test_seeded_sampling_proposes_by_the_choice_rule(speculator: Speculator) -> None:
    """A head's first token is what a target of the head's distribution would choose."""
    sampling = Sampling(temperature=0.8, seed=9)
    chooser = TokenChooser(sampling, WORDS)
    for position in range(5):
        scores = sampling_scores(chooser, speculator, position)
        drafted = draft(speculator, STATE, 4, Shape.chain(3), scores=scores)
        given = torch.tensor([4, *drafted.tree.tokens[:-1]])
        logits = speculator(STATE, given)
        for head, token in enumerate(drafted.tree.tokens):
            processed = chooser.processed(logits[head], (0,))
            assert token == chooser.choose(processed, position + head)


def test_the_noise_of_a_short_list_is_that_of_its_words(speculator: Speculator) -> None:
    listed = [0, 3, 4, 8]
    shorter = with_short_list(speculator, listed)
    chooser = TokenChooser(Sampling(temperature=1.0, seed=2), WORDS)
    scores = sampling_scores(chooser, shorter, 7)(torch.zeros(1, 4), 1)
    noise = torch.from_numpy(gumbel_noise(2, 8, WORDS))[listed]
    torch.testing.assert_close(scores[0], noise.log_softmax(-1), rtol=0, atol=1e-12)
    assert set(draft(shorter, STATE, 4, Shape(3, (4, 4, 4), 20)).tree.tokens) <= set(listed)


def test_a_repeated_token_is_penalised(speculator: Speculator) -> None:
    shorter = with_short_list(speculator, [0, 3, 4, 8])
    chooser = TokenChooser(Sampling(repetition_penalty=2.0), WORDS)
    logits = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    scores = sampling_scores(chooser, shorter, 3, prefix=(4, 9, 4))(logits, 0)[0]
    assert scores.argmin() == 2
    assert scores[[0, 1, 3]].unique().numel() == 1


def test_what_the_filters_left_out_is_not_proposed(speculator: Speculator) -> None:
    chooser = TokenChooser(Sampling(temperature=1.0, top_k=1), WORDS)
    scores = sampling_scores(chooser, speculator, 0)
    assert draft(speculator, STATE, 4, Shape(3, (4, 4, 4), 20), scores=scores).tree.is_chain


def test_limits_keep_each_nodes_probability(speculator: Speculator) -> None:
    whole = draft(speculator, STATE, 4, Shape(3, (3, 2, 2), 8))
    part = limited(whole, 6, 2, ())
    assert len(part.tree) == len(part.probabilities) <= 6
    for node in range(len(part.tree)):
        path = tuple(part.tree.tokens[n] for n in part.tree.path(node))
        last = reach(speculator, 4, path) / reach(speculator, 4, path[:-1])
        assert part.probabilities[node] == pytest.approx(last, abs=1e-4)


def test_each_head_says_when_it_has_spoken(speculator: Speculator) -> None:
    ticks = itertools.count(10)
    drafted = draft(speculator, STATE, 4, Shape(3, (2, 1, 1), 2), clock=lambda: next(ticks))
    assert drafted.ends == tuple(10 + depth for depth in drafted.tree.depths)
    assert drafted.spoken == 3
