"""How fast each method would be with a calibrated pair, and what its devices would wait for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from amusd_viz.errors import SettingError
from amusd_viz.simulate.calibration import Calibration, Costs, Estimate
from amusd_viz.simulate.expected import Expected, expected
from amusd_viz.simulate.statistics import mean_decode_time
from amusd_viz.simulate.text import Iid
from amusd_viz.simulate.timing import Table, Timing

POLICIES = ("eager", "fixed(1)", "paper", "fixed(3)", "fixed(4)")
LOOKAHEADS = (1, 2, 3, 4, 5, 6, 7)
ROUNDS = 2
RUNS = 60
"""Runs that are played to learn what a short run loses."""
FEW = 5
"""A window size seen less often than this says little about its cost."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What one method and setting would come to; shares are between 0 and 1."""

    method: str
    setting: str
    """The policy, or ``lookahead(4)``; empty for autoregressive decoding."""
    tokens_per_second: float
    low: float
    high: float
    """95 % interval from the calibration's own uncertainty, for runs like the calibrated ones."""
    speedup: float
    """Over autoregressive decoding with the same target in the same shapes."""
    tokens_per_verification: float
    target_waits: float
    """Share of the time that the target waits for proposals."""
    draft_waits: float
    """Share of the time that the draft waits for commits."""
    waste: float
    """Share of the proposals that are drafted on a dead branch or kill it."""


def predict(
    calibration: Calibration,
    *,
    policies: Sequence[str] = POLICIES,
    lookaheads: Sequence[int] | None = None,
    run_ahead: int = 16,
    tokens: int | None = None,
) -> list[Prediction]:
    """Predicts the speed of each method and policy; autoregressive decoding comes first.

    Args:
        calibration: what the pair does on its devices.
        policies: of AMUSD.
        lookaheads: of synchronous decoding; by default 1 to 7, as far as the target's rows go.
        run_ahead: how far ahead the draft may run in AMUSD (tokens).
        tokens: how long a run is; by default endless. Short ones are slower, since the last
            proposals are judged while nothing more is drafted.

    Raises:
        SettingError: the calibration holds no draft step or no target pass, or a policy or number
            makes no sense.
    """
    rows = calibration.rows or 257
    if lookaheads is None:
        lookaheads = [g for g in LOOKAHEADS if g < rows]
    runs: list[tuple[str, str, dict[str, object]]] = [
        ("autoregressive", "", {}),
        *(("synchronous", f"lookahead({g})", {"lookahead": g}) for g in lookaheads),
        *(("amusd", policy, {"policy": policy, "run_ahead": run_ahead}) for policy in policies),
    ]
    plain = _outcome(calibration, "autoregressive", {}, rows)
    return [_prediction(calibration, *run, rows, plain, tokens) for run in runs]


def _prediction(
    calibration: Calibration,
    method: str,
    setting: str,
    settings: Mapping[str, object],
    rows: int,
    plain: Expected,
    tokens: int | None,
) -> Prediction:
    found, timing = _settled(calibration, method, settings, rows)
    speed = 1e9 / found.ns_per_token
    ending = 1.0
    if tokens is not None and method != "autoregressive":
        ending = found.ns_per_token / _ns_per_token(
            calibration, timing, tokens, method, settings, rows
        )
    half = _half_width(
        speed,
        lambda **shifted: (
            1e9 / _outcome(calibration, method, settings, rows, **shifted).ns_per_token
        ),
    )
    return Prediction(
        method=method,
        setting=setting,
        tokens_per_second=speed * ending,
        low=max(0.0, speed - half) * ending,
        high=(speed + half) * ending,
        speedup=plain.ns_per_token / found.ns_per_token * ending,
        tokens_per_verification=found.tokens_per_verification,
        target_waits=max(0.0, 1 - found.target_busy),
        draft_waits=max(0.0, 1 - found.draft_busy) if method != "autoregressive" else 0.0,
        waste=found.waste,
    )


def _half_width(speed: float, at: Callable[..., float]) -> float:
    """The independent uncertainties of acceptance, step and pass, added in squares."""
    squares = 0.0
    for name in ("acceptance", "step", "cost"):
        low, high = at(**{name: "low"}), at(**{name: "high"})
        squares += max(abs(low - speed), abs(high - speed)) ** 2
    return math.sqrt(squares)


def _ns_per_token(
    calibration: Calibration,
    timing: Timing,
    tokens: int,
    method: str,
    settings: Mapping[str, object],
    rows: int,
) -> float:
    """Of runs of so many tokens, without the first one, which the prefill gives."""
    timing = replace(
        timing,
        draft_prefill=round(calibration.draft_prefill),
        target_prefill=round(calibration.target_prefill),
    )
    acceptance = Iid(calibration.acceptance.value)
    time = mean_decode_time(
        acceptance, timing, tokens=tokens, runs=RUNS, method=method, rows=rows, **settings
    )
    return time / (tokens - 1)


def _outcome(
    calibration: Calibration,
    method: str,
    settings: Mapping[str, object],
    rows: int,
    **chosen: str,
) -> Expected:
    """What it comes to; ``chosen`` are ends of intervals instead of means."""
    return _settled(calibration, method, settings, rows, **chosen)[0]


def _settled(
    calibration: Calibration,
    method: str,
    settings: Mapping[str, object],
    rows: int,
    *,
    acceptance: str = "value",
    step: str = "value",
    cost: str = "value",
) -> tuple[Expected, Timing]:
    """What it comes to with the durations that follow from how busy both sides are then."""
    alpha = getattr(calibration.acceptance, acceptance)
    alone = _seen_costs(calibration.turns, calibration.together)
    beside = _seen_costs(calibration.together, calibration.turns)

    def at(draft_busy: float, target_busy: float) -> tuple[Expected, Timing]:
        """With each side slowed down by the other one for this share of the time."""
        timing = Timing(
            draft=round(
                _mixed(*(getattr(c.draft_step, step) for c in (alone, beside)), target_busy)
            ),
            target=_mixed_table(
                _table(alone.target_pass, cost), _table(beside.target_pass, cost), draft_busy
            ),
            latency_to_target=round(calibration.latency_to_target),
            latency_to_draft=round(calibration.latency_to_draft),
            catching_up=round(
                (1 - target_busy) * alone.catching_up + target_busy * beside.catching_up
            ),
        )
        return expected(alpha, timing, method=method, rows=rows, **settings), timing

    if method != "amusd":
        return at(0.0, 0.0)
    found, timing = at(1.0, 1.0)
    for _ in range(ROUNDS):  # How busy they are depends on how fast they are.
        found, timing = at(found.draft_busy, found.target_busy)
    return found, timing


def _mixed(alone: float, beside: float, share: float) -> float:
    """A duration of which the other side works beside ``share``; the speeds mix, not the times."""
    return 1 / ((1 - share) / alone + share / beside)


def _mixed_table(alone: Table, beside: Table, share: float) -> Table:
    rows = sorted({*alone.rows, *beside.rows})
    return Table.of({r: _mixed(alone(r - 1), beside(r - 1), share) for r in rows})


def _seen_costs(first: Costs, second: Costs) -> Costs:
    """Costs under one condition, where it was seen; else under the other."""
    costs = Costs(
        draft_step=first.draft_step or second.draft_step,
        catching_up=(first if first.draft_step else second).catching_up,
        target_pass=first.target_pass or second.target_pass,
    )
    if costs.draft_step is None or not costs.target_pass:
        raise SettingError(
            "the calibration holds no draft step or no target pass; calibrate with longer runs"
        )
    return costs


def _table(costs: Mapping[int, Estimate], which: str) -> Table:
    often = {rows: e for rows, e in costs.items() if e.count >= FEW} or dict(costs)
    return Table.of(_rising({rows: (getattr(e, which), e.count) for rows, e in often.items()}))


def _rising(costs: Mapping[int, tuple[float, int]]) -> dict[int, float]:
    """The closest costs that never fall with the rows: neighbours out of order are averaged."""
    pools: list[list[float]] = []
    for rows in sorted(costs):
        value, weight = costs[rows]
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n, i), (b, m, j) = pools[-2:]
            pools[-2:] = [[(a * n + b * m) / (n + m), n + m, i + j]]
    values = [value for value, _, size in pools for _ in range(int(size))]
    return dict(zip(sorted(costs), values, strict=True))
