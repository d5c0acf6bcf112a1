"""How often a draft in the making would write the target's next token, on prompts it never saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from amusd_viz.training.held_out import HELD_OUT
from amusd_viz.training.shards import Text

Guess = Callable[[Text], torch.Tensor]
"""From a text to a guess of each of its tokens, given those before it: ids, ``(tokens,)``."""


def kind_of(index: int) -> str:
    """The kind of a held-out prompt by its number."""
    for kind, prompts in HELD_OUT.items():
        if index < len(prompts):
            return kind
        index -= len(prompts)
    raise IndexError(index)


def agreement_by_kind(texts: Sequence[Text], guess: Guess) -> dict[str, tuple[int, int]]:
    """For each kind, and for ``"all"``: positions at which a guess is right, and positions."""
    found = {kind: [0, 0] for kind in ("all", *HELD_OUT)}
    for text in texts:
        right = int((guess(text) == text.tokens).sum())
        for kind in ("all", kind_of(text.index)):
            found[kind][0] += right
            found[kind][1] += len(text.tokens)
    return {kind: (right, total) for kind, (right, total) in found.items() if total}


@torch.inference_mode()
def tail_guess(tail: torch.nn.Module, head: torch.Tensor, text: Text) -> torch.Tensor:
    """The guesses of trained layers on top of borrowed ones."""
    (states,) = tail([text.tap])
    return (states[len(text.prompt) - 1 :] @ head.T).argmax(dim=-1)
