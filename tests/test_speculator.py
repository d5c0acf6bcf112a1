"""The speculator's equations against values computed without torch, and its published sizes."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch

from amusd_viz.errors import ModelError
from amusd_viz.models.speculator import (
    Speculator,
    SpeculatorConfig,
    parameter_count,
    rms_norm,
    with_short_list,
)


def gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def times(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def rms(vector: list[float]) -> list[float]:
    root = math.sqrt(sum(v * v for v in vector) / len(vector) + 1e-6)
    return [v / root for v in vector]


def by_hand(speculator: Speculator, state: list[float], tokens: list[int]) -> list[list[float]]:
    """The logits of every head, from lists of numbers and the formulas of the paper."""
    weights = {name: weight.tolist() for name, weight in speculator.state_dict().items()}
    config = speculator.config
    n, d = config.n_predict, config.inner_dim
    s = 0.5 ** (0.5 / n)
    e = math.sqrt((1 - s * s) * d / 2)
    h = [v / math.sqrt(2) for v in rms(state)] if config.scale_input else state
    logits = []
    for i, token in enumerate(tokens):
        copy = 0 if config.tie_weights else i
        projection = min(i, 1) if config.tie_weights else i
        row = weights[f"emb.{copy}.weight"][token]
        u = [
            p + e / s * x
            for p, x in zip(times(weights[f"proj.{projection}.weight"], h), row, strict=True)
        ]
        gain, shift = weights[f"ln.{copy}.weight"], weights[f"ln.{copy}.bias"]
        h = [gelu(g * v + b) for g, v, b in zip(gain, rms(u), shift, strict=True)]
        logits.append(times(weights[f"head.{copy}.weight"], h))
    return logits


def small(seed: int = 0, **shape: object) -> Speculator:
    config = SpeculatorConfig(**{"emb_dim": 5, "inner_dim": 4, "vocab_size": 7, **shape})
    speculator = Speculator(config).initialise(torch.Generator().manual_seed(seed)).double()
    for norm in speculator.ln:
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.uniform_(-0.5, 0.5)
    return speculator.requires_grad_(False)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("heads", [2, 3, 5])
def test_the_equations(tied: bool, scaled: bool, heads: int) -> None:
    speculator = small(n_predict=heads, tie_weights=tied, scale_input=scaled)
    state = [1.5, -2.0, 0.25, 0.0, 3.0]
    tokens = [6, 0, 3, 3, 1][:heads]
    given = speculator(torch.tensor(state).double(), torch.tensor(tokens))
    torch.testing.assert_close(
        given, torch.tensor(by_hand(speculator, state, tokens)).double(), rtol=0, atol=1e-6
    )


def test_the_halves_of_a_state_are_normalised_each_by_itself() -> None:
    state = torch.tensor([3.0, 4.0, 0.3, -0.4]).double()
    shape = {"emb_dim": 4, "n_predict": 2, "tie_weights": True, "scale_input": True}
    half = [3 / 12.5**0.5 / 2**0.5, 4 / 12.5**0.5 / 2**0.5]
    begun = small(**shape, state_layer=1).begin(state)
    assert begun.tolist() == pytest.approx([*half, half[0], -half[1]], abs=1e-5)
    whole = small(**shape).begin(state)
    assert whole[:2].tolist() != pytest.approx(half, abs=1e-2)
    torch.testing.assert_close(whole, rms_norm(state) / 2**0.5)


def test_a_value_computed_on_paper() -> None:
    """One head of two: s^2 = 1/2, so e^2 = (1 - 1/2) * 2 / 2 = 1/2 and a = 1; u = (3, 4) + (0, -8)."""
    config = SpeculatorConfig(emb_dim=2, inner_dim=2, vocab_size=2, n_predict=1)
    speculator = Speculator(config).double().requires_grad_(False)
    speculator.emb[0].weight[:] = torch.tensor([[9.0, 9.0], [0.0, -8.0]])
    speculator.proj[0].weight[:] = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    speculator.head[0].weight[:] = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert config.state_weight**2 == pytest.approx(0.5)
    assert config.token_weight == pytest.approx(1.0)
    # u = (3, -4), its root mean square sqrt(12.5), so rms(u) = (0.848528, -1.131371).
    logits = speculator(torch.tensor([3.0, 4.0]).double(), torch.tensor([1]))[0]
    assert logits.tolist() == pytest.approx([0.680458, -0.145890], abs=1e-6)


def test_weights_depend_on_the_heads_it_was_trained_with_not_on_those_that_run() -> None:
    speculator = small(n_predict=4, tie_weights=True)
    state, tokens = torch.randn(5).double(), torch.tensor([1, 2, 3, 4])
    everything = speculator(state, tokens)
    torch.testing.assert_close(speculator(state, tokens[:2]), everything[:2], rtol=0, atol=0)
    other = SpeculatorConfig(emb_dim=5, inner_dim=4, vocab_size=7, n_predict=2)
    assert speculator.config.token_weight != other.token_weight
    assert speculator.config.state_weight ** (2 * 4) == pytest.approx(0.5)


@pytest.mark.parametrize("tied", [False, True])
def test_stage_by_stage_is_teacher_forced(tied: bool) -> None:
    speculator = small(n_predict=3, tie_weights=tied, scale_input=True)
    states = torch.randn(6, 2, 5).double()
    tokens = torch.randint(7, (6, 2, 3))
    forced = speculator(states, tokens)
    h = speculator.begin(states)
    for stage in range(3):
        h = speculator.advance(stage, h, tokens[..., stage])
        torch.testing.assert_close(speculator.logits(stage, h), forced[stage], rtol=0, atol=1e-12)


def test_a_tied_one_runs_on_beyond_its_heads() -> None:
    speculator = small(n_predict=2, tie_weights=True)
    assert speculator(torch.randn(5).double(), torch.tensor([1, 2, 3, 4, 5])).shape == (5, 7)


def test_gradients_reach_every_weight() -> None:
    speculator = small(n_predict=3, tie_weights=False).requires_grad_(True)
    speculator(torch.randn(8, 5).double(), torch.randint(7, (8, 3))).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in speculator.parameters())


PUBLISHED = [
    # emb_dim, inner_dim, vocab_size, n_predict, tied, parameters in millions
    ("llama2-7b", 4096, 4096, 32000, 3, False, 837),
    ("llama-13b", 5120, 4096, 32000, 3, False, 841),
    ("codellama-13b", 5120, 4096, 32016, 7, False, 1960),
    ("granite-7b", 4096, 4096, 32008, 5, False, 1400),
    ("granite-20b-code", 6144, 4096, 49152, 4, False, 1690),
    ("granite-34b-code", 6144, 6144, 49152, 5, True, 680),
    ("llama2-70b", 8192, 8192, 32000, 4, True, 658),
    ("llama3-70b", 8192, 8192, 128256, 4, True, 2240),
    ("llama-160m", 768, 1024, 32000, 3, False, 199),
]


@pytest.mark.parametrize(
    ("name", "outer", "inner", "words", "heads", "tied", "millions"), PUBLISHED
)
def test_published_sizes(
    name: str, outer: int, inner: int, words: int, heads: int, tied: bool, millions: int
) -> None:
    config = SpeculatorConfig(
        emb_dim=outer, inner_dim=inner, vocab_size=words, n_predict=heads, tie_weights=tied
    )
    assert parameter_count(config) / 1e6 == pytest.approx(millions, rel=0.005)


def test_llama3_8b_is_as_large_as_its_published_index_says() -> None:
    """6,385,876,992 bytes of two each."""
    config = SpeculatorConfig(emb_dim=4096, inner_dim=3072, vocab_size=128256, n_predict=4)
    assert 2 * parameter_count(config) == 6_385_876_992


def test_a_short_list_keeps_the_logits_of_its_words() -> None:
    speculator = small(n_predict=2, tie_weights=True)
    shorter = with_short_list(speculator, [5, 1, 2])
    state, tokens = torch.randn(3, 5).double(), torch.tensor([[6, 1]] * 3)
    torch.testing.assert_close(
        shorter(state, tokens), speculator(state, tokens)[..., [1, 2, 5]], rtol=0, atol=1e-12
    )
    assert shorter.token_ids(torch.tensor([2, 0])).tolist() == [5, 1]
    with pytest.raises(ModelError, match="token 4 is not among the 3"):
        with_short_list(shorter, [1, 4])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_predict": 0}, "n_predict 0"),
        ({"n_predict": 1, "tie_weights": True}, "n_predict 2 or more"),
        ({"n_predict": 2, "top_k_tokens_per_head": (3,)}, "1 entries for 2 heads"),
        ({"n_predict": 2, "short_list": (3, 2)}, "ascending"),
        ({"n_predict": 2, "short_list": (3, 7)}, "between 0 and 6"),
        ({"n_predict": 2, "state_layer": 3}, "cannot be 5 wide"),
        ({"n_predict": 2, "emb_dim": 8, "state_layer": -1}, "counted from 0"),
    ],
)
def test_shapes_that_cannot_be(wrong: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        SpeculatorConfig(**{"emb_dim": 5, "inner_dim": 4, "vocab_size": 7, **wrong})
