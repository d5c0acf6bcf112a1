"""Output layers in 8 bits compute what torch does with the rounded weights; heads in C with them."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from amusd_viz.models.drafting import Drafted, Shape, draft
from amusd_viz.models.growing import Torch, grow
from amusd_viz.models.native import heads as heads_module
from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.bytes import FEW, WIDEST, BytesLinear
from amusd_viz.models.native.halves import HalvesLinear
from amusd_viz.models.native.heads import in_few_bits, native_heads
from amusd_viz.models.native.library import library
from amusd_viz.models.speculator import Speculator, SpeculatorConfig

pytestmark = pytest.mark.skipif(library() is None, reason="no compiled library here")


@pytest.mark.parametrize("width", [1, 31, 64, 100, 576])
@pytest.mark.parametrize("rows", [1, 3, FEW, FEW + 1])
def test_it_equals_torch_with_the_rounded_weights(width: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(width * 100 + rows)
    linear = nn.Linear(width, 17, bias=False)
    nn.init.normal_(linear.weight, std=width**-0.5, generator=generator)
    x = torch.randn(2, rows, width, generator=generator)[:, : (rows + 1) // 2]
    layer = BytesLinear(linear, Arena())
    expected = nn.functional.linear(x, layer.weight)
    # Inputs are rounded too, to one in ten thousand of their range.
    assert torch.allclose(layer(x), expected, atol=2e-3)
    assert torch.allclose(layer.weight, linear.weight, atol=float(layer.scales.max()) / 2 + 1e-6)


def test_the_largest_sum_does_not_overflow() -> None:
    linear = nn.Linear(WIDEST, 2, bias=False)
    with torch.no_grad():
        linear.weight[0], linear.weight[1] = 1.0, -1.0
    x = torch.full((1, WIDEST), 3.0)
    assert BytesLinear(linear, Arena())(x).tolist()[0] == pytest.approx([3 * WIDEST, -3 * WIDEST])


def test_rows_of_zeros_stay_zeros() -> None:
    linear = nn.Linear(20, 3, bias=False)
    nn.init.zeros_(linear.weight)
    assert BytesLinear(linear, Arena())(torch.ones(1, 20)).tolist() == [[0.0] * 3]
    nn.init.ones_(linear.weight)
    assert BytesLinear(linear, Arena())(torch.zeros(1, 20)).tolist() == [[0.0] * 3]


@pytest.mark.parametrize("tied", [True, False])
def test_a_speculator_proposes_the_same_as_with_rounded_weights(tied: bool) -> None:
    config = SpeculatorConfig(
        emb_dim=32, inner_dim=32, vocab_size=200, n_predict=3, tie_weights=tied, scale_input=True
    )

    def fresh() -> Speculator:
        speculator = Speculator(config).initialise(torch.Generator().manual_seed(3)).eval()
        with torch.no_grad():
            for layer in speculator.head:
                layer.weight.mul_(20)  # So that no two words are nearly as likely.
        return speculator

    rounded = fresh()
    with torch.no_grad():
        for layer in rounded.proj:
            layer.weight.copy_(layer.weight.bfloat16().float())
        for layer in rounded.head:
            layer.weight.copy_(BytesLinear(layer, Arena()).weight)
    few = in_few_bits(fresh())
    shape = Shape(3, (3, 2, 2), 4)
    heads = native_heads(few)
    assert heads
    for seed in range(20):
        state = torch.randn(32, generator=torch.Generator().manual_seed(seed))
        assert draft(few, state, seed, shape).tree == draft(rounded, state, seed, shape).tree
        for given, kind in itertools.product(((), (7,), (7, 9)), (Shape.chain(3), shape)):
            room = {"nodes": 99, "depth": 3, "given": given}
            expected = by_path(grow(Torch(rounded), state, seed, kind, **room))
            assert by_path(grow(heads, state, seed, kind, **room)) == pytest.approx(
                expected, abs=3e-3
            )


def by_path(drafted: Drafted) -> dict[tuple[int, ...], float]:
    """How probable each node is; two that are nearly as likely may have changed places."""
    tree = drafted.tree
    paths = (tuple(tree.tokens[n] for n in tree.path(node)) for node in range(len(tree)))
    return dict(zip(paths, drafted.probabilities, strict=True))


def test_output_layers_too_wide_for_8_bits_have_16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads_module, "WIDEST", 16)
    config = SpeculatorConfig(emb_dim=32, inner_dim=32, vocab_size=200, n_predict=3)
    few = in_few_bits(Speculator(config).initialise(torch.Generator().manual_seed(3)))
    assert all(isinstance(layer, HalvesLinear) for layer in few.head)
    assert native_heads(few) is None
    assert len(draft(few, torch.ones(32), 7, Shape.chain(3)).tree) == 3


def test_a_speculator_in_32_bits_has_no_heads_in_c() -> None:
    config = SpeculatorConfig(emb_dim=32, inner_dim=32, vocab_size=200, n_predict=3)
    assert native_heads(Speculator(config)) is None
