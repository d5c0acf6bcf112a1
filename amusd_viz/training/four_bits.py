"""Learning on the 4-bit grid: a draft is trained with the weights it will run with.

Rounded afterwards, layers that were trained without a grid lose some of what they learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from amusd_viz.errors import SettingError
from amusd_viz.models.twin import GROUP, HEIGHT, quantise_4bit, weights_of_4bit


@contextmanager
def on_the_grid(module: nn.Module) -> Iterator[None]:
    """Rounds the weights of all linear layers to 4 bits, and puts the exact ones back at the end.

    Gradients computed inside belong to the rounded weights. An optimiser that applies them to the exact
    ones afterwards treats rounding as if it were no step at all (straight through), so that small
    changes add up until they reach the next level.
    """
    weights = [m.weight for m in module.modules() if isinstance(m, nn.Linear)]
    exact = [weight.data for weight in weights]
    try:
        for weight in weights:
            weight.data = _rounded(weight.data)
        yield
    finally:
        for weight, data in zip(weights, exact, strict=True):
            weight.data = data


def check_share(share: float | None) -> None:
    """Refuses a share of the way that is none.

    Raises:
        SettingError: it is not between 0 and 1.
    """
    if share is not None and not 0 <= share <= 1:
        raise SettingError(f"--four-bits-from {share} is no share of the way; give one from 0 to 1")


def check_fits(module: nn.Module) -> None:
    """Refuses layers that could be trained on the grid, but not run on it.

    Raises:
        SettingError: a layer's width is no multiple of 32, or its height none of 16.
    """
    for linear in module.modules():
        if isinstance(linear, nn.Linear) and (
            linear.in_features % GROUP or linear.out_features % HEIGHT
        ):
            raise SettingError(
                f"a layer of {linear.out_features} x {linear.in_features} cannot run in 4 bits, which "
                f"take multiples of {HEIGHT} x {GROUP}; leave out --four-bits-from"
            )


def _rounded(weight: torch.Tensor) -> torch.Tensor:
    levels, pairs = quantise_4bit(weight)
    return weights_of_4bit(levels, pairs.bfloat16())
