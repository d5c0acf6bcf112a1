"""How long things take in virtual time: steps, passes, messages, and how much they vary."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from amusd_viz.errors import SettingError
from amusd_viz.simulate.checks import not_negative, positive, whole


@dataclass(frozen=True)
class Constant:
    """A target pass takes ``ns`` for any window."""

    ns: int

    def __call__(self, proposals: int) -> int:
        return self.ns


@dataclass(frozen=True)
class Linear:
    """A target pass takes ``ns``, and ``per_proposal`` ns more for each proposal of the window."""

    ns: int
    per_proposal: int

    def __call__(self, proposals: int) -> int:
        return self.ns + proposals * self.per_proposal


@dataclass(frozen=True)
class Table:
    """A target pass as measured: ``rows`` and ``ns`` of the same length, rows rising.

    Rows are the last committed token and the window: a window of k proposals has k + 1. Between two
    measured sizes the cost is interpolated; behind the last one it rises as between the last two.
    """

    rows: tuple[int, ...]
    ns: tuple[int, ...]

    @classmethod
    def of(cls, costs: Mapping[int, float]) -> Table:
        """From a mapping of rows to ns."""
        if not costs:
            raise SettingError("a table of target costs is empty; give at least one {rows: ns}")
        rows = sorted(costs)
        whole("rows of a target pass", rows[0], 1, 10**6)
        return cls(tuple(rows), tuple(round(positive("a target pass", costs[r])) for r in rows))

    def __call__(self, proposals: int) -> int:
        rows, at = self.rows, proposals + 1
        if at <= rows[0] or len(rows) == 1:
            return self.ns[0]
        right = min(bisect.bisect_left(rows, at), len(rows) - 1)
        left = right - 1
        slope = (self.ns[right] - self.ns[left]) / (rows[right] - rows[left])
        return max(1, round(self.ns[left] + slope * (at - rows[left])))


TargetCost = Callable[[int], int]
"""Duration (ns) of one pass over a window of the given number of proposals."""


@dataclass(frozen=True)
class Timing:
    """How long things take, in ns.

    Attributes:
        draft: one draft step; a function is asked for every step anew.
        target: one pass over a window of k proposals, ``target(k)``.
        latency_to_target: how long a proposal travels.
        latency_to_draft: how long a commit travels.
        draft_prefill: when the draft has read the prompt.
        target_prefill: when the target has, and commits the first token.
        catching_up: what the draft's next step takes longer for each token that it adopts without
            having drafted it. 0 where they are fed in one pass; a draft step where an
            implementation drafts them anew, as the published AMUSD and its baseline do.
        head: one head of a speculator that steps in for the draft, on the target's device.
    """

    draft: int | Callable[[], int]
    target: TargetCost
    latency_to_target: int = 0
    latency_to_draft: int = 0
    draft_prefill: int = 0
    target_prefill: int = 0
    catching_up: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        if not callable(self.draft):
            positive("the draft's step", self.draft)
        if not callable(self.target):
            raise SettingError(
                f"the target's cost is {self.target!r}; give a function of the window's proposals, "
                "such as Constant(ns)"
            )
        if self.steady:
            positive("a target pass", self.target(0))
        for name in (
            "latency_to_target",
            "latency_to_draft",
            "draft_prefill",
            "target_prefill",
            "catching_up",
            "head",
        ):
            not_negative(name, getattr(self, name))

    @property
    def steady(self) -> bool:
        """Whether every step of a kind takes the same time."""
        return not callable(self.draft) and isinstance(self.target, Constant | Linear | Table)

    def draft_step(self) -> int:
        """Duration of the draft's next step."""
        return self.draft() if callable(self.draft) else self.draft


FINEST = 360
"""About how many ticks a target step has in simulations by ratio: few enough that the same
situations come again (see :mod:`amusd_viz.simulate.statistics`)."""


MOST_STEPS = 1000
"""Longest draft step or latency, in target steps."""


def in_target_steps(
    ratio: float,
    *,
    latency: float = 0.0,
    slope: float = 0.0,
    tensor_parallel: float = 1.0,
    step_ns: int = 1_000_000,
) -> Timing:
    """A timing in units of one target step without proposals.

    The ratio is rounded to a fraction with a denominator of at most ``FINEST``, everything else to
    the ticks of that fraction.

    Args:
        ratio: one draft step.
        latency: both ways together; half of it each way.
        slope: what each proposal of a window adds to a pass, as a share of it.
        tensor_parallel: how many times faster the target runs when it has both devices.
        step_ns: about how long a target step on one device is.
    """
    not_negative("latency", latency, MOST_STEPS)
    not_negative("slope", slope, MOST_STEPS)
    fraction = Fraction(positive("ratio", ratio, MOST_STEPS)).limit_denominator(FINEST)
    if fraction == 0:
        fraction = Fraction(ratio).limit_denominator(10**6) or Fraction(1, 10**6)
    ticks = fraction.denominator * max(1, FINEST // fraction.denominator)
    tick = max(1, step_ns // ticks)

    def ns(steps: float) -> int:
        return max(1, round(steps * ticks)) * tick

    step = 1 / positive("tensor_parallel", tensor_parallel, MOST_STEPS)
    return Timing(
        draft=ns(float(fraction)),
        target=Linear(ns(step), ns(step * slope)) if slope else Constant(ns(step)),
        latency_to_target=ns(latency / 2) if latency else 0,
        latency_to_draft=ns(latency / 2) if latency else 0,
    )


def with_jitter(timing: Timing, share: float, seed: int) -> Timing:
    """The same timing with steps and passes that vary, independently and log-normally.

    Args:
        timing: the durations on average.
        share: standard deviation of a duration, as a share of it.
        seed: the same seed gives the same durations in the same order.
    """
    if not not_negative("jitter", share):
        return timing
    sigma = math.sqrt(math.log1p(share * share))
    steps, passes = random.Random(f"{seed}/draft"), random.Random(f"{seed}/target")
    draft, target = timing.draft_step, timing.target

    def varied(ns: int, source: random.Random) -> int:
        return max(1, round(ns * math.exp(source.gauss(-sigma * sigma / 2, sigma))))

    return replace(
        timing,
        draft=lambda: varied(draft(), steps),
        target=lambda proposals: varied(target(proposals), passes),
    )


def replayed(timing: Timing, draft: Sequence[int], target: Sequence[int]) -> Timing:
    """The same timing with recorded durations, used in their order and, when used up, anew."""
    if not target or not all(ns > 0 for ns in (*draft, *target)):
        raise SettingError("recorded durations are empty or not above 0; give those of a real run")
    passes = _Cycle(target)
    return replace(
        timing,
        draft=_Cycle(draft) if draft else timing.draft,
        target=lambda proposals: passes(),
    )


class _Cycle:
    def __init__(self, durations: Sequence[int]) -> None:
        self._durations = tuple(durations)
        self._next = 0

    def __call__(self) -> int:
        duration = self._durations[self._next % len(self._durations)]
        self._next += 1
        return duration
