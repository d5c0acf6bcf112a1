"""Which token a model takes: one rule for greedy decoding and sampling, for draft and target.

The token at a position is ``argmax(processed logits + noise(seed, position))``. The noise is zero
when greedy and Gumbel otherwise, drawn from a counter-based generator over (seed, position, token),
so it is the same in every process and on every device. A proposal is accepted iff it equals the
target's own choice, hence the output equals seeded autoregressive sampling exactly, whatever the
schedule (drafter-invariant coupling, arXiv 2408.07978).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch

from amusd_viz.events import Sampling
from amusd_viz.models.filters import filtered
from amusd_viz.models.native.library import BEST, Chances, library


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


def chances(scores: np.ndarray, token: int) -> Chances:
    """What is recorded of taking ``token`` by ``scores``, float32 of shape ``(vocabulary,)``.

    Probabilities are those of the distribution sampled from (of the plain softmax when greedy).
    """
    found = Chances()
    native = library()
    if native is not None:
        # Not scores.ctypes, which takes as long as all the rest.
        first = ctypes.byref(ctypes.c_float.from_buffer(scores))
        native.chances_of(first, len(scores), token, ctypes.byref(found))
        return found
    known = min(BEST, len(scores))
    least = np.partition(scores, -known)[-known]
    above = np.flatnonzero(scores >= least)
    top = above[np.argsort(-scores[above], kind="stable")][:known]
    weights = np.exp(scores - scores[top[0]], dtype=np.float64)
    weights /= weights.sum()
    found.taken, found.known = round(float(weights[token]), 5), known
    found.ids[:known] = top.tolist()
    found.probabilities[:known] = np.round(weights[top], 5).tolist()
    return found
