"""How runs, fates and waits are called in tables, charts and exported files: one place for wording.

The theater's sentences live with the theater. Everything a trace says about itself is untrusted
text; :func:`visible` makes it safe to print.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from amusd_viz.events import Side, Wait
from amusd_viz.protocol.messages import Fate
from amusd_viz.trace import Trace

METHODS = {
    "autoregressive": "autoregressive",
    "synchronous": "synchronous",
    "speculator": "speculator",
    "amusd": "AMUSD",
    "amusd+speculator": "AMUSD + speculator",
}
"""The methods, from the plainest on, by their name in a header; others are shown as they are."""

FATES = {
    Fate.ACCEPTED: "accepted",
    Fate.REJECTED: "rejected",
    Fate.AFTER_MISMATCH: "after the mismatch",
    Fate.NEVER_JUDGED: "never judged",
    Fate.CONTRADICTED: "contradicted",
    Fate.TOO_LATE: "too late",
    Fate.OVERTAKEN: "overtaken",
    Fate.UNFINISHED: "unfinished",
}

WAITS = {
    Wait.PROPOSALS: "waits for the draft",
    Wait.RUN_AHEAD_LIMIT: "waits for the target (run-ahead limit)",
    Wait.FIRST_COMMIT: "waits for the first commit",
    Wait.END_TOKEN: "waits after an end token",
    Wait.LENGTH_LIMIT: "waits at the last position",
    Wait.RESTING: "rests, as the target asked",
}

SIDES = {Side.DRAFT: "draft", Side.TARGET: "target"}


def run_names(traces: Sequence[Trace]) -> list[str]:
    """A short name for each run, different from all others: the method and what tells it apart."""
    short = [_method(trace) for trace in traces]
    names = [
        name if short.count(name) == 1 else _with_settings(name, trace)
        for name, trace in zip(short, traces, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name} #{names[:index].count(name) + 1}"
        for index, name in enumerate(names)
    ]


def labelled_names(traces: Sequence[Trace]) -> list[str]:
    """:func:`run_names` where simulated runs say so, for what has no other place to say it."""
    marks = {"simulated": " (simulated)", "measured": ""}
    names = run_names(traces)
    return [n + marks[t.header.source] for n, t in zip(names, traces, strict=True)]


def _method(trace: Trace) -> str:
    method = trace.header.method
    return METHODS.get(method, visible(method))


def _with_settings(name: str, trace: Trace) -> str:
    header = trace.header
    settings = [header.policy] if header.method.startswith("amusd") else []
    settings = [visible(s) for s in (*settings, header.run_ahead) if s]
    return f"{name}, {', '.join(settings)}" if settings else name


def counted(number: int, noun: str) -> str:
    """``1 token``, ``2 tokens``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def visible(text: str, limit: int = 60) -> str:
    """One line of printable text: control and format characters shown as ``⟨U+202E⟩``, spaces kept.

    Args:
        text: anything a trace contains.
        limit: longer text is cut to this many characters, with an ellipsis.
    """
    shown = [_visible_character(c) for c in text[: limit + 1]]
    return "".join(shown[: limit - 1]) + "…" if len(shown) > limit else "".join(shown)


def _visible_character(character: str) -> str:
    if character == "\n":
        return "⏎"
    if character == "\t":
        return "⇥"
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return f"⟨U+{ord(character):04X}⟩"
    return character
