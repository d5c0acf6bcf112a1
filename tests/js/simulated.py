"""Prints a simulated trace; settings are one JSON object on the command line."""

from __future__ import annotations

import json
import random
import sys

from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

MS = 1_000_000
PROSE = (
    "The sky looks blue because air mole|cules scatter short waves more strongly than long ones|, "
    "so blue light reaches our eyes from every direction|. At sun|set the light has to cross much "
    "more air|, most of the blue is scattered away|, and what remains is red and orange|. The same "
    "effect makes distant mount|ains look blue|ish|, and it is named after Lord Ray|leigh|."
)
OTHERS = ["of", "light", "very", "and", "the", "red", "quickly", "more", "in", "colour", "waves"]


def prose(tokens: int, agreement: float, seed: int) -> Text:
    """English of ``tokens`` tokens; the draft agrees with probability ``agreement`` at each."""
    pieces = [p for word in PROSE.split() for p in _pieces(word)]
    words = dict(enumerate(pieces, start=100)) | {900 + i: f" {w}" for i, w in enumerate(OTHERS)}
    draw = random.Random(seed)
    target = [100 + i % len(pieces) for i in range(tokens)]
    draft = [t if draw.random() < agreement else 900 + draw.randrange(len(OTHERS)) for t in target]
    heads = [t if draw.random() < 0.6 else 900 + draw.randrange(len(OTHERS)) for t in target]
    return Text(target, draft + [900] * 64, words, heads=heads)


def _pieces(word: str) -> list[str]:
    first, *rest = word.split("|")
    return [f" {first}", *rest]


def simulated(
    *,
    method: str = "amusd",
    tokens: int = 48,
    agreement: float = 0.82,
    seed: int = 3,
    draft: float = 14,
    target: float = 34,
    latency: float = 1,
    **others: object,
) -> Trace:
    """A simulated run; times in ms."""
    timing = Timing(
        draft=int(draft * MS),
        target=lambda k: int((target + 0.2 * k) * MS),
        latency_to_target=int(latency * MS),
        latency_to_draft=int(latency * MS),
        draft_prefill=int(1.5 * draft * MS),
        target_prefill=int(1.2 * target * MS),
        head=int(0.04 * target * MS),
    )
    text = prose(tokens, agreement, seed)
    return simulate(text, timing, method=method, max_new_tokens=tokens, **others)


if __name__ == "__main__":
    sys.stdout.buffer.write(simulated(**json.loads(sys.argv[1])).dumps())
