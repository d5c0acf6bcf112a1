"""What a method comes to on average, from a single run of the protocol without mismatches.

Until a mismatch is judged, a run goes on as if there were none: so one run in which everything
agrees, from a restart on, says how long each mismatch would take to come out. With independent
agreement of probability α a cycle from one restart to the next yields 1/(1-α) tokens, and the pass
that begins when n of them are committed is needed with probability α^n. Hence, for any cost of a
pass, latency, policy and limit, the expected time of a cycle is the sum over all passes of (time of
the pass, waiting included) * α^n. The closed forms of :mod:`amusd_viz.simulate.theory` are this sum
where a pass costs the same for any window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from amusd_viz.errors import SettingError
from amusd_viz.protocol import Fixed, Proposal
from amusd_viz.simulate.checks import probability
from amusd_viz.simulate.driver import Simulation, sides, window_policy_of
from amusd_viz.simulate.logs import Counter
from amusd_viz.simulate.spans import Steps
from amusd_viz.simulate.statistics import ENDLESS, one_mismatch
from amusd_viz.simulate.timing import Timing

PASSES = 18
"""Passes that are played; the following ones are taken to be like the last :data:`STEADY`."""
STEADY = 12
"""With a draft of k/12 target steps the windows repeat after 12 passes at the latest."""

DELAYS = 6
"""Different delays of a restart that are followed; others count as the nearest of them."""
CYCLES = 12
"""Cycles after which the delays are taken to have settled."""


@dataclass(frozen=True)
class Expected:
    """What a method comes to on average; shares are between 0 and 1."""

    speedup: float
    """Over autoregressive decoding on the same target."""
    tokens_per_verification: float
    target_busy: float
    draft_busy: float
    """Share of the time that the draft works, useful or not."""
    waste: float
    """Share of its proposals that are drafted on a dead branch or kill it."""
    ns_per_token: float


def expected(
    acceptance: float,
    timing: Timing,
    *,
    method: str = "amusd",
    policy: str = "paper",
    lookahead: int = 4,
    run_ahead: int = 256,
    rows: int = 257,
    preemptible: bool = False,
    plain_step: int | None = None,
) -> Expected:
    """Expected speed-up and shares with independent agreement and steady times.

    Exact for a pre-emptible draft, and for a real one where the target waits for it. Under
    ``eager`` a real draft is taken to be half a step late at each restart.

    Args:
        acceptance: α.
        timing: steady durations.
        method, policy, lookahead, run_ahead, rows, preemptible: as in
            :func:`~amusd_viz.simulate.driver.simulate`.
        plain_step: a step of the plain decoding that ``speedup`` compares with (ns); by default the
            target's without proposals.

    Raises:
        SettingError: a number or name that makes no sense, or a policy whose waits change.
    """
    a = probability("acceptance", acceptance)
    if method == "amusd" and not isinstance(window_policy_of(policy), Fixed):
        raise SettingError(
            f"{policy!r} waits for something else each time, so one undisturbed run does not tell "
            "its mean; simulate it, or give 'paper', 'eager' or 'fixed(3)'"
        )
    setting = (timing, method, policy, lookahead, run_ahead, rows, preemptible)
    if method == "amusd" and policy == "eager" and not preemptible:
        time, busy, drafting, proposals, verifications = _over_delays(setting, a)
    else:
        time, busy, drafting, proposals, verifications = _per_token(_undisturbed(*setting), a)
    return Expected(
        speedup=(plain_step or timing.target(0)) / time,
        tokens_per_verification=1 / verifications,
        target_busy=busy / time,
        draft_busy=min(1.0, drafting / time),
        waste=max(0.0, 1 - a / proposals) if proposals else 0.0,
        ns_per_token=time,
    )


def _over_delays(setting: tuple, a: float) -> tuple[float, ...]:
    """:func:`_per_token` where each cycle's start hangs on where the last mismatch hit the draft.

    Where steps and passes have a common measure, the phase between them never leaves its class: a
    run keeps the one it begins with. So the first delay is that of a run's start, where the draft
    has been drafting since its prefill when the first commit arrives.
    """
    timing: Timing = setting[0]
    first = -timing.latency_to_draft % timing.draft_step()
    delays, weights = [first], [1.0]
    courses = [_undisturbed(*setting, first)]
    # The share of cycles that start with each delay, by going from cycle to cycle.
    for _ in range(CYCLES):
        following = [0.0] * len(delays)
        for weight, passes in zip(weights, tuple(courses), strict=True):
            for index, p in enumerate(passes):
                last = index == len(passes) - 1
                shows = a**p.before * (1 if last else 1 - a**p.tokens)
                if p.rest not in delays and len(delays) < DELAYS:
                    delays.append(p.rest)
                    courses.append(_undisturbed(*setting, p.rest))
                    following.append(0.0)
                nearest = min(range(len(delays)), key=lambda i: abs(delays[i] - p.rest))
                following[nearest] += weight * shows
        weights = following
    parts = [_per_token(passes, a) for passes in courses]
    return tuple(sum(w * part[i] for w, part in zip(weights, parts, strict=True)) for i in range(5))


def _per_token(passes: Sequence[_Pass], a: float) -> tuple[float, ...]:
    """Time, target's and draft's work (ns), proposals and verifications, for each token."""
    sums = [0.0] * 5
    steady = passes[-STEADY:]
    end = passes[-1].before + passes[-1].tokens
    rate = sum(p.tokens for p in steady) / len(steady)
    # All further passes: (1-α) α^n, summed from n = end in steps of the steady rate.
    further = (1 - a) * a**end / (1 - a**rate) if a < 1 else 1 / rate
    for index, p in enumerate(passes):
        needed = (1 - a) * a**p.before
        if index >= len(passes) - len(steady):
            needed += further / len(steady)
        # A mismatch shows in this pass with the probability that the next one is not needed.
        mismatch = needed * (1 - a**p.tokens)
        amounts = (p.time, p.busy, p.drafting, p.proposals, 1)
        dead = (p.late, 0, p.dead_drafting, p.dead_proposals, 0)
        for i in range(5):
            sums[i] += needed * amounts[i] + mismatch * dead[i]
    return tuple(sums)


# -- the run without mismatches --------------------------------------------------------------


@dataclass(frozen=True)
class _Pass:
    """One verification of the run without mismatches, and the waiting before it."""

    before: int
    """Tokens committed since the restart when it begins to be awaited."""
    tokens: int
    time: int
    busy: int
    drafting: int
    proposals: int
    rest: int
    """What is left of a real draft's step when it hears of a mismatch in this pass (ns)."""
    late: int
    """How much of that the target waits for."""
    dead_drafting: int
    """What it drafts after this pass, before it starts anew (ns)."""
    dead_proposals: int


class _Log(Counter):
    """Counts, and remembers the draft's steps."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[int, int]] = []

    def proposed(self, start: int, end: int, proposal: Proposal) -> None:
        super().proposed(start, end, proposal)
        self.steps.append((start, end))


@lru_cache(maxsize=4096)
def _undisturbed(
    timing: Timing,
    method: str,
    policy: str,
    lookahead: int,
    run_ahead: int,
    rows: int,
    preemptible: bool,
    delay: int = 0,
) -> tuple[_Pass, ...]:
    """The passes of a run that agrees throughout; the draft starts ``delay`` ns late."""
    target, draft = sides(
        method,
        max_new_tokens=ENDLESS,
        policy=policy,
        lookahead=lookahead,
        run_ahead=run_ahead,
        rows=rows,
    )
    # A restart: the target has just committed a token, the draft hears of it and starts.
    start = timing.latency_to_draft + delay
    log = _Log()
    simulation = Simulation(
        one_mismatch(), replace(timing, draft_prefill=start, target_prefill=0), target, draft, log
    )
    simulation.prefill()
    points = [(0, log.counts())]
    while len(points) <= PASSES:
        simulation.next_verdict()
        points.append((simulation.now, log.counts()))
    while simulation.now <= points[-1][0] + 2 * timing.latency_to_draft + timing.draft_step():
        simulation.next_verdict()
    real = method == "amusd" and not preemptible
    steps, passes = Steps(log.steps), []
    for (begin, before), (end, after) in pairwise(points):
        heard = end + timing.latency_to_draft
        rest = steps.rest(heard) if real else 0
        passes.append(
            _Pass(
                before=before.tokens,
                tokens=after.tokens - before.tokens,
                time=end - begin,
                busy=after.target_busy - before.target_busy,
                drafting=steps.overlap(begin, end),
                proposals=steps.ended(begin, end),
                rest=rest,
                late=0 if policy == "eager" else rest,
                dead_drafting=steps.overlap(end, heard + rest),
                dead_proposals=steps.ended(end, heard + rest),
            )
        )
    return tuple(passes)
