"""A chain of a speculator's best tokens, drafted in C: between two passes of a target on a CPU every
call into torch costs as much as the arithmetic of a head."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from amusd_viz.models.drafting import Drafted, More, always
from amusd_viz.models.listed_embedding import ListedEmbedding
from amusd_viz.models.native.halves import HalvesLinear
from amusd_viz.models.native.library import library
from amusd_viz.models.speculator import EPSILON, Speculator
from amusd_viz.protocol import Tree


class ChainDrafter:
    """Drafts greedy chains as :func:`~amusd_viz.models.drafting.draft` does, up to rounding.

    Args:
        speculator: with layers in 16 bits; see :func:`~amusd_viz.models.native.halves.in_halves`.
    """

    def __init__(self, speculator: Speculator) -> None:
        found = library()
        assert found is not None, "16-bit layers need the compiled library"
        self._next_state, self._best_word = found.next_state, found.best_word
        self.speculator = speculator
        self._proj, self._head = list(speculator.proj), list(speculator.head)
        self._gains = [layer.weight.detach().float().numpy() for layer in speculator.ln]
        self._shifts = [layer.bias.detach().float().numpy() for layer in speculator.ln]
        self._listed = speculator.config.short_list
        room = max(layer.width for layer in (*self._proj, *self._head))
        self._states = np.zeros((2, room), dtype=np.float32)
        """The present state and the next one; the columns behind them stay zero."""
        self._logits = np.empty(speculator.config.words, dtype=np.float32)
        self._best = np.empty(1, dtype=np.int32)

    @torch.inference_mode()
    def draft(
        self,
        state: torch.Tensor,
        token: int,
        heads: int,
        *,
        given: Sequence[int] = (),
        more: More = always,
        clock: Callable[[], int] = lambda: 0,
    ) -> Drafted:
        """Proposes what follows ``token``, or ``given``; arguments as of ``drafting.draft``."""
        begun = self.speculator.begin(state.float())
        self._states[0, : len(begun)] = begun.numpy()
        drafted: list[int] = []
        chances: list[float] = []
        ends: list[int] = []
        for head in range(heads):
            if head >= len(given) and not more(chances):
                break
            self._advance(head, given[head - 1] if 0 < head <= len(given) else token)
            if head < len(given):
                continue
            token, chance = self._speak(head)
            drafted.append(token)
            chances.append(round(chance, 5))
            ends.append(clock())
        return Drafted(Tree.merge([tuple(drafted)]), tuple(chances), tuple(ends))

    def _advance(self, head: int, token: int) -> None:
        config = self.speculator.config
        copy = 0 if config.tie_weights else head
        layer = self._proj[min(head, 1) if config.tie_weights else head]
        embedding = self.speculator.emb[copy]
        listed = isinstance(embedding, ListedEmbedding)
        row = (embedding.row(token) if listed else embedding.weight[token]).float().numpy()
        now, then = self._states
        self._next_state(
            *(layer.packed.data_ptr(), layer.width, len(row), now.ctypes.data, row.ctypes.data),
            *(config.token_weight, self._gains[copy].ctypes.data),
            *(self._shifts[copy].ctypes.data, EPSILON, then.ctypes.data),
        )
        now[: len(row)] = then[: len(row)]
        now[len(row) :] = 0

    def _speak(self, head: int) -> tuple[int, float]:
        layer = self._head[0 if self.speculator.config.tie_weights else head]
        chance = self._best_word(
            *(layer.packed.data_ptr(), layer.width, len(layer.packed)),
            *(self._states[0].ctypes.data, self._logits.ctypes.data, self._best.ctypes.data),
        )
        column = int(self._best[0])
        return (self._listed[column] if self._listed else column), chance


def chain_drafter(speculator: Speculator) -> ChainDrafter | None:
    """A drafter in C, where the speculator has been prepared for it."""
    ready = all(isinstance(layer, HalvesLinear) for layer in speculator.head)
    return ChainDrafter(speculator) if ready else None
