"""What sampling does to a row of logits: the results of transformers' processors, bit for bit, sooner.

transformers sorts the whole vocabulary to find the likeliest tokens that hold a probability of p
together. Here the likeliest few hundred are looked at, which nearly always hold that much; where
rounding could decide about a token the sorted way is gone after all, so the kept set is the same.
The order of the steps is that of ``generate``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from amusd_viz.events import Sampling

LOOKED_AT = (32, 512, 4096)
"""How many of the likeliest tokens are tried, one after the other."""
UNCLEAR = 2e-5
"""How near the mass a sum must come for rounding to decide: over three times what was seen of the
rounding of float32 sums over 200,000 words that are all alike, the worst case."""
_NEVER = -float("inf")


def filtered(row: torch.Tensor, prefix: Sequence[int], sampling: Sampling) -> torch.Tensor:
    """The scores behind a choice.

    Args:
        row: logits of one position, float32 of shape ``(vocabulary,)`` on the CPU; not changed.
        prefix: all tokens before the position, prompt included.
        sampling: what to apply. When greedy, the repetition penalty alone.
    """
    if sampling.repetition_penalty != 1:
        row = penalised(row, prefix, sampling.repetition_penalty)
    if sampling.temperature == 0:
        return row
    if sampling.temperature != 1:
        row = row / float(sampling.temperature)
    if sampling.top_k:
        row = keep_top_k(row, sampling.top_k)
    if sampling.top_p < 1:
        row = keep_top_p(row, sampling.top_p)
    if sampling.min_p:
        row = keep_min_p(row, sampling.min_p)
    return row


def penalised(row: torch.Tensor, prefix: Sequence[int], penalty: float) -> torch.Tensor:
    """Tokens of the prefix made less likely: positive logits divided, negative multiplied."""
    ids = torch.tensor([i for i in set(prefix) if i < len(row)], dtype=torch.long)
    scores = row[ids]
    row = row.clone()
    row[ids] = torch.where(scores < 0, scores * penalty, scores / penalty)
    return row


def keep_top_k(row: torch.Tensor, count: int) -> torch.Tensor:
    """The ``count`` likeliest tokens, and those as likely as the last of them."""
    least = torch.topk(row, min(count, len(row))).values[-1]
    return row.masked_fill(row < least, _NEVER)


def keep_min_p(row: torch.Tensor, share: float) -> torch.Tensor:
    """The tokens at least ``share`` times as likely as the likeliest."""
    chances = torch.softmax(row, -1)
    return row.masked_fill(chances < share * chances.amax(), _NEVER)


def keep_top_p(row: torch.Tensor, mass: float) -> torch.Tensor:
    """The fewest likeliest tokens whose probabilities add up to ``mass`` at least."""
    least = _least_kept(row, mass)
    if least is None:
        return _keep_top_p_sorted(row, mass)
    return row.masked_fill(row < least, _NEVER)


def _least_kept(row: torch.Tensor, mass: float) -> torch.Tensor | None:
    """The smallest score that is kept; ``None`` where rounding or a tie could decide."""
    highest = row.max()
    whole = torch.exp(row - highest).sum(dtype=torch.float64)
    for count in LOOKED_AT:
        if count >= len(row):
            return None
        best = torch.topk(row, count).values
        held = torch.cumsum(torch.exp((best - highest).double()), 0) / whole
        if held[-1] > mass + UNCLEAR:
            break
    else:
        return None
    # A token is kept if those before it do not hold the mass; the first one always is.
    kept = 1 + int((held[:-1] < mass).sum())
    before_last = held[kept - 2] if kept > 1 else -1.0
    clear = before_last < mass - UNCLEAR and held[kept - 1] > mass + UNCLEAR
    if not clear or best[kept - 1] == best[min(kept, count - 1)]:
        return None
    return best[kept - 1]


def _keep_top_p_sorted(row: torch.Tensor, mass: float) -> torch.Tensor:
    """As transformers' processor does it."""
    ascending, order = torch.sort(row, descending=False)
    removed = ascending.softmax(-1).cumsum(-1) <= (1 - mass)
    removed[-1:] = False
    return row.masked_fill(removed.scatter(0, order, removed), _NEVER)
