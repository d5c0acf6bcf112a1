"""Measures a pair on a live engine: short runs of every method, and passes of every size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from amusd_viz.errors import SettingError
from amusd_viz.simulate.calibration import Calibration, calibrate_traces
from amusd_viz.trace import Trace

PROMPTS = (
    "Explain why the sea is salty.",
    "Write a short letter that thanks a neighbour for help in the garden.",
    "List three ways to keep bread fresh, with a reason for each.",
    "What is the difference between weather and climate?",
    "Write a Python function that counts the vowels in a string.",
    "Tell a short story about a cat that is afraid of rain.",
    "Give three questions to ask before renting a flat.",
    "How does a bicycle stay upright?",
    "Write an e-mail that asks a colleague for last month's figures.",
    "Correct this sentence: She don't likes to swimming in the lake.",
    "A baker sells 12 rolls an hour. How many are sold from 7 to 11? Explain.",
    "Write a dialogue between a tourist and a bus driver.",
)
"""What is decoded to measure: of several kinds, since they agree more or less often."""

PROBED_POLICIES = ("eager", "paper", "fixed(1)")
"""Under these, in turns, both sides work at once: with a target that never stands still and with
windows of several sizes."""

WINDOW_ROWS = (*range(1, 9), 16, 32)
"""Sizes of a target pass that are probed, as far as the session's rows go. What a row more costs is
uneven among the small ones, where kernels work on a few rows at a time."""

ROUNDS = 3
"""Times that every kind of run is returned to."""


@runtime_checkable
class Decodes(Protocol):
    """A warm session of the engine, as far as measuring needs it."""

    rows: int

    def decode(self, prompt: str, method: str = ..., **settings: Any) -> Any:
        """Starts a run, whose ``trace`` waits for its end."""
        ...


def calibrate(
    source: Trace | Iterable[Trace] | Decodes,
    *,
    prompts: Sequence[str] = PROMPTS,
    max_new_tokens: int = 48,
    progress: Callable[[str], None] = lambda line: None,
) -> Calibration:
    """Measures what a pair on its devices does.

    Args:
        source: recorded runs of one pair, or a warm session, which then decodes ``prompts``.
        prompts: what a session decodes.
        max_new_tokens: how long each of its runs is (tokens).
        progress: is told what is measured next, in a few words.

    Raises:
        SettingError: there is nothing to measure, or a number makes no sense.
    """
    if isinstance(source, Trace):
        return calibrate_traces([source])
    if isinstance(source, Decodes):
        return calibrate_traces(_probe(source, prompts, max_new_tokens, progress))
    return calibrate_traces(source)


def _probe(
    session: Decodes, prompts: Sequence[str], max_new_tokens: int, progress: Callable[[str], None]
) -> list[Trace]:
    if not prompts:
        raise SettingError("there is no prompt to calibrate with; give one or more")

    def decode(prompt: str, method: str, **settings: Any) -> Trace:
        run = session.decode(prompt, method, max_new_tokens=max_new_tokens, **settings)
        return run.trace

    progress("warming up")
    decode(prompts[0], "amusd")
    traces = []
    sizes = [rows for rows in WINDOW_ROWS if 1 < rows <= session.rows]
    # In rounds, so that a machine that is slow for a while is so for all of them.
    for turn in range(ROUNDS):
        progress(f"the target alone, round {turn + 1} of {ROUNDS}")
        traces.append(decode(prompts[turn % len(prompts)], "autoregressive"))
        for number in range(turn, len(prompts), ROUNDS):
            progress(f"both at work, prompt {number + 1} of {len(prompts)}")
            policy = PROBED_POLICIES[number // ROUNDS % len(PROBED_POLICIES)]
            traces.append(decode(prompts[number], "amusd", policy=policy))
        for number in range(turn, len(sizes), ROUNDS):
            progress(f"taking turns, passes of {sizes[number]} rows")
            prompt = prompts[number % len(prompts)]
            traces.append(decode(prompt, "synchronous", lookahead=sizes[number] - 1))
    return traces
