"""How often a draft would write the target's own next token: measured, kept on the pair's card.

The target decodes prompts greedily; the draft reads the same texts in one pass each, and its choice
at every position is compared with the target's. Run it with

    python -m amusd_viz.models.agreement --pair twin
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
from rich.progress import track

from amusd_viz.command import run_command
from amusd_viz.models.pairs import DEFAULT_PAIR, Pair, resolve_pair
from amusd_viz.models.tokens import Tokens
from amusd_viz.paths import assets

PROMPTS = (
    "Describe how a glacier moves.",
    "Write a Python function that merges two sorted lists.",
    "Tell a short story about two rival bakers.",
    "What should a beginner know about composting?",
    "Write an e-mail that moves a meeting from Monday to Wednesday.",
    "Explain supply and demand to a child.",
    "Correct this sentence: him and me goes to the market yesterday.",
    "Name three inventions from ancient China and what they changed.",
    "How do submarines dive and surface?",
    "Write a dialogue between a teacher and a student about homework.",
    "What is 14 times 12? Explain each step.",
    "List the ingredients of a Greek salad and how to put it together.",
)


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """A measured agreement: ``agreed`` of ``tokens`` positions, over ``prompts`` prompts."""

    pair: str
    agreed: int
    tokens: int
    prompts: int
    dtype: str
    torch: str
    measured: str

    @property
    def rate(self) -> float:
        return self.agreed / self.tokens

    def in_words(self) -> str:
        """One sentence with a 95 % interval."""
        how = f"{self.prompts} prompts, greedy, target in {self.dtype}"
        return rate_in_words(self.agreed, self.tokens, how)


def rate_in_words(agreed: int, positions: int, how: str) -> str:
    """How often a draft agrees, with a 95 % interval (Wilson) and in a few words how it was measured."""
    low, high = wilson_interval(agreed, positions)
    return (
        f"agrees with the target at {agreed / positions:.1%} of {positions} positions "
        f"(95 % interval {low:.1%} to {high:.1%}; {how})"
    )


def wilson_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a rate."""
    rate, square = successes / trials, z * z / trials
    middle = (rate + square / 2) / (1 + square)
    half = z * ((rate * (1 - rate) + z * z / (4 * trials)) / trials) ** 0.5 / (1 + square)
    return middle - half, middle + half


def measure_agreement(
    pair: Pair,
    *,
    tokens: int = 64,
    dtype: str | None = None,
    prompts: Sequence[str] = PROMPTS,
) -> Agreement:
    """Decodes ``prompts`` with the target and compares the draft's choices."""
    from amusd_viz.models.kernels import load

    texts = Tokens(pair.target.folder)
    target_model = load(pair.target, dtype=dtype)
    target = target_model.with_cache(512)
    draft = load(pair.draft, dtype=dtype).with_cache(512)
    agreed = total = 0
    for prompt in track(prompts, description=f"Agreement of {pair.name}"):
        ids = texts.encode(prompt)
        output = [int(target.prefill(ids)[: texts.vocabulary].argmax())]
        while len(output) < tokens and output[-1] not in texts.end_tokens:
            row = target.logits_after([*ids, *output])[0]
            output.append(int(row[: texts.vocabulary].argmax()))
        draft.reset()
        rows = draft.logits_after(ids, output[:-1])[:, : texts.vocabulary]
        agreed += sum(a == b for a, b in zip(rows.argmax(-1).tolist(), output, strict=True))
        total += len(output)
    return Agreement(
        pair=pair.name,
        agreed=agreed,
        tokens=total,
        prompts=len(prompts),
        dtype=target_model.dtype,
        torch=version("torch"),
        measured=datetime.now(UTC).date().isoformat(),
    )


def card_file(pair: str) -> Path:
    """Where the measured agreement of a named pair lies."""
    return assets("cards", f"{pair}.json")


def known_agreement(pair: str) -> Agreement | None:
    """The measured agreement of a named pair, if it was measured."""
    file = card_file(pair)
    return msgspec.json.decode(file.read_bytes(), type=Agreement) if file.is_file() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", default=DEFAULT_PAIR)
    parser.add_argument("--tokens", type=int, default=64, help="of each prompt's output")
    options = parser.parse_args()
    found = measure_agreement(resolve_pair(options.pair), tokens=options.tokens)
    file = card_file(options.pair)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    print(found.in_words())


if __name__ == "__main__":
    run_command("agreement", main)
