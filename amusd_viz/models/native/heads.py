"""A speculator's heads in C, one at a time: between two passes of a target on a CPU every call into torch
costs as much as the arithmetic of a head."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from amusd_viz.models.growing import Offer
from amusd_viz.models.listed_embedding import ListedEmbedding
from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.bytes import WIDEST, BytesLinear
from amusd_viz.models.native.halves import HalvesLinear
from amusd_viz.models.native.library import library
from amusd_viz.models.speculator import EPSILON, Speculator


class NativeHeads:
    """What :class:`amusd_viz.models.growing.Torch` does with plain scores, up to rounding.

    Args:
        speculator: with layers in few bits; see :func:`in_few_bits`.
    """

    def __init__(self, speculator: Speculator) -> None:
        found = library()
        assert found is not None, "layers in few bits need the compiled library"
        self._next_state, self._best_words = found.next_state, found.best_words
        self.config = speculator.config
        self._proj, self._head = list(speculator.proj), list(speculator.head)
        self._rows = [TokenRows(embedding) for embedding in speculator.emb]
        self._norms = [
            [part.detach().float().numpy() for part in (layer.weight, layer.bias)]
            for layer in speculator.ln
        ]
        # Columns behind a state stay zero.
        self._begun = np.zeros(self._proj[0].width, dtype=np.float32)
        self._logits = np.empty(self._head[0].rows, dtype=np.float32)

    def begin(self, state: torch.Tensor) -> np.ndarray:
        """Valid until another begins."""
        state = state.float().numpy()
        begun = self._begun[: len(state)]
        if self.config.scale_input:
            parts = state.reshape(-1, self.config.target_width)
            scale = np.sqrt(2 * (np.square(parts).mean(1, keepdims=True) + EPSILON))
            np.divide(parts, scale, out=begun.reshape(parts.shape))
        else:
            begun[:] = state
        return self._begun

    def advance(self, head: int, now: np.ndarray, token: int) -> np.ndarray:
        """What a head knows behind a state and a token."""
        copy, tied = self._copy(head), self.config.tie_weights
        layer, (gain, shift) = self._proj[min(head, 1) if tied else head], self._norms[copy]
        then = np.zeros(self._head[copy].width, dtype=np.float32)
        self._next_state(
            *(layer.packed.data_ptr(), layer.width, len(gain), _at(now)),
            *(self._rows[copy].address(token), self.config.token_weight),
            *(_at(gain), _at(shift), EPSILON, _at(then)),
        )
        return then

    def offers(self, head: int, now: np.ndarray, most: int) -> list[Offer]:
        """A head's best tokens, best first."""
        layer, listed = self._head[self._copy(head)], self.config.short_list
        most = min(most, self.config.words)
        columns, chances = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)
        self._best_words(
            *(layer.packed.data_ptr(), layer.scales.data_ptr(), layer.width, self.config.words),
            *(_at(now), most, _at(self._logits), layer.room.data_ptr(), _at(columns), _at(chances)),
        )
        return [
            Offer(listed[column] if listed else column, round(chance, 5), chance)
            for column, chance in zip(columns.tolist(), chances.tolist(), strict=True)
        ]

    def _copy(self, head: int) -> int:
        return 0 if self.config.tie_weights else head


class TokenRows:
    """Where the rows of an embedding lie.

    Args:
        embedding: of a speculator, in fp32.
    """

    def __init__(self, embedding: nn.Module) -> None:
        self._embedding = embedding
        listed = isinstance(embedding, ListedEmbedding)
        self._place = embedding.place.numpy() if listed else None
        own = (embedding.rows if listed else embedding.weight).detach()
        self._first, self._size = own.data_ptr(), own.stride(0) * own.element_size()
        self._other = np.empty(0, dtype=np.float32)

    def address(self, token: int) -> int:
        """Of the row of a token; valid until the next is asked for."""
        place = token if self._place is None else int(self._place[token])
        if place >= 0:
            return self._first + place * self._size
        self._other = self._embedding.row(token).numpy()
        return _at(self._other)


def _at(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def native_heads(speculator: Speculator) -> NativeHeads | None:
    """Its heads in C, where the speculator has been prepared for it."""
    ready = all(isinstance(layer, BytesLinear) for layer in speculator.head)
    return NativeHeads(speculator) if ready else None


def in_few_bits(speculator: Speculator) -> Speculator:
    """The same speculator with projections in 16 bits and output layers in 8 (in 16 where they are too
    wide for that), where there is the compiled library.

    What it proposes may differ where two tokens are nearly as likely; what is accepted never depends
    on it.
    """
    if library() is not None:
        arena = Arena()
        speculator.proj = nn.ModuleList(HalvesLinear(one, arena) for one in speculator.proj)
        kind = BytesLinear if speculator.config.inner_dim <= WIDEST else HalvesLinear
        speculator.head = nn.ModuleList(kind(one, arena) for one in speculator.head)
    return speculator
