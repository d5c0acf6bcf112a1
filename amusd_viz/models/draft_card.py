"""What is known about a distilled draft: how it was made, what was tried, how often it is right."""

from __future__ import annotations

from pathlib import Path

import msgspec

from amusd_viz.models.agreement import rate_in_words
from amusd_viz.paths import shipped_draft

Counts = dict[str, tuple[int, int]]
"""By kind of prompt, and for ``all``: positions agreed on with the target, and positions."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a training's curve."""

    step: int
    tokens: int
    """Trained on so far, repeated ones included."""
    loss: float
    """Mean since the last point."""
    agreed: Counts

    @property
    def rate(self) -> float:
        return rate(self.agreed)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A draft that was tried.

    Attributes:
        borrowed, trained: its layers.
        bridge: whether there is one more between them (:mod:`amusd_viz.training.bridge`).
        tokens: trained on, repeated ones included.
        agreed: on the held-out prompts, as it runs (4 bits where it borrows, ``bits`` where it was
            trained).
        step: its step as a share of the target's one-row pass, each alone on a core; ``None`` if not
            measured.
        predicted: speed-up over autoregressive decoding that follows from both and the measured cost
            of wider passes, with AMUSD and the best of a few policies.
    """

    name: str
    borrowed: int
    trained: int
    tokens: int
    agreed: Counts
    bridge: bool = False
    bits: int = 8
    step: float | None = None
    predicted: float | None = None


class DraftCard(msgspec.Struct, frozen=True, kw_only=True):
    """The card of a distilled draft; it lies beside the draft's file.

    Attributes:
        bridge: whether a layer lies between the borrowed and the trained ones.
        bits: of the weights of its own layers.
        generated: tokens of the target's that were learnt from.
        texts: answers they came from.
        prompts: held-out prompts it was judged by, greedy.
        agreed: how it did.
        floor: how a table of what followed the last three tokens did, made of the same text.
        curve: training tokens against agreement.
        candidates: what was tried, this one among them.
    """

    name: str
    target: str
    borrowed: int
    trained: int
    generated: int
    texts: int
    prompts: int
    agreed: Counts
    floor: Counts
    curve: list[Judgement]
    candidates: list[Candidate]
    torch: str
    measured: str
    bridge: bool = False
    bits: int = 8

    def agreement_in_words(self) -> str:
        """One sentence with a 95 % interval."""
        return rate_in_words(*self.agreed["all"], f"{self.prompts} held-out prompts, greedy")

    def lines(self) -> list[tuple[str, str]]:
        """Name and text of what the pair's card says about it."""
        kinds = [kind for kind in self.agreed if kind != "all"]
        curve = ", ".join(f"{point.tokens:,}: {point.rate:.1%}" for point in self.curve)
        read = self.curve[-1].tokens / self.generated if self.curve and self.generated else 0
        return [
            (
                "layers",
                f"{self.borrowed} of the target's as they are, {'a bridge and ' * self.bridge}"
                f"{self.trained} trained on "
                f"{self.generated:,} tokens that the target wrote ({self.texts:,} answers), which run "
                f"in {self.bits} bits",
            ),
            ("by kind", ", ".join(f"{kind} {rate(self.agreed, kind):.1%}" for kind in kinds)),
            (
                "floor",
                f"a table of what followed the last three tokens in the same text: "
                f"{rate(self.floor):.1%}",
            ),
            (
                "curve",
                f"training tokens ({read:.1f} readings of that text) and agreement: {curve}",
            ),
            *(("tried", _tried(candidate)) for candidate in self.candidates),
        ]


def rate(agreed: Counts, kind: str = "all") -> float:
    """The share of positions agreed on."""
    right, total = agreed[kind]
    return right / total


def card_of_shipped(name: str) -> DraftCard | None:
    """The card of a draft that comes with the package, if it has one."""
    file = shipped_draft(name)
    return read_card(file) if file and card_beside(file).is_file() else None


def card_beside(draft: Path) -> Path:
    """Where the card of a draft's file lies."""
    return draft.with_suffix(".json")


def read_card(draft: Path) -> DraftCard:
    """The card beside a draft's file."""
    return msgspec.json.decode(card_beside(draft).read_bytes(), type=DraftCard)


def _tried(candidate: Candidate) -> str:
    text = (
        f"{candidate.borrowed} + {'1 + ' * candidate.bridge}{candidate.trained} layers "
        f"in {candidate.bits} bits, {candidate.tokens:,} tokens: agrees "
        f"{rate(candidate.agreed):.1%}"
    )
    if candidate.step is not None:
        text += f", a step {candidate.step:.2f} of the target's pass"
    if candidate.predicted is not None:
        text += f", {candidate.predicted:.2f} times plain decoding predicted"
    return text
