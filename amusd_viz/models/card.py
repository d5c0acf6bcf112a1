"""The card of a pair: what its models are, what they need, how well they agree."""

from __future__ import annotations

from html import escape

from amusd_viz.models.agreement import known_agreement
from amusd_viz.models.draft_card import card_of_shipped
from amusd_viz.models.hub_pairs import HUB_PAIRS
from amusd_viz.models.pairs import Pair

_TWIN_REMARK = {
    4: "The default target's file is itself on a 4-bit grid, which is why its 4-bit twin agrees so "
    "well; the twin of an ordinary checkpoint agrees less. The 8-bit twin does not depend on it.",
    8: "Eight bits are close to the original whatever the checkpoint.",
}


class Card:
    """A few lines about a pair, as text and as HTML."""

    def __init__(self, pair: Pair) -> None:
        self.title = f"Pair {pair.name}"
        found = known_agreement(pair.name)
        distilled = card_of_shipped(pair.name)
        if found:
            agreement = f"The draft {found.in_words()}."
        elif distilled:
            agreement = f"The draft {distilled.agreement_in_words()}."
        else:
            agreement = "Its agreement was not measured."
        self.lines = [
            ("target", f"{pair.target.name}: {pair.target.description}"),
            ("draft", f"{pair.draft.name}: {pair.draft.description}"),
            ("agreement", agreement),
            ("memory", f"about {pair.bytes_needed(4) / 1e9:.1f} GB in fp32, both workers"),
        ]
        if pair.name in HUB_PAIRS:
            self.lines.append(("needs", HUB_PAIRS[pair.name].needs))
        if pair.draft.folder == pair.target.folder and pair.draft.bits:
            self.lines.append(("note", _TWIN_REMARK[pair.draft.bits]))
        if distilled:
            self.lines += distilled.lines()

    def __repr__(self) -> str:
        return "\n".join([self.title, *(f"  {name:<10} {text}" for name, text in self.lines)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self.lines
        )
        return f"<table><caption>{escape(self.title)}</caption>{rows}</table>"
