"""A causal language model that runs in C, with its KV cache: feed tokens, get logits, roll back.

The same face as :class:`amusd_viz.models.causal_lm.CausalLM`. Its rows do not depend on each
other's number, so every pass feeds exactly what is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

from amusd_viz.models.native.arena import Arena
from amusd_viz.models.native.library import Layer, Model, library
from amusd_viz.models.native.weights import NativeWeights, head_size
from amusd_viz.models.states import check_layer
from amusd_viz.protocol import plan_cache

BLOCK = 32
"""Slots whose keys lie together (llama.c); the cache ends at a multiple of it."""


class NativeLM:
    """One model, one sequence. Not safe for threads.

    Args:
        weights: the model.
        cache_length: entries of the KV cache; prompt, output and a window must fit.
        rows: the most rows of a window, or ``None``; a limit only, since rows are never padded.
        threads: cores that work on a pass.
        state_layer: the layer whose normed input is part of :attr:`hidden`, from 0; ``None`` for none.
    """

    def __init__(
        self,
        weights: NativeWeights,
        cache_length: int,
        rows: int | None = None,
        threads: int = 1,
        state_layer: int | None = None,
    ) -> None:
        if state_layer is not None:
            check_layer(state_layer, len(weights.layers))
        found = library()
        assert found is not None, "llama.c was not compiled; ask can_run first"
        self._library = found
        self.weights = weights
        self.rows = rows
        self.cache_length = cache_length
        self.tokens: list[int] = []
        """What the cache holds, in order."""
        self.hidden: torch.Tensor = torch.empty(0)
        """The states of the rows of the last pass, ``(rows, width)``: what the output layer read, and
        behind it what :attr:`state_layer` did."""
        self.state_layer = state_layer
        self._slots = -(-cache_length // BLOCK) * BLOCK
        self._cosines, self._sines = self._rotations()
        self._cache = Arena()
        self._model = self._assembled(threads)

    def reset(self) -> None:
        """Forgets everything; the next call must be :meth:`prefill`."""
        self.tokens = []

    def prefill(self, prompt: Sequence[int]) -> torch.Tensor:
        """Feeds the prompt in one pass; returns the logits after it, ``(V,)``."""
        self.tokens = []
        return self._forward(list(prompt), 1)[0]

    def logits_after(self, prefix: Sequence[int], window: Sequence[int] = ()) -> torch.Tensor:
        """The logits after ``prefix`` and after each token of ``window``: ``(1 + len(window), V)``.

        Rolls the cache back to what it has in common with ``prefix`` and feeds the rest.
        """
        plan = plan_cache(self.tokens, prefix)
        del self.tokens[plan.keep :]
        return self._forward([*plan.feed, *window], 1 + len(window))

    def logits_of_tree(
        self, prefix: Sequence[int], tokens: Sequence[int], parents: Sequence[int]
    ) -> torch.Tensor:
        """The logits after ``prefix`` and after each token of a tree: ``(1 + len(tokens), V)``.

        Args:
            tokens: the tree's tokens, parents before their children.
            parents: for each, the index of its parent in ``tokens``, or -1 for the last token of
                ``prefix``.

        The cache then holds ``prefix`` only; :meth:`keep_path` adds the branch that was taken.
        """
        plan = plan_cache(self.tokens, prefix)
        del self.tokens[plan.keep :]
        lead = len(plan.feed)
        feed = [*plan.feed, *tokens]
        rows = [i - 1 for i in range(lead)] + [lead + p if p >= 0 else lead - 1 for p in parents]
        depth: list[int] = []
        for parent in rows:
            depth.append(depth[parent] + 1 if parent >= 0 else 0)
        start = len(self.tokens)
        logits = self._pass(feed, [start + d for d in depth], rows, lead - 1)
        self.tokens += plan.feed
        return logits

    def keep_path(self, tokens: Sequence[int], path: Sequence[int]) -> None:
        """Keeps the nodes ``path`` of the last tree, with their ``tokens``, in the cache."""
        end = len(self.tokens)
        for place, node in enumerate(path):
            if node != place:
                self._library.move_slot(ctypes.byref(self._model), end + node, end + place)
        self.tokens += tokens

    def _forward(self, feed: list[int], wanted: int) -> torch.Tensor:
        """One pass over ``feed``; the logits of its last ``wanted`` tokens."""
        start = len(self.tokens)
        positions = list(range(start, start + len(feed)))
        logits = self._pass(feed, positions, None, len(feed) - wanted)
        self.tokens += feed
        return logits

    def _pass(
        self, feed: list[int], positions: list[int], parents: list[int] | None, first: int
    ) -> torch.Tensor:
        start, rows = len(self.tokens), len(feed)
        assert start + rows <= self.cache_length, "the cache is too short for this pass"
        states = self.weights.embedding[torch.tensor(feed)].float()
        logits = torch.empty(rows - first, self._model.head.out)
        inside = torch.empty(0 if self.state_layer is None else rows, states.shape[1])
        numbers = ctypes.c_int32 * rows
        failed = self._library.forward(
            ctypes.byref(self._model),
            rows,
            states.data_ptr(),
            numbers(*positions),
            None if parents is None else numbers(*parents),
            start,
            first,
            logits.data_ptr(),
            inside.data_ptr(),
        )
        if failed:
            raise MemoryError(f"no memory for a pass of {rows} rows")
        self.hidden = states if self.state_layer is None else torch.cat([states, inside], dim=1)
        return logits[:, : self.weights.vocabulary]

    def _rotations(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines of every position, ``(cache_length, head size)`` each."""
        like = torch.zeros(1, dtype=torch.float32)
        places = torch.arange(self.cache_length)[None]
        with torch.no_grad():
            cosines, sines = self.weights.rotary(like, places)
        return cosines[0].float().contiguous(), sines[0].float().contiguous()

    def _assembled(self, threads: int) -> Model:
        config = self.weights.config
        size = head_size(config)
        shape = (config.num_key_value_heads, self._slots, size)
        layers = (Layer * len(self.weights.layers))(*self.weights.layers)
        for layer in layers:
            layer.keys = self._cache.empty(shape, torch.float32).data_ptr()
            layer.values = self._cache.empty(shape, torch.float32).data_ptr()
        return Model(
            layers=len(layers),
            hidden=config.hidden_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_size=size,
            inner=config.intermediate_size,
            slots=self._slots,
            threads=threads,
            state_layer=-1 if self.state_layer is None else self.state_layer,
            epsilon=config.rms_norm_eps,
            layer=layers,
            norm=self.weights.norm,
            head=self.weights.head,
            rough_head=self.weights.rough_head,
            cosines=self._cosines.data_ptr(),
            sines=self._sines.data_ptr(),
        )
