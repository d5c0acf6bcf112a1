"""Closed forms: how much faster than plain decoding can each method be?

Everything is a speed-up over autoregressive decoding with the same target, and every time is in
units of one target step, which is taken to cost the same for any window. The symbols:

- ``acceptance`` α: the draft's token at a position equals the target's, with the same independent
  probability everywhere;
- ``ratio`` c: one draft step takes c target steps;
- ``latency`` δ: draft to target plus target to draft;
- ``lookahead`` γ and ``wait`` m: proposals of a synchronous round, and proposals AMUSD waits for;
- E(k) = 1 + α + ... + α^k: tokens that a window of k proposals commits on average.

The draft is taken to be pre-emptible: it drops the step it is in when it hears that its branch is
dead. A real one finishes that step, which costs about c/2 per mismatch on top (as if δ were
larger).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from amusd_viz.errors import SettingError
from amusd_viz.simulate.checks import not_negative, positive, probability, whole

MOST_LOOKAHEAD = 256
"""Largest lookahead and wait that are tried: with certain acceptance more is always better."""


class Best(NamedTuple):
    """The best whole setting (a lookahead or a wait) and the speed-up it gives."""

    setting: int
    speedup: float


def tokens_per_window(acceptance: float, proposals: int) -> float:
    """E(k): tokens committed by one verification of k fresh proposals.

    The first i proposals are accepted with probability α^i, and one correction or bonus follows:
    1 + α + ... + α^k (Leviathan et al., arXiv 2211.17192, equation 1).
    """
    a, k = probability("acceptance", acceptance), whole("proposals", proposals, 0, 10**6)
    return float(k + 1) if a == 1 else _one_minus_power(a, k + 1) / (1 - a)


def synchronous(
    acceptance: float,
    lookahead: int,
    ratio: float,
    latency: float = 0.0,
    *,
    tensor_parallel: float = 1.0,
) -> float:
    """Speed-up of synchronous speculative decoding.

    A round drafts γ proposals one after the other (γc), sends them and the verdict (δ) and verifies
    (1): E(γ) tokens in γc + δ + 1 (arXiv 2211.17192, theorem 3.8, with the latency added). Where
    the second device helps the target instead (``tensor_parallel`` times faster), the 1 becomes
    1/τ; the speed-up stays relative to the target on one device.
    """
    c, delta = positive("ratio", ratio), not_negative("latency", latency)
    tau = positive("tensor_parallel", tensor_parallel)
    gamma = whole("lookahead", lookahead, 1, 10**6)
    return tokens_per_window(acceptance, gamma) / (gamma * c + delta + 1 / tau)


def speculator(rates: Sequence[float], head: float, cost: Sequence[float] = ()) -> float:
    """Speed-up of a chain of heads inside the target's process.

    A step of k heads commits 1 + p0 + p0 p1 + ... tokens and takes k heads and a pass over k
    proposals; the window's size changes what a pass costs, which ``cost`` says.

    Args:
        rates: p_i, how often head i is right, given that those before it are.
        head: time of one head.
        cost: of a pass over 0, 1, ... k proposals; by default 1 each.
    """
    k, h = len(rates), not_negative("head", head)
    costs = [positive("cost of a pass", c) for c in cost] or [1.0] * (k + 1)
    if len(costs) != k + 1:
        raise SettingError(f"{len(costs)} costs of a pass, give {k + 1}: over 0 to {k} proposals")
    tokens = right = 1.0
    for rate in rates:
        right *= probability("acceptance of a head", rate)
        tokens += right
    return tokens * costs[0] / (k * h + costs[k])


def best_heads(rates: Sequence[float], head: float, cost: Sequence[float] = ()) -> Best:
    """How many of the heads should speak, 0 included, and the speed-up that gives."""
    costs = list(cost) or [1.0] * (len(rates) + 1)
    found = [Best(k, speculator(rates[:k], head, costs[: k + 1])) for k in range(len(rates) + 1)]
    return max(found, key=lambda best: best.speedup)


def amusd(acceptance: float, wait: int, ratio: float, latency: float = 0.0) -> float:
    """Speed-up of AMUSD, whose target waits for ``wait`` proposals (0: it never waits).

    Derivation, by renewal: a *cycle* runs from one mismatch to the next and yields 1/(1-α) tokens
    whatever the policy. After a mismatch the draft hears of it and drafts, and the proposals
    arrive: mc + δ. Their verification takes 1. With probability α^(m+1), the m proposals and the
    draft's own guess of the bonus, both sides are in step now. In step, one verification follows
    the other every T = max(1, (m+1)c), consumes T/c tokens and stays in step with probability
    α^(T/c). Hence

        S(m) = 1 / ((1-α) [1 + mc + δ + T α^(m+1) / (1 - α^(T/c))]),   m >= 1.

    A target that never waits makes steps of plain decoding until proposals arrive. The pass that
    starts at j has consumed max(j, 1 + (j-1-δ)/c) tokens before it, all of them agreed:

        S(0) = 1 / ((1-α) [1 + α + ... + α^(J-1) + α^(1 + (J-1-δ)/c) / (1 - α^(1/c))]),   c < 1,

    with J = 1 + δ/(1-c), rounded up, passes without a judged proposal. A draft slower than the
    target never gets a proposal judged by it: S(0) = 1 for c >= 1.
    """
    c = positive("ratio", ratio)
    m = whole("wait", wait, 0, 10**6)
    if m == 0 and c >= 1:
        probability("acceptance", acceptance)
        not_negative("latency", latency)
        return 1.0
    return _renewed(acceptance, lambda a: _restart(m, c, latency) + _in_step(a, m, c, latency))


def amusd_with_cache(
    acceptance: float,
    wait: int,
    ratio: float,
    *,
    hit_rate: float,
    cached: int,
    latency: float = 0.0,
) -> float:
    """Speed-up of AMUSD with an outcome cache, as Saguaro has one (arXiv 2603.03251).

    While the target verifies, the draft also continues likely outcomes. A mismatch whose outcome
    was guessed (``hit_rate``) finds ``cached`` proposals waiting: no restart, only the
    verification.
    """
    m, k = whole("wait", wait, 1, 10**6), whole("cached", cached, 1, 10**6)
    h = probability("hit_rate", hit_rate)
    c = positive("ratio", ratio)
    period = max(1.0, (m + 1) * c)

    def cycle(a: float) -> float:
        miss = _restart(m, c, latency) + _in_step(a, m, c, latency)
        return (1 - h) * miss + h * (1 + _steps_in(a, k + 1, period / c) * period)

    return _renewed(acceptance, cycle)


def pearl(acceptance: float, ratio: float) -> float:
    """PEARL with its lookahead at the speed ratio (arXiv 2408.11850): AMUSD that never waits."""
    return amusd(acceptance, 0, ratio)


def distributed(acceptance: float, ratio: float) -> float:
    """Ideal rate of distributed speculative inference with unlimited target replicas.

    An accepted token costs a draft step, a mismatch a target step: 1 / ((1-α) + αc)
    (arXiv 2405.14105). No method on two devices can be expected to reach it.
    """
    a, c = probability("acceptance", acceptance), positive("ratio", ratio)
    return 1 / ((1 - a) + a * c)


def draft_bound(ratio: float) -> float:
    """No method is faster than its draft: 1/c (or plain decoding, where the draft is slower)."""
    return max(1.0, 1 / positive("ratio", ratio))


# -- best settings ---------------------------------------------------------------------------


def best_lookahead(
    acceptance: float, ratio: float, latency: float = 0.0, *, tensor_parallel: float = 1.0
) -> Best:
    """The lookahead with the largest speed-up; the speed-up rises up to it and falls behind it."""
    return _climb(
        1,
        lambda g: synchronous(acceptance, g, ratio, latency, tensor_parallel=tensor_parallel),
    )


def optimal_wait(acceptance: float, ratio: float) -> float:
    """The wait at which d S(m) / d m = 0, as a real number (0 < α < 1, (m+1)c <= 1).

    α^(m+1) = c (1 - α^R) / (-ln α): waiting costs c per proposal and saves a verification that
    would have left the draft's next tokens to the one after. May be negative: never wait.
    """
    a, c = probability("acceptance", acceptance), positive("ratio", ratio)
    if a in (0.0, 1.0):
        return 0.0 if a == 0 else 1 / c - 1
    return math.log(c * _one_minus_power(a, 1 / c) / -math.log(a)) / math.log(a) - 1


def best_wait(acceptance: float, ratio: float, latency: float = 0.0) -> Best:
    """The wait with the largest speed-up, 0 (never wait) included."""
    waiting = _best_waiting(acceptance, ratio, latency)
    eager = Best(0, amusd(acceptance, 0, ratio, latency))
    return max(eager, waiting, key=lambda best: best.speedup)


def break_even_latency(
    acceptance: float, ratio: float, *, eager: bool = False, most: float = 16.0
) -> float:
    """The latency at which AMUSD is only as fast as the best synchronous decoding on one device.

    Args:
        acceptance: α.
        ratio: c.
        eager: let AMUSD also not wait at all, which bears more latency; otherwise it waits for at
            least one proposal, at its best wait.
        most: search up to this latency (in target steps); returned where AMUSD still wins there.
    """
    rival = best_lookahead(acceptance, ratio).speedup

    def wins(latency: float) -> bool:
        best = best_wait if eager else _best_waiting
        return best(acceptance, ratio, latency).speedup >= rival

    low, high = 0.0, positive("most", most)
    if wins(high):
        return high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if wins(middle) else (low, middle)
    return low


# -- pieces ----------------------------------------------------------------------------------


def _restart(m: int, c: float, latency: float) -> float:
    delta = not_negative("latency", latency)
    return 1 + m * c + delta if m else 1.0


def _in_step(a: float, m: int, c: float, latency: float) -> float:
    if m:
        period = max(1.0, (m + 1) * c)
        return period * _steps_in(a, m + 1, period / c)
    plain = math.ceil(1 + latency / (1 - c) - 1e-12)
    judged = _steps_in(a, 1 + (plain - 1 - latency) / c, 1 / c)
    return a * _one_minus_power(a, plain - 1) / (1 - a) + judged


def _steps_in(a: float, first: float, each: float) -> float:
    """Expected verifications in step: α^first + α^(first + each) + ..."""
    return a**first / _one_minus_power(a, each)


def _renewed(acceptance: float, cycle: Callable[[float], float]) -> float:
    """Tokens per time of a renewal process with 1/(1-α) tokens and ``cycle(α)`` time a cycle."""
    # At α = 1 both (1 - α) and the cycle's share of it vanish; the closest number below stands in.
    a = min(probability("acceptance", acceptance), math.nextafter(1.0, 0.0))
    return 1 / ((1 - a) * cycle(a))


def _one_minus_power(a: float, exponent: float) -> float:
    """1 - a^exponent without loss of digits near a = 1."""
    return -math.expm1(exponent * math.log(a)) if a > 0 else 1.0


def _best_waiting(acceptance: float, ratio: float, latency: float) -> Best:
    return _climb(1, lambda m: amusd(acceptance, m, ratio, latency))


def _climb(first: int, speedup: Callable[[int], float]) -> Best:
    best = Best(first, speedup(first))
    for setting in range(first + 1, MOST_LOOKAHEAD + 1):
        value = speedup(setting)
        if value < best.speedup:
            break
        if value > best.speedup:
            best = Best(setting, value)
    return best
