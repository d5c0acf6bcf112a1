"""Learning on the 4-bit grid: a draft is trained with the weights it will run with.

Rounded afterwards, layers that were trained without a grid lose some of what they learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from amusd_viz.errors import SettingError
from amusd_viz.models.twin import GROUP, quantise_4bit, weights_of_4bit


@contextmanager
def on_the_grid(module: nn.Module) -> Iterator[None]:
    """Rounds the weights of all linear layers to 4 bits, and puts the exact ones back at the end.

    Gradients computed inside belong to the rounded weights. An optimiser that applies them to the exact
    ones afterwards treats rounding as if it were no step at all (straight through), so that small
    changes add up until they reach the next level.

    Raises:
        SettingError: a layer is no multiple of 32 wide.
    """
    weights = [m.weight for m in module.modules() if isinstance(m, nn.Linear)]
    for weight in weights:
        if weight.shape[1] % GROUP:
            raise SettingError(
                f"a layer that is {weight.shape[1]} wide cannot be trained in 4 bits, whose scales "
                f"hold for {GROUP} columns each; leave out --four-bits-from"
            )
    exact = [weight.data for weight in weights]
    try:
        for weight in weights:
            weight.data = _rounded(weight.data)
        yield
    finally:
        for weight, data in zip(weights, exact, strict=True):
            weight.data = data


def _rounded(weight: torch.Tensor) -> torch.Tensor:
    levels, pairs = quantise_4bit(weight)
    return weights_of_4bit(levels, pairs.bfloat16())
