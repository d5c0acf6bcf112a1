"""Notebook 04: when waiting, running ahead and asynchrony itself pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from amusd_viz.lessons.budget import Trouble, call
from amusd_viz.lessons.exercise import Exercise
from amusd_viz.lessons.tasks import ChoiceTask, FunctionTask, Mistake, NumberTask
from amusd_viz.protocol import Proposal, WindowPolicy
from amusd_viz.simulate import theory
from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.scenery import SENTENCE
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import in_target_steps

# -- a policy that beats `paper` ---------------------------------------------------------------

SITUATIONS = ((0.5, 0.5), (0.8, 0.05), (0.9, 0.3))
"""Acceptance and ratio; the policy is told both."""
TOKENS = 400
PRIOR = 20
"""The policy is told the pair's own acceptance, as if it had seen so many proposals, and learns."""


class ReadersPolicy(WindowPolicy):
    """A window policy made of a reader's function of acceptance (as seen so far) and ratio."""

    name = "yours"

    def __init__(
        self, choose: Callable[[float, float], int], acceptance: float, ratio: float
    ) -> None:
        self.choose = choose
        self.ratio = ratio
        self.judged_so_far, self.accepted = float(PRIOR), PRIOR * acceptance
        self.waits: list[int] = []

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        if not self.waits:
            self.waits.append(self._ask())
        return self.waits[-1]

    def judged(self, *, proposed: int, accepted: int) -> None:
        self.accepted += accepted
        self.judged_so_far += min(proposed, accepted + 1)
        self.waits.append(self._ask())

    def _ask(self) -> int:
        acceptance = self.accepted / self.judged_so_far
        wait = call(self.choose, acceptance, self.ratio, steps=20_000)
        if isinstance(wait, bool) or not isinstance(wait, int) or wait < 0:
            raise Trouble(f"it returned {wait!r:.40}, and not a whole number from 0 on")
        return wait


def speed(policy: Any, acceptance: float, ratio: float) -> float:
    """Tokens a target step, in one simulated run."""
    text = text_of(agreement(Iid(acceptance), TOKENS, seed=11), SENTENCE, seed=11)
    timing = in_target_steps(ratio)
    trace = simulate(text, timing, max_new_tokens=TOKENS, policy=policy)
    return TOKENS / (trace.duration / timing.target(0))


@dataclass(frozen=True)
class PolicyTask:
    """Write how long to wait, and beat ``paper`` in the simulator."""

    def diagnose(self, answer: Any) -> str:
        if not callable(answer):
            return "give the function itself, without parentheses behind it."
        gains, waits = [], []
        for acceptance, ratio in SITUATIONS:
            policy = ReadersPolicy(answer, acceptance, ratio)
            try:
                yours = speed(policy, acceptance, ratio)
            except Trouble as trouble:
                return f"at acceptance {acceptance}, ratio {ratio}, {trouble}."
            gains.append(yours / speed("paper", acceptance, ratio))
            waits.append(sum(policy.waits) / len(policy.waits))
        return _advice(gains, waits)


def _advice(gains: list[float], waits: list[float]) -> str:
    if all(abs(wait - 2) < 1e-9 for wait in waits):
        return (
            "this is `paper` itself: it always waits for 2. Look at the two situations far apart."
        )
    told = "; ".join(
        f"acceptance {a}, ratio {r}: {gain:.2f} times `paper`"
        for (a, r), gain in zip(SITUATIONS, gains, strict=True)
    )
    worst = min(range(len(gains)), key=gains.__getitem__)
    acceptance, ratio = SITUATIONS[worst]
    if gains[worst] < 0.995:
        more = waits[worst] > theory.best_wait(acceptance, ratio).setting
        how = (
            "it waits too long there: a poor or slow draft is not worth waiting for"
            if more
            else "it waits too little there: a quick, good draft has more to offer in a moment"
        )
        return f"{told}. At acceptance {acceptance}, ratio {ratio} it loses; {how}."
    if sum(gains) / len(gains) < 1.05:
        return f"{told}. No loss, but no gain of 5 % on average either: be bolder where it pays."
    return ""


# -- the speed of synchronous decoding ---------------------------------------------------------


def _synchronous(acceptance: float, proposals: int, ratio: float) -> float:
    return theory.synchronous(acceptance, proposals, ratio)


def _without_target(acceptance: float, proposals: int, ratio: float) -> float:
    return theory.tokens_per_window(acceptance, proposals) / (proposals * ratio)


def _without_draft(acceptance: float, proposals: int, ratio: float) -> float:
    return theory.tokens_per_window(acceptance, proposals)


def _one_draft_step(acceptance: float, proposals: int, ratio: float) -> float:
    return theory.tokens_per_window(acceptance, proposals) / (1 + ratio)


def _independent(acceptance: float, proposals: int, ratio: float) -> float:
    return (1 + acceptance * proposals) / (1 + proposals * ratio)


LIMIT = theory.break_even_latency(0.8, 0.2)
STEP_MS = 25.0

EXERCISES = (
    Exercise(
        name="synchronous_speedup",
        notebook=4,
        difficulty=2,
        minutes=6,
        task=FunctionTask(
            name="synchronous_speedup",
            cases=((0.8, 4, 0.1), (0.5, 2, 0.5), (0.9, 6, 0.05), (0.95, 3, 0.46)),
            right=_synchronous,
            mistakes=(
                Mistake(_without_target, "a round also has a target pass: one more step."),
                Mistake(
                    _without_draft, "the draft's steps take time too: k of them, `ratio` each."
                ),
                Mistake(_one_draft_step, "the draft takes a step for each of its k proposals."),
                Mistake(
                    _independent,
                    "acceptance × k counts proposals behind a mismatch; use the sum of notebook 02.",
                ),
            ),
        ),
        praise="tokens of a round over its length: (1 - aᵏ⁺¹) / ((1 - a)(1 + k·ratio)).",
        hints=(
            "A round: k draft steps, then one target pass. How long, in target steps?",
            "How many tokens does a round give? Notebook 02 had the sum.",
        ),
    ),
    Exercise(
        name="run_ahead",
        notebook=4,
        difficulty=2,
        minutes=4,
        task=ChoiceTask(
            right="as fast, with more doomed work",
            mistakes={
                "faster": "“more run-ahead always helps”: the target can only judge what survives. Are "
                "the tokens far ahead of it among them?",
                "slower": "the draft has a device of its own: what it does there does not slow the target "
                "down, here.",
                "as fast, with less doomed work": "the farther ahead, the more dies with each rollback.",
            },
        ),
        praise="nothing gained but heat. Where devices are shared or the draft cannot be interrupted "
        "cheaply, it even costs speed.",
        hints=("How many of its proposals can a target use that waits for two?",),
    ),
    Exercise(
        name="latency_budget",
        notebook=4,
        difficulty=3,
        minutes=5,
        task=NumberTask(
            right=LIMIT * STEP_MS / 2,
            mistakes={
                LIMIT * STEP_MS: "that is both ways together; the question asks for one way.",
                LIMIT: "that is the limit in target steps; a target step takes 25 ms here.",
                LIMIT / 2: "one way in target steps; a target step takes 25 ms here.",
                LIMIT
                * STEP_MS
                * 2: "the limit is for both ways together: divide, do not multiply.",
            },
            otherwise="take the limit from the table (in target steps, both ways), turn it into ms, and "
            "halve it.",
            tolerance=0.04,
        ),
        praise="a few milliseconds each way: any local network, no other continent.",
        hints=("The table gives target steps, for both ways together.",),
    ),
    Exercise(
        name="beat_paper",
        notebook=4,
        difficulty=5,
        minutes=20,
        task=PolicyTask(),
        praise="it beats the paper's rule in every situation it was tried in.",
        hints=(
            "At acceptance 0.5 and ratio 0.5 waiting is a loss. At 0.8 and 0.05 it pays to wait for more.",
            "What waiting costs: ratio for each proposal after a mismatch. What it gives: a window that "
            "is worth more, the better the draft is.",
            "The table above shows the best wait for acceptance 0.8: about 6, 3, 2 and 0.",
        ),
    ),
)
