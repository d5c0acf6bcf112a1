"""What a token/embedding speculator is trained on: the target's states and the tokens that followed.

From the state ``z`` of which the target chose token ``x[t]``, head ``i`` is to predict ``x[t + 1 + i]``,
given ``x[t]`` to ``x[t + i]``. No head predicts ``x[t]`` itself: the target has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import nn

from amusd_viz.training.shards import Text

NOTHING = -100
"""The label where a text ends before a head's token."""


@dataclass(frozen=True)
class Batch:
    """Some positions, for ``n`` heads.

    Attributes:
        states: the target's, ``(rows, width)``; those of a layer too where they were put in.
        given: the tokens each head is given, ``(rows, n)``.
        labels: ids the heads are to predict, ``(rows, n)``; :data:`NOTHING` behind the text's end.
        top_ids, top_logprobs: the target's best tokens in place of each label, ``(rows, n, TOP)``.
    """

    states: torch.Tensor
    given: torch.Tensor
    labels: torch.Tensor
    top_ids: torch.Tensor
    top_logprobs: torch.Tensor


class Rows:
    """All positions of some texts, end to end.

    Args:
        texts: with the states their tokens were chosen from.
    """

    def __init__(self, texts: Iterable[Text]) -> None:
        texts = list(texts)
        self.tokens = torch.cat([t.tokens for t in texts]).long()
        self.states = torch.cat([t.final for t in texts])
        self.top_ids = torch.cat([t.top_ids for t in texts])
        self.top_logprobs = torch.cat([t.top_logprobs for t in texts])
        lengths = torch.tensor([len(t.tokens) for t in texts])
        starts = lengths.cumsum(0) - lengths
        places = torch.arange(len(self.tokens))
        self.left = torch.repeat_interleave(starts + lengths, lengths) - places - 1
        """How many tokens follow each one in its text."""
        self.starts = starts
        self.lengths = lengths

    def __len__(self) -> int:
        return len(self.tokens)

    def usable(self) -> torch.Tensor:
        """The positions that at least the first head has a label for."""
        return (self.left > 0).nonzero().flatten()

    def batch(self, rows: torch.Tensor, heads: int) -> Batch:
        """The rows of positions, for so many heads."""
        ahead = torch.arange(1, heads + 1)
        there = ahead <= self.left[rows][:, None]
        places = (rows[:, None] + ahead).clamp_max(len(self) - 1)
        labels = self.tokens[places].masked_fill(~there, NOTHING)
        given = self.tokens[(rows[:, None] + ahead - 1).clamp_max(len(self) - 1)]
        return Batch(
            self.states[rows].float(),
            given,
            labels,
            self.top_ids[places].long(),
            self.top_logprobs[places].float(),
        )

    def frequent_tokens(self, count: int, always: Iterable[int] = ()) -> tuple[int, ...]:
        """The tokens to be expected most often, ascending, those of ``always`` among them.

        What came is counted, and what the target held probable: a short text lacks many a word that
        the target would have chosen in the next one.
        """
        ids = torch.cat([self.tokens, self.top_ids.flatten().long()])
        chances = self.top_logprobs.flatten().double().exp()
        expected = torch.bincount(ids, torch.cat([torch.ones(len(self.tokens)), chances]))
        kept = set(always)
        for token in expected.argsort(descending=True, stable=True).tolist():
            if len(kept) >= count or not expected[token]:
                break
            kept.add(token)
        return tuple(sorted(kept))


@torch.no_grad()
def with_layer_state(text: Text, norm: nn.Module) -> Text:
    """The text with what a layer read behind each state, as its ``norm`` hands it on.

    Args:
        text: with the states before that layer in ``tap``.
        norm: of the layer (:func:`~amusd_viz.models.states.norm_before`).
    """
    assert text.tap is not None, "read the shard with its tap"
    inner = norm(text.tap[len(text.prompt) - 1 :].float())
    return replace(text, final=torch.cat([text.final, inner.half()], dim=1), tap=None)


def disagreement(rows: Rows, head: torch.Tensor, at: torch.Tensor) -> int:
    """At how many of the positions ``at`` the output layer's best on the state is not the stored best.

    The cheapest test there is of an off-by-one between states and tokens; a handful of ties in 16 bits
    may differ.

    Args:
        head: weights of the target's output layer, ``(V, width)``.
    """
    wrong, width = 0, head.shape[1]
    for chunk in at.split(512):
        best = (rows.states[chunk, :width].to(head) @ head.T).argmax(-1)
        wrong += int((best != rows.top_ids[chunk, 0].long()).sum())
    return wrong
