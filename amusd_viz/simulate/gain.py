"""Where asynchrony pays: AMUSD over the best of synchronous and plain decoding, as a map.

The closed forms of :mod:`amusd_viz.simulate.theory`, widened to passes that cost more for larger
windows and to a limited run-ahead, by adding up passes until they repeat; a real draft is half a
step late at a restart. Fast enough for a whole map while a slider moves; numbers are checked once,
not in every cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from amusd_viz.simulate.checks import not_negative, positive, probability, whole
from amusd_viz.simulate.theory import Best

WAITS = (0, 1, 2, 3, 5, 8)
"""Waits that the map tries; neighbours in between differ by less than a percent."""
MOST_LOOKAHEAD = 64
RARE = 0.01
"""A pass that is needed less often is taken to be like the later ones."""
PASSES = 16
"""Passes that are followed; further ones are taken to be like the later half."""


class Surroundings(NamedTuple):
    """What a map holds fixed; times in target steps."""

    latency: float = 0.0
    """Draft to target and back, for AMUSD; synchronous decoding is taken to run on one device."""
    slope: float = 0.0
    """What each proposal of a window adds to a pass."""
    tensor_parallel: float = 1.0
    """How many times faster the synchronous target is on both devices."""
    run_ahead: int = 256

    def checked(self) -> Surroundings:
        """Itself; :class:`~amusd_viz.errors.SettingError` where a number makes no sense."""
        not_negative("latency", self.latency)
        not_negative("slope", self.slope)
        positive("tensor_parallel", self.tensor_parallel)
        whole("run_ahead", self.run_ahead, 1, 4096)
        return self


def gain_map(
    acceptances: Sequence[float], ratios: Sequence[float], around: Surroundings
) -> list[list[float]]:
    """The best AMUSD's speed over the best other one's: a row for each acceptance.

    The rival is synchronous decoding at its best lookahead, 0 included, which is plain decoding.
    """
    around.checked()
    for acceptance in acceptances:
        probability("acceptance", acceptance)
    courses = [_courses(positive("ratio", ratio), around) for ratio in ratios]
    return [
        [
            max(_speedup(course, a) for course in at_ratio)
            / max(1.0, best_synchronous(a, ratio, around).speedup)
            for ratio, at_ratio in zip(ratios, courses, strict=True)
        ]
        for a in acceptances
    ]


def best_synchronous(acceptance: float, ratio: float, around: Surroundings) -> Best:
    """The best lookahead on one device (or with the target on both) and its speed-up."""
    per_proposal = ratio + around.slope / around.tensor_parallel
    time = 1 / around.tensor_parallel
    best, tokens, power = Best(1, 0.0), 1.0, 1.0
    for lookahead in range(1, MOST_LOOKAHEAD + 1):
        power *= acceptance
        tokens += power
        time += per_proposal
        speedup = tokens / time
        if speedup <= best.speedup:
            break
        best = Best(lookahead, speedup)
    return best


def best_amusd(acceptance: float, ratio: float, around: Surroundings) -> Best:
    """The best of :data:`WAITS` and its speed-up."""
    speeds = [_speedup(course, acceptance) for course in _courses(ratio, around)]
    best = max(range(len(speeds)), key=lambda i: speeds[i])
    return Best(WAITS[best], speeds[best])


def amusd(acceptance: float, wait: int, ratio: float, around: Surroundings) -> float:
    """Speed-up of AMUSD with a real draft; see :func:`amusd_viz.simulate.theory.amusd`."""
    return _speedup(_course(ratio, wait, around), acceptance)


# -- courses ---------------------------------------------------------------------------------


class _Pass(NamedTuple):
    """A verification of a run without mismatches, as in :mod:`amusd_viz.simulate.expected`."""

    after: float
    """Tokens committed since the restart when it is done."""
    time: float


class _Course(NamedTuple):
    passes: tuple[_Pass, ...]
    per_token: float
    """Time per token of the later passes, and of all that follow."""

    @classmethod
    def of(cls, passes: Sequence[_Pass]) -> _Course:
        middle = len(passes) // 2
        tokens = passes[-1].after - passes[middle - 1].after
        return cls(tuple(passes), sum(p.time for p in passes[middle:]) / tokens)


def _courses(ratio: float, around: Surroundings) -> list[_Course]:
    return [_course(ratio, wait, around) for wait in WAITS]


@lru_cache(maxsize=8192)
def _course(ratio: float, wait: int, around: Surroundings) -> _Course:
    if wait == 0:
        return _eager_course(ratio, around)
    wait = min(wait, around.run_ahead)
    fresh, tokens, length = wait + 1.0, 0.0, 1 + around.slope * wait
    period = ratio / 2 + wait * ratio + around.latency + length
    passes = []
    for _ in range(PASSES):
        tokens += fresh
        passes.append(_Pass(tokens, period))
        # The next window holds what was drafted during this pass: not more than the run-ahead
        # leaves beside the window that was out, and not less than is waited for.
        room = around.run_ahead + 1 - fresh
        pause = max(0.0, (wait + 1) * ratio - length)
        fresh = max(min(length / ratio, room), wait + 1.0)
        length = 1 + around.slope * (fresh - 1)
        period = pause + length
    return _Course.of(passes)


def _eager_course(ratio: float, around: Surroundings) -> _Course:
    late = around.latency + ratio / 2
    clock, tokens, fresh, passes = 0.0, 0.0, 1.0, []
    for _ in range(PASSES):
        length = 1 + around.slope * (fresh - 1)
        clock += length
        tokens += fresh
        passes.append(_Pass(tokens, length))
        room = max(1.0, around.run_ahead + 1 - fresh)
        fresh = max(1.0, min((clock - late) / ratio + 1 - tokens, room))
    return _Course.of(passes)


def _speedup(course: _Course, acceptance: float) -> float:
    """1 over the time per token: every pass by the probability that it is needed."""
    a = min(acceptance, 1 - 1e-9)
    time, needed = 0.0, 1.0
    for after, length in course.passes:
        time += needed * length
        needed = a**after
        if needed < RARE:
            break
    return 1 / ((1 - a) * time + needed * course.per_token)
