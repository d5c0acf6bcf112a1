"""Linear layers whose weights are laid out once for passes of a few rows (oneDNN, CPU, fp32).

A general matrix product arranges its weights anew in every pass, which for eight rows costs more
than the product itself: the output layer of the default target takes 26 ms instead of 62, on a core
with AVX2. Many rows are bound by arithmetic instead; there, a CPU that multiplies bf16 by itself is twice
as quick with ``halved`` layers.
"""

from __future__ import annotations

import torch
from torch import nn


def can_pack(model: nn.Module) -> bool:
    """Whether this machine and the model's numbers have the kernel."""
    weight = next(model.parameters())
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    )


def multiplies_halves() -> bool:
    """Whether this CPU has instructions for sums of products of bf16 numbers."""
    has = getattr(torch.cpu, "get_capabilities", dict)()
    return any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


class PackedLinear(nn.Module):
    """A linear layer for inference.

    Args:
        linear: that it takes the place of.
        rows: usual height of its input.
        halved: whether weights and input are rounded to bf16; sums and output stay fp32.
    """

    def __init__(self, linear: nn.Linear, rows: int, *, halved: bool = False) -> None:
        super().__init__()
        self.dtype = torch.bfloat16 if halved else torch.float32
        weight = linear.weight.detach().to(self.dtype)
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
        self.bias = None if linear.bias is None else linear.bias.detach().to(self.dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(self.dtype)
        product = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
        return product.float()


def pack_linears(model: nn.Module, rows: int, *, halved: bool = False) -> nn.Module:
    """Replaces every linear layer by a packed one, in place, and returns the model.

    Args:
        rows: usual height of a pass.
        halved: as of :class:`PackedLinear`, for all but the output layer.
    """
    head = model.get_output_embeddings()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                packed = PackedLinear(child, rows, halved=halved and child is not head)
                setattr(module, name, packed)
    return model
