"""A target's hidden state as a speculator reads it: what the output layer read, and perhaps, behind it,
what one of the layers did.

The last state is made to name the next token. A state from further inside knows better what comes after
that; it is taken as the layer's own norm hands it on, so that nothing about it has to be stored.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from amusd_viz.errors import ModelError


def norm_before(model: nn.Module, layer: int) -> nn.Module:
    """The norm through which a layer, counted from 0, reads its input.

    Raises:
        ModelError: the model has no such layer, or is built of others than Llama's kind.
    """
    layers = getattr(model.get_decoder(), "layers", ())
    check_layer(layer, len(layers))
    norm = getattr(layers[layer], "input_layernorm", None)
    if norm is None:
        kind = type(layers[layer]).__name__
        raise ModelError(
            f"the speculator reads what layer {layer} of the target reads, and how a {kind} norms its "
            "input is not known here; use a speculator that reads the last state alone"
        )
    return norm


def check_layer(layer: int, layers: int) -> None:
    """Raises :class:`ModelError` where a target of so many ``layers`` has no such one."""
    if not 0 <= layer < layers:
        raise ModelError(
            f"the speculator reads what layer {layer} of the target reads, and the target's {layers} "
            "layers are counted from 0; it is a speculator of another target"
        )


def watch(
    head: nn.Module, norm: nn.Module | None, read: list[torch.Tensor]
) -> list[RemovableHandle]:
    """Has a pass append its states to ``read``, each ``(rows, width)``: the layer's, then the last.

    Args:
        head: the output layer.
        norm: of the layer; ``None`` for none.
        read: where they go until the hooks are removed.
    """

    def keep_last(_module: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
        read.append(given[0][0])

    def keep_inner(_module: nn.Module, _given: object, normed: torch.Tensor) -> None:
        read.append(normed[0])

    hooks = [head.register_forward_pre_hook(keep_last)]
    if norm is not None:
        hooks.append(norm.register_forward_hook(keep_inner))
    return hooks


def joined(read: list[torch.Tensor]) -> torch.Tensor:
    """One state for each row that the output layer read."""
    *inner, last = read
    return torch.cat([last, inner[0][-len(last) :]], dim=1) if inner else last
