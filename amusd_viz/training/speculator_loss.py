"""What the heads are told: the token that came, and optionally how probable the target held others.

The paper's loss is the sum over heads of the mean cross-entropy with hard labels. Soft labels put the
target's own probabilities of its best tokens in their place.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from amusd_viz.models.speculator import Speculator
from amusd_viz.training.speculator_rows import NOTHING, Batch


class HeadLosses:
    """The loss of every head.

    Args:
        speculator: whose heads; a label outside its short list teaches nothing.
        soft: how much of the loss soft labels are, 0 to 1.
    """

    def __init__(self, speculator: Speculator, soft: float = 0.0) -> None:
        config = speculator.config
        self.soft = soft
        listed = range(config.vocab_size) if config.short_list is None else config.short_list
        self.column = torch.full((config.vocab_size,), NOTHING)
        self.column[torch.tensor(listed)] = torch.arange(len(listed))

    def __call__(self, head: int, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        """The mean loss of one head over the rows it has a label for.

        Args:
            logits: of the head, ``(rows, words)``.
        """
        labels = batch.labels[:, head]
        there = labels != NOTHING
        columns = torch.where(there, self.column[labels.clamp_min(0)], labels)
        logprobs = logits.float().log_softmax(-1)
        # Mean over what is there: the sum, since a batch may hold no label for the last heads.
        hard = functional.nll_loss(logprobs, columns, ignore_index=NOTHING, reduction="sum")
        loss = (1 - self.soft) * hard / (columns != NOTHING).sum().clamp_min(1)
        if self.soft:
            loss = loss + self.soft * self._soft(head, logprobs[there], batch, there)
        return loss

    def _soft(
        self, head: int, logprobs: torch.Tensor, batch: Batch, there: torch.Tensor
    ) -> torch.Tensor:
        columns = self.column[batch.top_ids[there, head]]
        known = columns != NOTHING
        ours = logprobs.gather(1, columns.clamp_min(0)).masked_fill(~known, 0)
        theirs = batch.top_logprobs[there, head].exp()
        return -(theirs * ours).sum() / there.sum().clamp_min(1)
