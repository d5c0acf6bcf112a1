"""A KV cache of one fixed length whose rollback moves a pointer.

Fixed shapes are what makes verification bit-exact: every forward pass attends over the same number
of entries, so windows of any size give the logits of plain decoding. Stale entries behind the
pointer are masked, and overwritten before anything attends to them.
"""

from __future__ import annotations

import torch
from transformers import Cache
from transformers.cache_utils import StaticLayer


class RollbackLayer(StaticLayer):
    """The keys and values of one layer, shape ``(1, heads, length, head size)`` each."""

    def __init__(self, length: int, positions: Positions) -> None:
        super().__init__(max_cache_len=length)
        self._positions = positions

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys.index_copy_(2, self._positions.rows, key_states)
        self.values.index_copy_(2, self._positions.rows, value_states)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return self._positions.length

    def crop(self, tokens_to_remove: int) -> None:
        raise NotImplementedError("move Positions instead: all layers share one pointer")


class Positions:
    """Where the next rows go: one pointer shared by all layers.

    Attributes:
        length: number of valid entries.
        rows: cache positions of the rows being fed, shape ``(rows,)``.
    """

    def __init__(self) -> None:
        self.length = 0
        self.rows = torch.empty(0, dtype=torch.long)


def rollback_cache(layers: int, length: int, positions: Positions) -> Cache:
    """A cache of ``layers`` layers and ``length`` entries that share ``positions``."""
    return Cache(layers=[RollbackLayer(length, positions) for _ in range(layers)])
