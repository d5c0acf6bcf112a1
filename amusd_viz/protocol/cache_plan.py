"""KV arithmetic: what to keep of a cache and what to feed, on either side, after anything happened.

With N prompt tokens and L >= 1 committed tokens a cache holds N + L - 1 entries between forwards:
the last token has not been fed yet, because feeding it gives the next choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class CachePlan(NamedTuple):
    """Keep the first ``keep`` entries of the cache, then feed ``feed`` (never empty)."""

    keep: int
    feed: tuple[int, ...]


def plan_cache(cached: Sequence[int], wanted: Sequence[int]) -> CachePlan:
    """How to get from a cache over the tokens ``cached`` to the logits after ``wanted``.

    Args:
        cached: the tokens fed so far, in order.
        wanted: prompt and output so far, not empty; the logits after its last token are wanted.

    Returns:
        The longest usable prefix and the rest. At least the last token is always fed again, since
        logits are not kept.
    """
    assert wanted, "nothing to feed"
    most = min(len(cached), len(wanted) - 1)
    keep = (
        most if list(cached[:most]) == list(wanted[:most]) else _common_prefix(cached, wanted, most)
    )
    return CachePlan(keep, tuple(wanted[keep:]))


def _common_prefix(a: Sequence[int], b: Sequence[int], most: int) -> int:
    for i in range(most):
        if a[i] != b[i]:
            return i
    return most
