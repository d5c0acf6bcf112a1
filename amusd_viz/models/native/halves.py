"""Linear layers whose weights are kept and read in 16 bits: half of the memory, and of the time."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.library import library

FEW = 16
"""Rows up to which reading the weights is most of the work."""
TOGETHER = 16
"""Columns that are packed into eight words."""


class HalvesLinear(nn.Module):
    """A linear layer without bias, in bf16, for few rows of fp32 on a CPU.

    Args:
        linear: whose weights are rounded.
        arena: where they are kept.

    Raises:
        RuntimeError: there is no compiled library here.
    """

    def __init__(self, linear: nn.Linear, arena: Arena) -> None:
        super().__init__()
        found = library()
        if found is None:
            raise RuntimeError("16-bit layers need the compiled library")
        self._multiply = found.multiply_halves
        self.weight = nn.Parameter(linear.weight.detach().bfloat16(), requires_grad=False)
        self.packed = arena.keep(packed(self.weight))

    @property
    def width(self) -> int:
        """Columns of the packed matrix: those of the layer, and zeros."""
        return 2 * self.packed.shape[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, columns = self.weight.shape
        rows = x.reshape(-1, columns).float()
        if len(rows) > FEW:
            return nn.functional.linear(x, self.weight.to(x.dtype))
        rows = nn.functional.pad(rows, (0, self.width - columns)).contiguous()
        y = torch.empty(len(rows), out)
        self._multiply(
            self.packed.data_ptr(), out, self.width, len(rows), rows.data_ptr(), y.data_ptr()
        )
        return y.reshape(*x.shape[:-1], out).to(x.dtype)


def packed(weight: torch.Tensor) -> torch.Tensor:
    """The words of a bf16 matrix as halves.c reads them, ``(out, columns / 2)``."""
    missing = -weight.shape[1] % TOGETHER
    bits = nn.functional.pad(weight, (0, missing)).contiguous().view(torch.int16).cpu().numpy()
    halves = bits.view(np.uint16).astype(np.uint32).reshape(len(bits), -1, 2, TOGETHER // 2)
    words = halves[:, :, 0] << 16 | halves[:, :, 1]
    return torch.from_numpy(words.reshape(len(bits), -1).view(np.int32))
