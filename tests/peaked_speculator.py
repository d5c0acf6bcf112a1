"""A speculator of eleven words in which no two paths tie, and the probabilities it gives them."""

from __future__ import annotations

import math

import torch

from amusd_viz.models.speculator import Speculator, SpeculatorConfig

WORDS = 11
STATE = torch.tensor([0.3, -1.0, 2.0, 0.5, -0.2, 1.1])


def peaked_speculator() -> Speculator:
    """With three tied heads and random weights."""
    config = SpeculatorConfig(
        emb_dim=6, inner_dim=8, vocab_size=WORDS, n_predict=3, tie_weights=True, scale_input=True
    )
    made = Speculator(config).initialise(torch.Generator().manual_seed(5)).requires_grad_(False)
    made.head[0].weight.mul_(3)
    return made.eval()


def reach(speculator: Speculator, token: int, path: tuple[int, ...]) -> float:
    """The probability of a path behind ``token``, by the teacher-forced pass."""
    given = torch.tensor([token, *path[:-1]])
    chances = speculator(STATE, given).softmax(-1)
    return math.prod(float(chances[place, word]) for place, word in enumerate(path))
