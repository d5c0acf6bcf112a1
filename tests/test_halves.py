"""A speculator's layers in 16 bits compute what torch computes with the same rounded weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from amusd_viz.models.drafting import Shape, draft
from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.chain import chain_drafter
from amusd_viz.models.native.halves import FEW, HalvesLinear, in_halves
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
    expected = nn.functional.linear(x, linear.weight.bfloat16().float())
    assert torch.allclose(HalvesLinear(linear, Arena())(x), expected, atol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_a_speculator_proposes_the_same_as_with_rounded_weights(tied: bool) -> None:
    config = SpeculatorConfig(
        emb_dim=32, inner_dim=32, vocab_size=200, n_predict=3, tie_weights=tied, scale_input=True
    )

    def fresh() -> Speculator:
        return Speculator(config).initialise(torch.Generator().manual_seed(3)).eval()

    rounded = fresh()
    with torch.no_grad():
        for layer in (*rounded.proj, *rounded.head):
            layer.weight.copy_(layer.weight.bfloat16().float())
    halved = in_halves(fresh())
    shape = Shape(3, (3, 2, 2), 4)
    chain = chain_drafter(halved)
    assert chain
    for seed in range(20):
        state = torch.randn(32, generator=torch.Generator().manual_seed(seed))
        assert draft(halved, state, seed, shape).tree == draft(rounded, state, seed, shape).tree
        for given in ((), (7,), (7, 9)):
            expected = draft(rounded, state, seed, Shape.chain(3), given=given)
            found = chain.draft(state, seed, 3, given=given)
            assert found.tree == expected.tree
            assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-4)


def test_a_speculator_in_32_bits_has_no_drafter_in_c() -> None:
    config = SpeculatorConfig(emb_dim=32, inner_dim=32, vocab_size=200, n_predict=3)
    assert chain_drafter(Speculator(config)) is None
