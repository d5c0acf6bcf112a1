"""One rule chooses every token, in every process, whatever was chosen before."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from amusd_viz.events import Sampling
from amusd_viz.models.choice import TokenChooser, chances, gumbel_noise

WORDS = 50


def logits(seed: int = 0) -> torch.Tensor:
    return torch.randn(WORDS, generator=torch.Generator().manual_seed(seed)) * 2


def chosen(sampling: Sampling, row: torch.Tensor, position: int = 0) -> int:
    chooser = TokenChooser(sampling, WORDS)
    return chooser.choose(chooser.processed(row, [1, 2]), position)


def test_greedy_takes_the_lowest_id_of_a_tie() -> None:
    row = torch.zeros(WORDS)
    row[[7, 3, 30]] = 5.0
    assert chosen(Sampling(), row) == 3


def test_noise_depends_on_seed_position_and_token_alone() -> None:
    noise = gumbel_noise(5, 17, WORDS)
    assert np.array_equal(noise, gumbel_noise.__wrapped__(5, 17, WORDS))
    assert np.array_equal(noise, gumbel_noise(5, 17, WORDS + 30)[:WORDS])
    assert not np.array_equal(noise, gumbel_noise(6, 17, WORDS))
    assert not np.array_equal(noise, gumbel_noise(5, 18, WORDS))
    assert np.isfinite(noise).all()


def test_known_noise() -> None:
    """Another value would change every seeded text, so it is a change of the format."""
    assert gumbel_noise(1, 2, 3) == pytest.approx(
        [-np.log(-np.log(u + 2.0**-54)) for u in _philox(1, 2)], abs=0
    )


def _philox(seed: int, position: int) -> np.ndarray:
    generator = np.random.Generator(np.random.Philox(key=seed, counter=[0, position, 0, 0]))
    return generator.random(3)


def test_frequencies_are_the_probabilities() -> None:
    """Chi-square over 20,000 positions; the seeds are fixed, so this cannot flicker."""
    row = logits(3)
    sampling = Sampling(temperature=0.8, seed=42)
    chooser = TokenChooser(sampling, WORDS)
    scores = chooser.processed(row, [1])
    draws = 20_000
    counts = np.bincount([chooser.choose(scores, p) for p in range(draws)], minlength=WORDS)
    expected = torch.softmax(row / 0.8, -1).double().numpy() * draws
    likely = expected >= 5
    observed = np.append(counts[likely], counts[~likely].sum())
    wanted = np.append(expected[likely], expected[~likely].sum())
    statistic = ((observed - wanted) ** 2 / wanted).sum()
    freedom = len(observed) - 1
    assert statistic < freedom + 4 * np.sqrt(2 * freedom)


def test_a_good_draft_agrees_more_often_than_independent_draws() -> None:
    """The same noise on both sides couples their choices (arXiv 2408.07978)."""
    target, draft = logits(3), logits(3) + 0.3 * logits(4)
    coupled = independent = 0
    for position in range(400):
        ours = chosen(Sampling(temperature=1.0, seed=1), target, position)
        coupled += ours == chosen(Sampling(temperature=1.0, seed=1), draft, position)
        independent += ours == chosen(Sampling(temperature=1.0, seed=2), draft, position)
    assert coupled > independent + 40


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [(Sampling(temperature=1.0, top_k=3), 3), (Sampling(temperature=1.0, top_p=1e-6), 1)],
)
def test_filters_keep_what_they_say(sampling: Sampling, kept: int) -> None:
    row = logits()
    best = set(torch.topk(row, kept).indices.tolist())
    assert {chosen(sampling, row, p) for p in range(200)} <= best


def test_padding_ids_are_never_chosen() -> None:
    padded = torch.cat([logits(), torch.full((14,), 1e9)])
    assert chosen(Sampling(), padded) == chosen(Sampling(), logits())
    assert chosen(Sampling(temperature=1.0, seed=3), padded, 9) == chosen(
        Sampling(temperature=1.0, seed=3), logits(), 9
    )


def test_recorded_probabilities_are_the_softmax() -> None:
    row = logits()
    probabilities = torch.softmax(row, -1)
    found = chances(row.numpy(), 11)
    best = found.candidates()
    assert found.taken == pytest.approx(float(probabilities[11]), abs=1e-5)
    top = torch.topk(probabilities, 5)
    assert [i for i, _ in best] == top.indices.tolist()
    assert [p for _, p in best] == pytest.approx(top.values.tolist(), abs=1e-5)


@given(
    scores=st.lists(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-80, 80, width=32), st.just(-np.inf)),
        min_size=1,
        max_size=70,
    ),
    data=st.data(),
)
def test_what_is_recorded_is_the_same_in_c_and_in_numpy(scores: list[float], data) -> None:
    row = np.array(scores, dtype=np.float32)
    if np.isinf(row).all():
        row[0] = 0
    token = data.draw(st.integers(0, len(row) - 1))
    ours = chances(row, token)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("amusd_viz.models.choice.library", lambda: None)
        plain = chances(row, token)
    assert [i for i, _ in ours.candidates()] == [i for i, _ in plain.candidates()]
    order = sorted(range(len(row)), key=lambda i: (-row[i], i))[:5]
    assert [i for i, _ in ours.candidates()] == order
    weights = np.exp(row.astype(float) - row.max())
    wanted = weights / weights.sum()
    assert ours.taken == pytest.approx(wanted[token], abs=2e-5)
    assert [p for _, p in ours.candidates()] == pytest.approx([wanted[i] for i in order], abs=2e-5)


@pytest.mark.parametrize("words", [1023, 1025, 2056, 49_152])
def test_the_best_of_a_whole_vocabulary_are_found_and_weighed(words: int) -> None:
    row = np.random.default_rng(words).normal(0, 3, words).astype(np.float32)
    found = chances(row, words - 1)
    best = found.candidates()
    weights = np.exp(row.astype(float) - row.max())
    weights /= weights.sum()
    assert [i for i, _ in best] == np.argsort(-row, kind="stable")[:5].tolist()
    assert [p for _, p in best] == pytest.approx(weights[[i for i, _ in best]], abs=1e-5)
    assert found.taken == pytest.approx(weights[-1], abs=1e-5)
