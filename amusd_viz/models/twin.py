"""The twin: a draft made of the target's own weights, rounded to 4 or 8 bits when it is loaded.

On a CPU with compiled kernels it runs in C (``native/``), elsewhere through torch's built-in low-bit
kernels. The 4-bit twin of the default target agrees as often as the 8-bit one, about .95 of the time,
*because that file's weights are already on a 4-bit grid*; an ordinary checkpoint's would lose more.
"""

from __future__ import annotations

import torch
from torch import nn

from amusd_viz.errors import PairError

GROUP = 32
"""Columns that share one 4-bit scale and offset; the grid of Q4_1 files."""
HEIGHT = 16
"""A multiple of so many rows is what 4-bit kernels take."""


class Int4Linear(nn.Module):
    """A linear layer with 4-bit weights, one scale and offset for each 32 columns."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        levels, scales_and_offsets = quantise_4bit(linear.weight.detach().float())
        self.scales_and_offsets = scales_and_offsets.bfloat16().to(linear.weight.device)
        self.bias = linear.bias
        self.out_features = linear.out_features
        if linear.weight.is_cuda:
            pairs = (levels[:, ::2] << 4 | levels[:, 1::2]).to(torch.uint8)
            tiles = next(t for t in (8, 4, 2) if linear.in_features % (16 * t) == 0)
            self.packed = torch.ops.aten._convert_weight_to_int4pack(pairs, tiles)
            self._multiply = torch.ops.aten._weight_int4pack_mm
        else:
            self.packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels, 1)
            self._multiply = torch.ops.aten._weight_int4pack_mm_for_cpu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        y = self._multiply(flat, self.packed, GROUP, self.scales_and_offsets)
        y = y if self.bias is None else y + self.bias
        return y.view(*x.shape[:-1], self.out_features)


class Int8Linear(nn.Module):
    """A linear layer with 8-bit weights, one scale for each row (CPU)."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
        self.weight = (weight / scales[:, None]).round().to(torch.int8)
        self.scales = scales.bfloat16()
        self.bias = linear.bias
        self.out_features = linear.out_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        y = torch.ops.aten._weight_int8pack_mm(flat, self.weight, self.scales)
        y = y if self.bias is None else y + self.bias
        return y.view(*x.shape[:-1], self.out_features)


def quantise_4bit(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rounds to 16 evenly spaced levels between the least and the greatest weight of each group.

    Args:
        weight: shape ``(out, in)``, ``in`` a multiple of 32.

    Returns:
        Levels 0..15, int32 of shape ``(out, in)``; and ``(in / 32, out, 2)`` of scale and offset,
        in the convention of torch's kernels: ``weight = (level - 8) * scale + offset``.
    """
    groups = weight.view(weight.shape[0], -1, GROUP)
    low, high = groups.amin(dim=-1, keepdim=True), groups.amax(dim=-1, keepdim=True)
    scale = (high - low).clamp_min(1e-12) / 15
    levels = ((groups - low) / scale).round().clamp(0, 15).to(torch.int32)
    pairs = torch.cat([scale, low + 8 * scale], dim=-1)
    return levels.view_as(weight), pairs.transpose(0, 1).contiguous()


def weights_of_4bit(levels: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """The weights that levels and pairs of :func:`quantise_4bit` stand for, fp32 ``(out, in)``."""
    scale, offset = pairs.float().transpose(0, 1).unsqueeze(-1).unbind(-2)
    grouped = levels.view(levels.shape[0], -1, GROUP)
    return ((grouped - 8) * scale + offset).view(levels.shape)


def make_twin(model: nn.Module, bits: int, *, last_in_8_bits: int = 0) -> nn.Module:
    """Replaces every linear layer by a low-bit one, in place, and returns the model in bf16.

    Args:
        model: a transformers causal LM.
        bits: 4 (layers in 4 bits, the output layer in 8) or 8 (everything in 8).
        last_in_8_bits: so many of the last layers are in 8 bits all the same.

    Raises:
        PairError: a layer whose width the kernels cannot take.
    """
    head = model.get_output_embeddings()
    linears = [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear)]
    if not any(m is not head for _, m in linears):
        raise PairError(
            f"{type(model).__name__} has no linear layers that could be rounded to {bits} bits; "
            "name a draft model instead of 'twin'"
        )
    layers = model.get_decoder().layers
    finer = {id(m) for layer in layers[len(layers) - last_in_8_bits :] for m in layer.modules()}
    for name, linear in linears:
        eight = linear is head or id(linear) in finer
        _replace(model, name, _low_bit(name, linear, bits=8 if eight else bits))
    return model.bfloat16()


def _low_bit(name: str, linear: nn.Linear, bits: int) -> nn.Module:
    if bits == 8:
        # torch has no 8-bit kernel of this kind for CUDA; 16 bits are exact enough there.
        return linear if linear.weight.is_cuda else Int8Linear(linear)
    if linear.in_features % GROUP or linear.out_features % HEIGHT:
        raise PairError(
            f"layer {name} is {linear.out_features} x {linear.in_features}; a 4-bit twin needs a "
            f"width that is a multiple of {GROUP} and a height that is one of {HEIGHT}. Use an 8-bit twin."
        )
    return Int4Linear(linear)


def _replace(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, module)
