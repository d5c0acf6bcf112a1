"""A causal language model on one device, with its KV cache: feed tokens, get logits, roll back."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from amusd_viz.models.graphed_pass import Compute, GraphedPass, PassInputs, capture_for
from amusd_viz.models.rollback_cache import Positions, rollback_cache
from amusd_viz.models.states import joined, norm_before, watch
from amusd_viz.protocol import plan_cache


class CausalLM:
    """One model, one sequence. Not safe for threads.

    Args:
        model: a transformers causal LM whose layers attend to everything before them.
        cache_length: entries of the KV cache; prompt, output and ``rows`` must fit.
        rows: every pass after the prefill is padded to this many rows, so that its shape, and with
            it every bit of its logits, does not depend on how many tokens are fed. ``None`` feeds
            exactly what is needed (the draft, whose last bit does not matter).
        state_layer: the layer whose normed input is part of :attr:`hidden`, from 0; ``None`` for none.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        cache_length: int,
        rows: int | None = None,
        state_layer: int | None = None,
    ) -> None:
        self.model = model
        self.rows = rows
        self.cache_length = cache_length
        self.device = next(model.parameters()).device
        self.tokens: list[int] = []
        """What the cache holds, in order."""
        self.hidden = torch.empty(0)
        """The states of the logits returned last, ``(rows, width)``: what the output layer read, and
        behind it what :attr:`state_layer` did."""
        self.state_layer = state_layer
        self._norm = None if state_layer is None else norm_before(model, state_layer)
        self._positions = Positions()
        self._cache = rollback_cache(
            model.config.get_text_config().num_hidden_layers, cache_length, self._positions
        )
        span = torch.arange(cache_length, device=self.device)
        self._span = span
        self._mask = (span[None, :] <= span[:, None])[None, None]
        self.capture = capture_for(self.device)
        self._graphed: Compute | None = None
        """The pass over :attr:`rows` rows, or one row of a draft, where it could be recorded."""

    def reset(self) -> None:
        """Forgets everything; the next call must be :meth:`prefill`."""
        self.tokens = []

    @torch.inference_mode()
    def prefill(self, prompt: Sequence[int]) -> torch.Tensor:
        """Feeds the prompt in one pass of its own shape; returns the logits after it, ``(V,)``."""
        self.tokens = []
        logits = self._forward(list(prompt), len(prompt), 1)[0]
        if self.capture:
            self._graphed, self.capture = self._recorded(prompt[-1]), None
        return logits

    @torch.inference_mode()
    def logits_after(self, prefix: Sequence[int], window: Sequence[int] = ()) -> torch.Tensor:
        """The logits after ``prefix`` and after each token of ``window``: ``(1 + len(window), V)``.

        Rolls the cache back to what it has in common with ``prefix`` and feeds the rest.
        """
        plan = plan_cache(self.tokens, prefix)
        del self.tokens[plan.keep :]
        feed = [*plan.feed, *window]
        wanted = 1 + len(window)
        if self.rows is None:
            return self._forward(feed, len(feed), wanted)
        assert wanted <= self.rows, f"{len(window)} proposals and a prefix exceed {self.rows} rows"
        while len(feed) > self.rows:
            ahead = min(self.rows, len(feed) - wanted)
            self._forward(feed[:ahead], self.rows, 1)
            del feed[:ahead]
        return self._forward(feed, self.rows, wanted)

    @torch.inference_mode()
    def logits_of_tree(
        self, prefix: Sequence[int], tokens: Sequence[int], parents: Sequence[int]
    ) -> torch.Tensor:
        """The logits after ``prefix`` and after each token of a tree: ``(1 + len(tokens), V)``.

        A token attends to the prefix, to those it follows and to itself, so its logits are those
        of a pass over its own path alone, up to the order of sums.

        Args:
            prefix: prompt and output so far.
            tokens: the tree's tokens, parents before their children.
            parents: for each, the index of its parent in ``tokens``, or -1 for the last token of
                ``prefix``.

        The cache then holds ``prefix`` only; :meth:`keep_path` adds the path that was taken.
        """
        plan = plan_cache(self.tokens, prefix)
        del self.tokens[plan.keep :]
        feed = list(plan.feed)
        rows = self.rows or len(feed) + len(tokens)
        assert len(tokens) < rows, f"{len(tokens)} proposals and a prefix exceed {rows} rows"
        while len(feed) + len(tokens) > rows:
            ahead = min(rows, len(feed) - 1)
            self._forward(feed[:ahead], rows, 1)
            del feed[:ahead]
        places, mask = self._tree_places(len(feed), parents, rows)
        logits = self._pass([*feed, *tokens], rows, 1 + len(tokens), places, mask)
        self.tokens += feed
        return logits

    @torch.inference_mode()
    def keep_path(self, tokens: Sequence[int], path: Sequence[int]) -> None:
        """Moves the nodes ``path`` of the last tree, with their ``tokens``, up to the prefix."""
        end = len(self.tokens)
        for place, node in enumerate(path):
            if node != place:
                for layer in self._cache.layers:
                    layer.keys[:, :, end + place] = layer.keys[:, :, end + node]
                    layer.values[:, :, end + place] = layer.values[:, :, end + node]
        self.tokens += tokens

    def _tree_places(
        self, lead: int, parents: Sequence[int], rows: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Positions in the text and the attention mask of a tree behind ``lead`` tokens."""
        start = len(self.tokens)
        root = start + lead
        places = list(range(start, start + rows))
        mask = self._mask[:, :, start : start + rows].clone()
        for node, parent in enumerate(parents):
            places[lead + node] = places[lead + parent] + 1 if parent >= 0 else root
            mask[0, 0, lead + node] = mask[0, 0, lead + parent if parent >= 0 else lead - 1]
            mask[0, 0, lead + node, root + node] = True
        return torch.tensor(places, device=self.device), mask

    def _forward(self, feed: list[int], rows: int, wanted: int) -> torch.Tensor:
        """One pass over ``feed`` padded to ``rows``; the logits of its last ``wanted`` tokens."""
        start = len(self.tokens)
        assert start + rows <= self.cache_length, "the cache is too short for this pass"
        places, mask = self._span[start : start + rows], self._mask[:, :, start : start + rows]
        logits = self._pass(feed, rows, wanted, places, mask)
        self.tokens += feed
        return logits

    def _pass(
        self, feed: list[int], rows: int, wanted: int, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        start = len(self.tokens)
        padded = feed + [feed[-1]] * (rows - len(feed))
        inputs = self._inputs(padded, start, places, mask)
        if rows != (self.rows or 1):
            # A pass of its own shape, such as a prefill, needs only the last logits.
            logits, self.hidden = self._compute(inputs, wanted)
            return logits
        logits, states = (self._graphed or self._compute)(inputs)
        kept = slice(len(feed) - wanted, len(feed))
        self.hidden = states[kept]
        return logits[kept]

    def _inputs(
        self, padded: list[int], start: int, places: torch.Tensor, mask: torch.Tensor
    ) -> PassInputs:
        self._positions.length = start
        ids = torch.tensor([padded], device=self.device)
        return PassInputs(ids, places[None], self._span[start : start + len(padded)], mask)

    def _compute(self, inputs: PassInputs, wanted: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the last ``wanted`` rows (0: of all), and the states they come from."""
        self._positions.rows = inputs.entries
        read: list[torch.Tensor] = []
        hooks = watch(self.model.get_output_embeddings(), self._norm, read)
        try:
            output = self.model(
                input_ids=inputs.ids,
                position_ids=inputs.places,
                attention_mask=inputs.mask,
                cache=self._cache,
                use_cache=True,
                logits_to_keep=wanted,
            )
        finally:
            for hook in hooks:
                hook.remove()
        return output.logits[0], joined(read)

    def _recorded(self, token: int) -> Compute | None:
        """The pass of fixed shape as a graph, if that computes the same here.

        What it writes lies behind the pointer, like the padding of any pass.
        """
        assert self.capture is not None
        rows, start = self.rows or 1, len(self.tokens)
        if start + 1 + rows > self.cache_length:
            return None
        # Two places, so that nothing of the first is taken for a constant.
        tried = [
            (place, self._span[place : place + rows], self._mask[:, :, place : place + rows])
            for place in (start, start + 1)
        ]
        try:
            example = self._inputs([token] * rows, *tried[0])
            graphed = GraphedPass(self._compute, example, self.capture)
        except RuntimeError:
            return None
        same = all(
            graphed.agrees(self._compute, self._inputs([token] * rows, *where)) for where in tried
        )
        return graphed if same else None
