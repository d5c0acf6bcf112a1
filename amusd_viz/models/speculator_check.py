"""Is this the right speculator, and all of it? A wrong one runs without complaint and is never right.

A card keeps a short answer of the target and how often each head was right about it. On loading the
target reads the answer again, in one pass, and the heads are counted anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from amusd_viz.errors import ModelError
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.speculator import Speculator

LEAST = 0.7
"""Share of the card's right tokens that must be found again; numbers of another precision cost a few."""


def known_answer(
    speculator: Speculator, lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int]
) -> dict[str, Any]:
    """What a card keeps: prompt and answer, and how many tokens each head is right about."""
    return {
        "prompt": list(prompt),
        "answer": list(answer),
        "right": right_tokens(speculator, lm, prompt, answer),
    }


@torch.inference_mode()
def right_tokens(
    speculator: Speculator, lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int]
) -> list[int]:
    """Of how many tokens of ``answer`` each head's best is the right one, given those before it."""
    heads = speculator.config.n_predict
    states = _states(lm, prompt, answer)[:-heads].to(next(speculator.parameters()))
    tokens = torch.tensor(answer, device=states.device)
    given = torch.stack([tokens[i : len(tokens) - heads + i] for i in range(heads)], dim=-1)
    right = []
    for head, logits in enumerate(speculator.each_head(states, given)):
        best = speculator.token_ids(logits.argmax(-1))
        wanted = tokens[head + 1 : len(tokens) - heads + head + 1]
        right.append(int((best == wanted).sum()))
    return right


def _states(lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int]) -> torch.Tensor:
    """What the output layer reads to choose each token of ``answer``, ``(tokens, width)``."""
    lm.reset()
    size = lm.rows or len(answer)
    states = []
    for start in range(0, len(answer), size):
        window = answer[start : start + size - 1]
        count = len(lm.logits_after([*prompt, *answer[:start]], window))
        states.append(lm.hidden[-count:].clone())
    return torch.cat(states)[: len(answer)]


def check_speculator(
    speculator: Speculator, lm: LanguageModel, card: dict[str, Any], name: str
) -> None:
    """Compares with the card; a checkpoint without one passes.

    Raises:
        ModelError: the heads are right far less often than the card says.
    """
    known = card.get("known_answer")
    if not known:
        return
    found = right_tokens(speculator, lm, known["prompt"], known["answer"])
    if sum(found) < LEAST * sum(known["right"]):
        raise ModelError(
            f"the speculator {name} was right about {sum(known['right'])} tokens of a known answer when "
            f"it was trained and is about {sum(found)} now: it is of another target, or damaged"
        )
