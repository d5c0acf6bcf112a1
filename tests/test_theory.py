"""The closed forms against published and independently derived values, and their properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz.errors import SettingError
from amusd_viz.simulate import theory

steady = settings(deadline=None)
acceptances = st.floats(0, 1)
ratios = st.floats(0.01, 1)
waits = st.integers(0, 12)
latencies = st.floats(0, 4)


@pytest.mark.parametrize(
    ("acceptance", "lookahead", "ratio", "speedup"),
    [
        (0.8, 5, 0.1, 2.4595),
        (0.8, 4, 0.2, 1.8676),
        (0.9, 5, 0.5, 1.3387),
        (0.5, 3, 0.1, 1.4423),
        (1, 5, 0.1, 4.0),
    ],
)
def test_synchronous_values(acceptance, lookahead, ratio, speedup):
    assert theory.synchronous(acceptance, lookahead, ratio) == pytest.approx(speedup, abs=1e-3)


@pytest.mark.parametrize(
    ("acceptance", "wait", "ratio", "speedup"),
    [
        (0.8, 3, 0.1, 2.8427),
        (0.8, 0, 0.1, 2.6368),
        (0.8, 2, 0.1, 2.8191),
        (0.9, 2, 0.2, 3.1445),
        (0.9, 2, 0.5, 1.6570),
        (0.95, 5, 0.05, 8.3477),
        (1, 2, 0.1, 10),
        (1, 2, 0.5, 2),
        (1, 0, 0.25, 4),
        (0, 0, 0.1, 1),
    ],
)
def test_amusd_values(acceptance, wait, ratio, speedup):
    assert theory.amusd(acceptance, wait, ratio) == pytest.approx(speedup, abs=1e-3)


@pytest.mark.parametrize(("latency", "speedup"), [(0.05, 2.7642), (0.2, 2.5525), (0.5, 2.2135)])
def test_amusd_with_latency(latency, speedup):
    assert theory.amusd(0.8, 3, 0.1, latency) == pytest.approx(speedup, abs=1e-3)


@pytest.mark.parametrize(
    ("acceptance", "wait", "ratio", "hit_rate", "speedup"),
    [
        (0.8, 3, 0.1, 0.7, 3.8114),
        (0.9, 4, 0.1, 0.7, 5.6602),
        (0.6, 2, 0.1, 0.8, 2.2971),
        (0.8, 3, 0.1, 0.0, theory.amusd(0.8, 3, 0.1)),
    ],
)
def test_outcome_cache(acceptance, wait, ratio, hit_rate, speedup):
    found = theory.amusd_with_cache(acceptance, wait, ratio, hit_rate=hit_rate, cached=9)
    assert found == pytest.approx(speedup, abs=1e-3)


BEST = [
    # acceptance, ratio, synchronous (lookahead), AMUSD (wait), wait 2, never wait, cache, DSI
    (0.5, 0.1, 1.46, 2, 1.51, 2, 1.51, 1.33, 1.82, 1.82),
    (0.6, 0.2, 1.40, 2, 1.57, 1, 1.53, 1.51, 2.02, 1.92),
    (0.7, 0.1, 1.98, 4, 2.15, 3, 2.15, 1.94, 2.81, 2.70),
    (0.8, 0.05, 3.09, 8, 3.31, 6, 3.09, 2.76, 4.30, 4.17),
    (0.8, 0.1, 2.47, 6, 2.84, 3, 2.82, 2.64, 3.81, 3.57),
    (0.8, 0.2, 1.87, 4, 2.32, 1, 2.31, 2.28, 2.96, 2.78),
    (0.8, 0.5, 1.22, 2, 1.55, 0, 1.40, 1.55, 1.71, 1.67),
    (0.9, 0.1, 3.43, 10, 4.34, 4, 4.31, 4.20, 5.66, 5.26),
    (0.9, 0.2, 2.37, 7, 3.15, 1, 3.14, 3.13, 3.76, 3.57),
    (0.9, 0.5, 1.38, 3, 1.74, 0, 1.66, 1.74, 1.85, 1.82),
    (0.95, 0.1, 4.48, 15, 6.01, 4, 5.99, 5.94, 7.29, 6.90),
    (0.98, 0.05, 9.40, 37, 12.79, 9, 12.72, 12.66, 15.25, 14.49),
]


@pytest.mark.parametrize("row", BEST)
def test_best_settings(row):
    a, c, sync, lookahead, asynchronous, wait, two, never, cache, bound = row
    best_sync, best_async = theory.best_lookahead(a, c), theory.best_wait(a, c)
    assert best_sync == (lookahead, pytest.approx(sync, abs=5.1e-3))
    assert best_async == (wait, pytest.approx(asynchronous, abs=5.1e-3))
    assert theory.amusd(a, 2, c) == pytest.approx(two, abs=5.1e-3)
    assert theory.pearl(a, c) == pytest.approx(never, abs=5.1e-3)
    assert theory.distributed(a, c) == pytest.approx(bound, abs=5.1e-3)
    cached = max(1, round(1 / c) - 1)
    with_cache = theory.amusd_with_cache(a, max(1, wait), c, hit_rate=0.7, cached=cached)
    assert with_cache == pytest.approx(cache, abs=5.1e-3)


@pytest.mark.parametrize(
    ("acceptance", "ratio", "gains"),
    [
        (0.8, 0.1, (1.03, 0.94, 0.87, 0.81)),
        (0.9, 0.1, (1.15, 1.07, 1.01, 0.96)),
        (0.9, 0.3, (1.23, 1.16, 1.10, 1.05)),
        (0.6, 0.1, (0.92, 0.82, 0.74, 0.68)),
    ],
)
def test_equal_hardware(acceptance, ratio, gains):
    best = theory.best_wait(acceptance, ratio).speedup
    for tau, gain in zip((1.2, 1.4, 1.6, 1.8), gains, strict=True):
        rival = theory.best_lookahead(acceptance, ratio, tensor_parallel=tau).speedup
        assert best / rival == pytest.approx(gain, abs=5.1e-3)


@pytest.mark.parametrize(
    ("acceptance", "latencies_at"),
    [
        (0.7, (0.04, 0.13, 0.31, 0.43)),
        (0.8, (0.10, 0.26, 0.52, 0.69)),
        (0.9, (0.29, 0.60, 1.03, 1.30)),
        (0.95, (0.64, 1.13, 1.76, 2.15)),
    ],
)
def test_break_even_latency(acceptance, latencies_at):
    for ratio, latency in zip((0.05, 0.1, 0.2, 0.3), latencies_at, strict=True):
        found = theory.break_even_latency(acceptance, ratio)
        assert math.floor(found * 100) / 100 == pytest.approx(latency)
        assert theory.break_even_latency(acceptance, ratio, eager=True) >= found


@pytest.mark.parametrize(
    ("acceptance", "wait_at"), [(0.8, (5.8, 3.1, 1.3)), (0.9, (7.3, 3.6, 1.4))]
)
def test_optimal_wait(acceptance, wait_at):
    for ratio, wait in zip((0.05, 0.1, 0.2), wait_at, strict=True):
        assert theory.optimal_wait(acceptance, ratio) == pytest.approx(wait, abs=0.05)


@steady
@given(acceptances, st.integers(1, 12), ratios)
def test_asynchronous_is_never_below_synchronous(acceptance, lookahead, ratio):
    sync = theory.synchronous(acceptance, lookahead, ratio)
    assert theory.amusd(acceptance, lookahead, ratio) >= sync * (1 - 1e-6)


@steady
@given(acceptances, ratios, latencies)
def test_never_waiting_is_never_below_plain_decoding(acceptance, ratio, latency):
    assert theory.amusd(acceptance, 0, ratio, latency) >= 1 - 1e-6


@steady
@given(acceptances, waits, ratios, latencies)
def test_the_draft_bounds_every_method(acceptance, wait, ratio, latency):
    bound = theory.draft_bound(ratio) * (1 + 1e-6)
    assert theory.amusd(acceptance, wait, ratio, latency) <= bound
    assert theory.synchronous(acceptance, wait + 1, ratio, latency) <= bound


@steady
@given(st.tuples(acceptances, acceptances), waits, ratios, latencies)
def test_rises_with_acceptance(pair, wait, ratio, latency):
    low, high = sorted(pair)
    at = [theory.amusd(a, wait, ratio, latency) for a in (low, high)]
    assert at[0] <= at[1] * (1 + 1e-6)


@steady
@given(acceptances, waits, st.tuples(ratios, ratios), latencies)
def test_falls_with_the_ratio(acceptance, wait, pair, latency):
    low, high = sorted(pair)
    at = [theory.amusd(acceptance, wait, c, latency) for c in (low, high)]
    assert at[1] <= at[0] * (1 + 1e-6)


@steady
@given(acceptances, waits, ratios, st.tuples(latencies, latencies))
def test_falls_with_latency(acceptance, wait, ratio, pair):
    low, high = sorted(pair)
    at = [theory.amusd(acceptance, wait, ratio, delta) for delta in (low, high)]
    assert at[1] <= at[0] * (1 + 1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.amusd(1.1, 2, 0.1),
        lambda: theory.amusd(float("nan"), 2, 0.1),
        lambda: theory.amusd(0.8, -1, 0.1),
        lambda: theory.amusd(0.8, 2, 0),
        lambda: theory.amusd(0.8, 2, float("inf")),
        lambda: theory.amusd(0.8, 2, 0.1, -1),
        lambda: theory.amusd(0.8, 2.5, 0.1),
        lambda: theory.synchronous(0.8, 0, 0.1),
        lambda: theory.synchronous(0.8, 4, 0.1, tensor_parallel=0),
    ],
)
def test_senseless_numbers_are_refused_in_a_sentence(call):
    with pytest.raises(SettingError, match="; give "):
        call()
