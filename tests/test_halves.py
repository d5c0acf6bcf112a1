"""A speculator's layers in 16 bits compute what torch computes with the same rounded weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.halves import FEW, HalvesLinear
from amusd_viz.models.native.library import library

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
