"""The smallest run that has everything: six numbers, the fifth proposal wrong. Simulated."""

from __future__ import annotations

from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.text import Text
from amusd_viz.simulate.timing import Constant, Timing
from amusd_viz.trace import Trace

MS = 1_000_000
DRAFT_MS, TARGET_MS = 14, 34


def toy(method: str = "amusd", *, run_ahead: int = 4) -> Trace:
    """The target writes 1 2 3 4 5 6; the draft proposes 7 where 5 belongs, and goes on from there.

    A draft step takes 14 ms, a target pass 34 ms; AMUSD waits for two proposals.

    Args:
        method: ``"amusd"``, ``"synchronous"`` (lookahead 4) or ``"autoregressive"``.
        run_ahead: how far AMUSD's draft may run ahead.
    """
    text = Text(
        target=[1, 2, 3, 4, 5, 6],
        draft=[1, 2, 3, 4, 7, 6],
        words={n: f" {n}" for n in range(1, 10)},
        astray=[9, 9, 9, 9, 9, 8],
    )
    timing = Timing(draft=DRAFT_MS * MS, target=Constant(TARGET_MS * MS))
    return simulate(
        text,
        timing,
        method=method,
        max_new_tokens=6,
        run_ahead=run_ahead,
        notes={"toy": "six numbers in virtual time, after the first figure of arXiv 2410.17375"},
    )
