"""The floor: a table of what followed the last few tokens in the same text, and nothing learnt."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import torch

from amusd_viz.training.shards import Text


class NgramTable:
    """The most frequent next token after the last 3, 2, 1 or 0 tokens; the longest that was seen."""

    LONGEST = 3

    def __init__(self, texts: Iterable[Text]) -> None:
        counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for text in texts:
            ids = [*text.prompt.tolist(), *text.tokens.tolist()]
            for at in range(len(text.prompt), len(ids)):
                for length in range(self.LONGEST + 1):
                    counts[tuple(ids[at - length : at])][ids[at]] += 1
        self._next = {before: after.most_common(1)[0][0] for before, after in counts.items()}

    def guess(self, text: Text) -> torch.Tensor:
        """A guess of each token of an answer, given those before it: ids, ``(tokens,)``."""
        ids = [*text.prompt.tolist(), *text.tokens.tolist()]
        return torch.tensor([self.after(ids[:at]) for at in range(len(text.prompt), len(ids))])

    def after(self, ids: list[int]) -> int:
        """The guess of the token after ``ids``."""
        for length in range(self.LONGEST, -1, -1):
            found = self._next.get(tuple(ids[len(ids) - length :]))
            if found is not None:
                return found
        return 0
