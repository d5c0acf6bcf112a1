"""Which token a model takes: one rule for greedy decoding and sampling, for draft and target.

The token at a position is ``argmax(processed logits + noise(seed, position))``. The noise is zero
when greedy and Gumbel otherwise, drawn from a counter-based generator over (seed, position, token),
so it is the same in every process and on every device. A proposal is accepted iff it equals the
target's own choice, hence the output equals seeded autoregressive sampling exactly, whatever the
schedule (drafter-invariant coupling, arXiv 2408.07978).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from amusd_viz.events import Sampling
from amusd_viz.models.filters import filtered
from amusd_viz.models.native.library import library


@lru_cache(maxsize=64)
def gumbel_noise(seed: int, position: int, vocabulary: int) -> np.ndarray:
    """Gumbel noise for one output position, float64 of shape ``(vocabulary,)``.

    A larger vocabulary (padding) only appends values: token ids keep their noise.
    """
    counter = np.array([0, position, 0, 0], dtype=np.uint64)
    uniform = np.random.Generator(np.random.Philox(key=seed, counter=counter)).random(vocabulary)
    uniform += 2.0**-54  # random() may give an exact 0
    np.log(uniform, out=uniform)
    np.negative(uniform, out=uniform)
    np.log(uniform, out=uniform)
    return np.negative(uniform, out=uniform)


class TokenChooser:
    """Chooses tokens from logits rows and tells the probabilities behind a choice.

    Args:
        sampling: temperature, filters, penalty and seed of the run.
        vocabulary: number of real token ids; logits of padding ids beyond it are cut off.
    """

    def __init__(self, sampling: Sampling, vocabulary: int) -> None:
        self.sampling = sampling
        self.vocabulary = vocabulary
        self.greedy = sampling.temperature == 0

    def processed(self, logits: torch.Tensor, prefix: Sequence[int]) -> np.ndarray:
        """The scores behind a choice, float32 of shape ``(vocabulary,)``.

        Args:
            logits: one row of a forward pass, shape ``(padded vocabulary,)``, on any device.
            prefix: all tokens before the position, prompt included.
        """
        row = logits[: self.vocabulary].float().cpu()
        return filtered(row, prefix, self.sampling).numpy()

    def choose(self, scores: np.ndarray, position: int) -> int:
        """The token at output ``position``, from processed ``scores``; ties go to the lowest id."""
        if self.greedy:
            return int(scores.argmax())
        noise = gumbel_noise(self.sampling.seed, position, self.vocabulary)
        return int((scores.astype(np.float64) + noise).argmax())


BEST = 5
"""How many candidates of a position are recorded."""


class Chances(NamedTuple):
    """What is recorded of a choice, as it was computed; made into plain numbers when there is time.

    Attributes:
        ids: of the best scores, int32 of shape ``(up to BEST,)``; of equal ones the first.
        probabilities: theirs, then that of the token taken; float64, to five digits.
    """

    ids: np.ndarray
    probabilities: np.ndarray

    @property
    def taken(self) -> float:
        """The probability of the token taken."""
        return float(self.probabilities[-1])

    def candidates(self) -> list[tuple[int, float]]:
        """The best ids with their probabilities."""
        return list(zip(self.ids.tolist(), self.probabilities.tolist(), strict=False))


def chances(scores: np.ndarray, token: int) -> Chances:
    """What is recorded of taking ``token`` by ``scores``.

    Probabilities are those of the distribution sampled from (of the plain softmax when greedy).
    """
    native = library()
    most = min(BEST, len(scores))
    if native is not None and scores.dtype == np.float32 and scores.flags.c_contiguous:
        found = Chances(np.empty(most, np.int32), np.empty(most + 1))
        ids, probabilities = (part.ctypes.data for part in found)
        native.chances(scores.ctypes.data, len(scores), most, token, ids, probabilities)
        return found
    least = np.partition(scores, -most)[-most]
    above = np.flatnonzero(scores >= least)
    top = above[np.argsort(-scores[above], kind="stable")][:most]
    weights = np.exp(scores - scores[top[0]], dtype=np.float64)
    return Chances(top, np.round(weights[[*top, token]] / weights.sum(), 5))


def best_candidates(scores: np.ndarray, token: int) -> tuple[float, list[tuple[int, float]]]:
    """The probability of ``token``, and the best ids with theirs: :func:`chances`, read out."""
    found = chances(scores, token)
    return found.taken, found.candidates()
