"""What the trained layers are told: the target's probabilities, and the state behind them.

The output layer is the target's and stays as it is, so a draft whose last state were the target's
would choose the target's tokens. A state of some hundred numbers says more than one token does: with
little text this is worth more than any other thing tried.
"""

from __future__ import annotations

import torch
from torch.nn import functional


def frequent_tokens(top_ids: torch.Tensor, count: int) -> torch.Tensor:
    """The ids that are most often among the target's best, ascending, at most ``count``."""
    seen = torch.bincount(top_ids.flatten().long())
    return seen.argsort(descending=True)[: min(count, int((seen > 0).sum()))].sort().values


class SoftLabelLoss:
    """Cross-entropy with the target's best tokens, plus the distance of the states.

    Args:
        head: weights of the output layer, ``(vocabulary, width)``.
        frequent: ids that every step's softmax runs over, next to that step's own best ones.
        state_weight: how much the distance counts.
    """

    def __init__(self, head: torch.Tensor, frequent: torch.Tensor, state_weight: float) -> None:
        self.head = head
        self.state_weight = state_weight
        self._frequent = torch.zeros(len(head), dtype=torch.bool)
        self._frequent[frequent] = True

    def __call__(
        self,
        states: torch.Tensor,
        wanted: torch.Tensor,
        top_ids: torch.Tensor,
        top_logprobs: torch.Tensor,
    ) -> torch.Tensor:
        """The mean loss over tokens.

        Args:
            states: what the draft's output layer would read, ``(tokens, width)``.
            wanted: what the target's read, alike.
            top_ids: the target's best tokens, ``(tokens, TOP)``.
            top_logprobs: their log-probabilities, alike.
        """
        among = self._frequent.clone()
        among[top_ids.long()] = True
        place = among.cumsum(0) - 1
        logprobs = functional.log_softmax(states @ self.head[among].T, dim=-1)
        ours = logprobs.gather(1, place[top_ids.long()])
        theirs = functional.softmax(top_logprobs.float(), dim=-1)
        cross_entropy = -(theirs * ours).sum(dim=-1).mean()
        wanted = wanted.float()
        off = (states - wanted).square().sum(dim=-1) / wanted.square().sum(dim=-1)
        return cross_entropy + self.state_weight * off.mean()
