"""Linear layers whose weights are kept and read in 8 bits, each row with a scale of its own."""

from __future__ import annotations

import torch
from torch import nn

from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.library import library

FEW = 16
"""Rows up to which reading the weights is most of the work."""
ROWS, COLUMNS = 4, 16
"""Of a packed piece; the matrix is filled up with zeros to whole ones."""
WIDEST = 3000
"""Columns whose sum of products fits 32 bits."""


class BytesLinear(nn.Module):
    """A linear layer without bias, in 8 bits, for few rows of fp32 on a CPU.

    Args:
        linear: whose weights are rounded; up to :data:`WIDEST` inputs.
        arena: where they are kept.

    Raises:
        RuntimeError: there is no compiled library here.
    """

    def __init__(self, linear: nn.Linear, arena: Arena) -> None:
        super().__init__()
        found = library()
        if found is None:
            raise RuntimeError("8-bit layers need the compiled library")
        assert linear.in_features <= WIDEST, f"{linear.in_features} inputs are more than {WIDEST}"
        self._multiply = found.multiply_bytes
        weight = linear.weight.detach().float()
        self.shape = tuple(weight.shape)
        scales = weight.abs().amax(1).clamp_min(1e-12) / 127
        rounded = (weight / scales[:, None]).round().to(torch.int8)
        out, columns = self.shape
        filled = nn.functional.pad(rounded, (0, -columns % COLUMNS, 0, -out % ROWS))
        self.width = filled.shape[1]
        """Columns of the packed matrix."""
        pieces = filled.unflatten(1, (-1, COLUMNS)).unflatten(0, (-1, ROWS)).transpose(1, 2)
        self.packed = arena.keep(pieces)
        """``(out / 4, width / 16, 4, 16)``: pieces of four rows are one stream."""
        self.scales = nn.functional.pad(scales, (0, -out % ROWS))
        self.room = torch.empty(self.width, dtype=torch.int16)
        """Of one row's inputs, rounded."""

    @property
    def rows(self) -> int:
        """Of the packed matrix."""
        return len(self.scales)

    @property
    def weight(self) -> torch.Tensor:
        """What the rounded weights stand for, ``(out, in)``."""
        out, columns = self.shape
        rounded = self.packed.transpose(1, 2).reshape(self.rows, self.width)
        return rounded[:out, :columns].float() * self.scales[:out, None]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, columns = self.shape
        rows = x.reshape(-1, columns).float()
        if len(rows) > FEW:
            return nn.functional.linear(x, self.weight.to(x.dtype))
        rows = nn.functional.pad(rows, (0, self.width - columns)).contiguous()
        y = torch.empty(len(rows), self.rows)
        self._multiply(
            *(self.packed.data_ptr(), self.scales.data_ptr(), self.rows, self.width),
            *(len(rows), rows.data_ptr(), y.data_ptr(), self.room.data_ptr()),
        )
        return y[:, :out].reshape(*x.shape[:-1], out).to(x.dtype)
