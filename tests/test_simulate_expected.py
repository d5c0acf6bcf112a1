"""Expectations and the gain map against closed forms and against long simulations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz.errors import SettingError
from amusd_viz.simulate import theory
from amusd_viz.simulate.expected import expected
from amusd_viz.simulate.gain import (
    Surroundings,
    amusd,
    best_amusd,
    best_synchronous,
    gain_map,
)
from amusd_viz.simulate.statistics import simulate_statistics
from amusd_viz.simulate.text import Iid
from amusd_viz.simulate.timing import in_target_steps

twelfths = st.integers(1, 12).map(lambda n: n / 12)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.integers(1, 6), twelfths)
def test_the_played_sum_is_the_closed_form_where_windows_are_whole(acceptance, wait, ratio):
    # In step a window takes T/c tokens; the closed form also allows fractions of a token.
    found = expected(acceptance, in_target_steps(ratio), policy=f"fixed({wait})", preemptible=True)
    closed = theory.amusd(acceptance, wait, ratio)
    whole = (max(1, (wait + 1) * ratio) / ratio) % 1 < 1e-9
    assert found.speedup == pytest.approx(closed, rel=1e-3 if whole else 0.1)


@given(st.floats(0, 1), st.integers(1, 12), twelfths)
@settings(max_examples=40, deadline=None)
def test_synchronous_decoding_is_its_closed_form(acceptance, lookahead, ratio):
    timing = in_target_steps(ratio)
    found = expected(acceptance, timing, method="synchronous", lookahead=lookahead)
    closed = theory.synchronous(acceptance, lookahead, ratio)
    assert found.speedup == pytest.approx(closed, rel=1e-3)


@pytest.mark.parametrize("ratio", [1 / 3, 0.5, 0.25, 2 / 3, 0.2])
@pytest.mark.parametrize("latency", [0.1, 0.29, 0.3, 0.6])
def test_steps_and_passes_of_a_common_measure_keep_their_phase(ratio, latency):
    """Whatever the phase is that a run begins with, an eager target meets it at every restart."""
    timing = in_target_steps(ratio, latency=latency)
    found = expected(0.5, timing, policy="eager")
    played = simulate_statistics(Iid(0.5), timing, tokens=40_000, policy="eager")
    assert found.speedup == pytest.approx(played.speedup, rel=0.02)
    assert found.waste == pytest.approx(played.waste, abs=0.02)


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.1, 0.95),
    twelfths,
    st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    st.sampled_from([0.0, 0.0, 0.02]),
    st.sampled_from(["eager", "fixed(1)", "paper", "fixed(5)"]),
    st.sampled_from([8, 256]),
    st.booleans(),
)
def test_expectations_hold_in_long_runs(
    acceptance, ratio, latency, slope, policy, run_ahead, preemptible
):
    timing = in_target_steps(ratio, latency=latency, slope=slope)
    how = {"policy": policy, "run_ahead": run_ahead, "preemptible": preemptible}
    found = expected(acceptance, timing, **how)
    played = simulate_statistics(Iid(acceptance), timing, tokens=40_000, **how)
    assert found.speedup == pytest.approx(played.speedup, rel=0.03)
    per_verification = played.tokens_per_verification
    assert found.tokens_per_verification == pytest.approx(per_verification, rel=0.03)
    assert found.target_busy == pytest.approx(played.busy["target"], abs=0.03)
    assert found.draft_busy == pytest.approx(played.busy["draft"], abs=0.04)
    assert found.waste == pytest.approx(played.waste, abs=0.03)


@given(st.floats(0.05, 1), st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5]), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_a_cell_of_the_map_is_the_closed_form_half_a_step_late(acceptance, ratio, wait):
    found = amusd(acceptance, wait, ratio, Surroundings())
    assert found == pytest.approx(theory.amusd(acceptance, wait, ratio, ratio / 2), rel=0.02)


def test_the_map_knows_where_asynchrony_pays():
    (low, high) = gain_map([0.4, 0.9], [0.05, 0.2], Surroundings())
    assert high[1] > 1.25 > 1.2 > high[0] > 1
    assert low[0] < 1.01
    (fair,) = gain_map([0.8], [0.1], Surroundings(tensor_parallel=1.6))
    assert fair[0] < 1


def test_the_best_settings_are_those_of_theory():
    for acceptance, ratio in ((0.8, 0.1), (0.9, 0.2), (0.98, 0.05)):
        found = best_synchronous(acceptance, ratio, Surroundings())
        assert found == pytest.approx(theory.best_lookahead(acceptance, ratio))
        best = best_amusd(acceptance, ratio, Surroundings())
        closed = theory.best_wait(acceptance, ratio, ratio / 2)
        assert best.speedup == pytest.approx(closed.speedup, rel=0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gain_map([1.5], [0.1], Surroundings()),
        lambda: gain_map([0.5], [0.0], Surroundings()),
        lambda: gain_map([0.5], [0.1], Surroundings(latency=float("nan"))),
        lambda: gain_map([0.5], [0.1], Surroundings(run_ahead=0)),
        lambda: expected(float("nan"), in_target_steps(0.1)),
    ],
)
def test_senseless_numbers_are_refused(call):
    with pytest.raises(SettingError, match="give"):
        call()
