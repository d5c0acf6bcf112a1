"""A causal language model on one device, with its KV cache: feed tokens, get logits, roll back."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from amusd_viz.models.rollback_cache import Positions, rollback_cache
from amusd_viz.protocol import plan_cache


class CausalLM:
    """One model, one sequence. Not safe for threads.

    Args:
        model: a transformers causal LM whose layers attend to everything before them.
        cache_length: entries of the KV cache; prompt, output and ``rows`` must fit.
        rows: every pass after the prefill is padded to this many rows, so that its shape, and with
            it every bit of its logits, does not depend on how many tokens are fed. ``None`` feeds
            exactly what is needed (the draft, whose last bit does not matter).
    """

    def __init__(self, model: torch.nn.Module, cache_length: int, rows: int | None = None) -> None:
        self.model = model
        self.rows = rows
        self.cache_length = cache_length
        self.device = next(model.parameters()).device
        self.tokens: list[int] = []
        """What the cache holds, in order."""
        self._positions = Positions()
        self._cache = rollback_cache(
            model.config.get_text_config().num_hidden_layers, cache_length, self._positions
        )
        span = torch.arange(cache_length, device=self.device)
        self._span = span
        self._mask = (span[None, :] <= span[:, None])[None, None]

    def reset(self) -> None:
        """Forgets everything; the next call must be :meth:`prefill`."""
        self.tokens = []

    @torch.inference_mode()
    def prefill(self, prompt: Sequence[int]) -> torch.Tensor:
        """Feeds the prompt in one pass of its own shape; returns the logits after it, ``(V,)``."""
        self.tokens = []
        return self._forward(list(prompt), len(prompt), 1)[0]

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

    def _forward(self, feed: list[int], rows: int, wanted: int) -> torch.Tensor:
        """One pass over ``feed`` padded to ``rows``; the logits of its last ``wanted`` tokens."""
        start = len(self.tokens)
        assert start + rows <= self.cache_length, "the cache is too short for this pass"
        padded = feed + [feed[-1]] * (rows - len(feed))
        self._positions.length = start
        self._positions.rows = self._span[start : start + rows]
        output = self.model(
            input_ids=torch.tensor([padded], device=self.device),
            position_ids=self._positions.rows[None],
            attention_mask=self._mask[:, :, start : start + rows],
            cache=self._cache,
            use_cache=True,
            # The head runs over all rows of a fixed shape; a prefill needs only its last one.
            logits_to_keep=0 if rows == self.rows else wanted,
        )
        self.tokens += feed
        logits = output.logits[0]
        return logits[len(feed) - wanted : len(feed)] if len(logits) == rows else logits
