"""The weights of a transformers model in the layout of ``llama.c``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import torch
from torch import nn

from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.library import Layer, Matrix, library
from amusd_viz.models.twin import GROUP, quantise_4bit


class Kind(IntEnum):
    """How the weights of a matrix are stored."""

    F32, BF16, Q8, Q4 = range(4)


KINDS = {"fp32": (Kind.F32, Kind.F32), "bf16": (Kind.BF16, Kind.BF16)}
"""By dtype: the kinds of layers and output layer."""
TWIN_KINDS = {4: (Kind.Q4, Kind.Q8), 8: (Kind.Q8, Kind.Q8)}
"""By the bits of a twin."""


def can_run(model: nn.Module) -> bool:
    """Whether ``llama.c`` computes what this model does, on this machine."""
    config = model.config.get_text_config()
    if getattr(config, "model_type", "") not in ("llama", "qwen2", "mistral"):
        return False
    size = head_size(config)
    return (
        next(model.parameters()).device.type == "cpu"
        and config.hidden_act == "silu"
        and not getattr(config, "mlp_bias", False)
        and all(n % GROUP == 0 for n in (config.hidden_size, config.intermediate_size))
        and config.num_attention_heads * size % GROUP == 0
        and size % 8 == 0
        and library() is not None
    )


@dataclass
class NativeWeights:
    """A model's weights, laid out once; shared by every cache that is used with them.

    Attributes:
        embedding: input embeddings, ``(vocabulary, hidden)``.
        rotary: gives the cosines and sines of positions; transformers' own module, so that every
            way of stretching positions is theirs.
        layers, norm, head, rough_head: what llama.c reads; what they point to lies in ``_arena``.
    """

    config: object
    embedding: torch.Tensor
    rotary: nn.Module
    layers: list[Layer]
    norm: int
    head: Matrix
    rough_head: Matrix
    vocabulary: int
    _arena: Arena

    @classmethod
    def of(
        cls, model: nn.Module, layers: Kind, head: Kind, *, last_in_8_bits: int = 0
    ) -> NativeWeights:
        """Packs a transformers model for which :func:`can_run` holds.

        Args:
            layers, head: how the weights of its layers and of its output layer are stored.
            last_in_8_bits: so many of the last layers are stored in 8 bits instead.
        """
        arena = Arena()
        output = model.get_output_embeddings()
        embedding = model.get_input_embeddings().weight.detach()
        packer = _Packer(arena)
        core = model.model
        coarse = len(core.layers) - last_in_8_bits
        return cls(
            config=model.config.get_text_config(),
            embedding=embedding.bfloat16() if head is not Kind.F32 else embedding.float(),
            rotary=core.rotary_emb,
            layers=[
                packer.layer(layer, Kind.Q8 if i >= coarse else layers)
                for i, layer in enumerate(core.layers)
            ],
            norm=packer.vector(core.norm.weight),
            head=packer.matrix([output], head),
            rough_head=packer.matrix([output], Kind.Q4) if layers is Kind.Q4 else Matrix(),
            vocabulary=output.weight.shape[0],
            _arena=arena,
        )


class _Packer:
    """Lays tensors out in an arena."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        found = library()
        assert found is not None, "llama.c was not compiled; ask can_run first"
        self._panel = found.panel_outputs()

    def layer(self, layer: nn.Module, kind: Kind) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        return Layer(
            qkv=self.matrix([attention.q_proj, attention.k_proj, attention.v_proj], kind),
            o=self.matrix([attention.o_proj], kind),
            gate_up=self.matrix([mlp.gate_proj, mlp.up_proj], kind),
            # Gated products have outliers, which a single byte for the others' scale would swallow.
            down=self.matrix([mlp.down_proj], kind, parts=2),
            attention_norm=self.vector(layer.input_layernorm.weight),
            mlp_norm=self.vector(layer.post_attention_layernorm.weight),
        )

    def matrix(self, linears: list[nn.Linear], kind: Kind, parts: int = 1) -> Matrix:
        """Several linear layers of one input as one matrix; low-bit ones read it in 7 bits a part."""
        weight = torch.cat([linear.weight.detach().float() for linear in linears])
        bias = None
        if any(linear.bias is not None for linear in linears):
            bias = torch.cat(
                [
                    torch.zeros(linear.out_features) if linear.bias is None else linear.bias.float()
                    for linear in linears
                ]
            )
        padding = -len(weight) % self._panel
        weight = nn.functional.pad(weight, (0, 0, 0, padding))
        packed = Matrix(kind=int(kind), parts=parts, out=weight.shape[0], columns=weight.shape[1])
        if bias is not None:
            packed.bias = self.vector(nn.functional.pad(bias, (0, padding)))
        if kind in (Kind.F32, Kind.BF16):
            panels = weight.view(-1, self._panel, weight.shape[1]).transpose(1, 2).contiguous()
            packed.weights = self.keep(_in_pairs(panels) if kind is Kind.BF16 else panels)
        elif kind is Kind.Q8:
            scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
            levels = (weight / scales[:, None]).round().to(torch.int8)
            packed.weights = self.keep(_blocks(levels))
            packed.scales = self.vector(scales)
        else:
            self._four_bits(weight, packed)
        return packed

    def _four_bits(self, weight: torch.Tensor, packed: Matrix) -> None:
        levels, pairs = quantise_4bit(weight)
        low, high = _blocks(levels.to(torch.uint8)).unflatten(1, (-1, 2)).unbind(2)
        packed.weights = self.keep(low | high << 4)
        scale, offset = pairs.unbind(-1)  # (groups, out)
        least = offset - 8 * scale
        packed.scales = self.keep(torch.stack([_by_eights(least), _by_eights(scale)], dim=-1))

    def vector(self, values: torch.Tensor) -> int:
        return self.keep(values.detach().float())

    def keep(self, tensor: torch.Tensor) -> int:
        return self._arena.keep(tensor).data_ptr()


def _in_pairs(panels: torch.Tensor) -> torch.Tensor:
    """``(panels, in, outputs)`` as bf16 of ``(panels, in, outputs / 2, 2)``: an output of the second half
    and one of the first share a word."""
    first, others = panels.bfloat16().unflatten(-1, (2, -1)).unbind(-2)
    return torch.stack([others, first], dim=-1)


def _blocks(levels: torch.Tensor) -> torch.Tensor:
    """``(out, in)`` as ``(out / 8, in / 4, 8, 4)``: four columns of eight outputs lie together."""
    return levels.view(len(levels) // 8, 8, -1, 4).transpose(1, 2).contiguous()


def _by_eights(of_groups: torch.Tensor) -> torch.Tensor:
    """``(groups, out)`` as bf16 of ``(out / 8, groups, 8)``."""
    return of_groups.view(len(of_groups), -1, 8).transpose(0, 1).bfloat16()


def head_size(config: object) -> int:
    """Width of one attention head."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
