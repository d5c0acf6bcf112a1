"""What a speculator's card says of it: how it fares on answers it has not learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.speculator import Speculator
from amusd_viz.models.speculator_check import known_answer
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.shards import Text
from amusd_viz.training.speculator_scores import ngram_scores, score

SETS = {"held_out": "hand-written prompts", "set_aside": "prompts like those of training"}
"""The two sets of greedy answers, by their names in a card."""
KNOWN = 64
"""Tokens of the answer by which a speculator is recognised."""
LONGEST = 512
"""Tokens of that answer and its prompt, at most."""


def judged(speculator: Speculator, sets: Mapping[str, Sequence[Text]]) -> dict[str, Any]:
    """What a card says of each of the :data:`SETS`; printed too. Empty where there is no text."""
    found: dict[str, Any] = {name: {} for name in SETS}
    for name, texts in sets.items():
        if not texts:
            continue
        scores = score(speculator, texts)
        print(
            f"{SETS[name]}: heads right {' '.join(f'{a:.3f}' for a in scores.heads)}; tokens a step: "
            f"chain {scores.chain:.2f} (with prompt lookup {scores.chain_with_lookup:.2f}), "
            f"{scores.candidates} candidates {scores.tree:.2f} ({scores.tree_with_lookup:.2f})"
        )
        found[name] = {"texts": len(texts), "decoding": "greedy"} | msgspec.to_builtins(scores)
    return found


def put_tables(
    found: dict[str, Any], table: NgramTable, sets: Mapping[str, Sequence[Text]], heads: int
) -> None:
    """Puts beside each set what a ``table`` of the text that was learnt from is worth; printed too."""
    for name, texts in sets.items():
        if texts:
            scores = ngram_scores(table, texts, heads)
            found[name]["ngram_table"] = msgspec.to_builtins(scores)
            print(
                f"{SETS[name]}, an n-gram table of the same text: right {scores.right:.3f}, "
                f"chain {scores.chain:.2f}"
            )


def told_of(card: Mapping[str, Any]) -> dict[str, Any]:
    """Of the card of a speculator that a training went on from: what it had learnt from, and how."""
    kept = ("trained", "positions", "texts", "plan", "begun_from")
    return {key: card[key] for key in kept if key in card}


def best_known(speculator: Speculator, lm: CausalLM, texts: Sequence[Text]) -> dict[str, Any]:
    """Of some held-out answers the one that the heads are right about most often."""
    asked = [(text.prompt.tolist(), text.tokens[:KNOWN].tolist()) for text in texts[:8]]
    answers = [
        known_answer(speculator, lm, prompt, answer)
        for prompt, answer in asked
        if speculator.config.n_predict < len(answer) and len(prompt) + len(answer) <= LONGEST
    ]
    return max(answers, key=lambda answer: sum(answer["right"]), default={})
