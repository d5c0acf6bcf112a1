"""Rows of words that learn together: what is rare profits from what is frequent.

A word that comes a dozen times in the text teaches its own row of an embedding or an output layer little.
The target's row says what the word is like, so besides its own change every row gets what one matrix,
which all of them train, makes of the target's row. When training ends the sum is what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.utils import parametrize

from amusd_viz.models.speculator import Speculator


class SharedChange(nn.Module):
    """Adds ``target_rows @ matrix`` to rows; the matrix begins as zero.

    Args:
        target_rows: the target's embedding of the same words, ``(words, width)``.
    """

    target_rows: torch.Tensor

    def __init__(self, target_rows: torch.Tensor) -> None:
        super().__init__()
        width = target_rows.shape[1]
        # Of the size of fresh rows, so that the matrix learns as quickly as they do.
        rows = target_rows.float() * (width**-0.5 / target_rows.float().std())
        self.register_buffer("target_rows", rows, persistent=False)
        self.matrix = nn.Parameter(torch.zeros(width, width))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows + self.target_rows @ self.matrix


def share_rows(speculator: Speculator, embedding: torch.Tensor) -> None:
    """Lets the listed words of a compact speculator learn together from now on.

    Args:
        embedding: the target's, ``(vocabulary, width)``.
    """
    assert speculator.short_list is not None, (
        "only a speculator with a short list has rows to share"
    )
    rows = embedding[speculator.short_list]
    for module, name in _shared(speculator):
        parametrize.register_parametrization(module, name, SharedChange(rows))


def keep_sums(speculator: Speculator) -> None:
    """Ends that: the rows stay what they have become."""
    for module, name in _shared(speculator):
        parametrize.remove_parametrizations(module, name)


@contextmanager
def sums_made_once() -> Iterator[None]:
    """Within it, rows that learn together are added up once, however often they are used."""
    with parametrize.cached():
        yield


def _shared(speculator: Speculator) -> list[tuple[nn.Module, str]]:
    return [(speculator.emb[0], "rows"), (speculator.head[0], "weight")]
