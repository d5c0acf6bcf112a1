"""Linear layers whose weights are kept and read in 16 bits: half of the memory, and of the time."""

from __future__ import annotations

import torch
from torch import nn

from amusd_viz.models.native.library import library
from amusd_viz.models.speculator import Speculator

FEW = 16
"""Rows up to which reading the weights is most of the work."""


def in_halves(speculator: Speculator) -> Speculator:
    """The same speculator with projections and output layers in 16 bits, where that is compiled.

    What it proposes may differ in a tie of a few parts in a thousand; what is accepted never depends
    on it.
    """
    if library() is not None:
        for name in ("proj", "head"):
            layers = getattr(speculator, name)
            setattr(speculator, name, nn.ModuleList(HalvesLinear(layer) for layer in layers))
    return speculator


class HalvesLinear(nn.Module):
    """A linear layer without bias, in bf16, for few rows of fp32 on a CPU.

    Args:
        linear: whose weights are rounded.

    Raises:
        RuntimeError: there is no compiled library here.
    """

    weight: torch.Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        found = library()
        if found is None:
            raise RuntimeError("16-bit layers need the compiled library")
        self._multiply = found.multiply_halves
        self.register_buffer("weight", linear.weight.detach().bfloat16().contiguous())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, width = self.weight.shape
        rows = x.reshape(-1, width).float().contiguous()
        if len(rows) > FEW:
            return nn.functional.linear(x, self.weight.to(x.dtype))
        y = torch.empty(len(rows), out)
        self._multiply(self.weight.data_ptr(), out, width, len(rows), rows.data_ptr(), y.data_ptr())
        return y.reshape(*x.shape[:-1], out).to(x.dtype)
