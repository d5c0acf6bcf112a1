"""Calibration and prediction: from runs to numbers and back."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events
from amusd_viz.errors import SettingError
from amusd_viz.metrics import measure
from amusd_viz.paths import recording, recordings
from amusd_viz.simulate.agreement import agreement_of, known
from amusd_viz.simulate.calibration import (
    Calibration,
    calibrate_traces,
    mean,
    proportion,
    shipped_calibrations,
)
from amusd_viz.simulate.driver import Simulation, Timing, sides, simulate
from amusd_viz.simulate.held_out import (
    HELD_OUT_PROMPTS,
    HeldOutComparison,
    compare_with_runs,
    kept_comparisons,
)
from amusd_viz.simulate.logs import Recorder
from amusd_viz.simulate.prediction import _rising, predict
from amusd_viz.simulate.probe import PROMPTS, calibrate
from amusd_viz.simulate.replay import replay
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import Constant, Linear, with_jitter
from amusd_viz.trace import Trace

SENTENCE = ["the", "sky", "is", "blue", "because", "short", "waves", "scatter", "more"]
TIMING = Timing(14_000_000, Linear(30_000_000, 400_000), 90_000, 60_000, 2_000_000, 5_000_000)
RECORDED = recordings()


def simulated(method, *, tokens=160, seed=1, rate=0.85, **settings):
    agrees = agreement(Iid(rate), tokens, seed)
    timing = with_jitter(TIMING, 0.05, seed)
    text = text_of(agrees, SENTENCE, seed=seed)
    return simulate(text, timing, method=method, max_new_tokens=tokens, **settings)


def some_runs(seeds=range(4)):
    return [
        simulated(method, seed=seed, **settings)
        for seed in seeds
        for method, settings in (
            ("amusd", {}),
            ("synchronous", {"lookahead": 3}),
            ("synchronous", {"lookahead": 7}),
            ("autoregressive", {}),
        )
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.booleans(), min_size=2, max_size=60),
    st.sampled_from(["amusd", "synchronous"]),
    st.sampled_from(["eager", "paper", "fixed(4)"]),
)
def test_the_agreement_of_a_run_is_found_again(agrees, method, policy):
    text = text_of(agrees, SENTENCE)
    trace = simulate(text, TIMING, method=method, max_new_tokens=len(agrees), policy=policy)
    found = agreement_of(trace)
    assert all(a is None or a == b for a, b in zip(found, agrees, strict=True))
    assert found[1:].count(None) <= len(agrees) // 2 + 1


def test_a_calibration_finds_what_the_runs_were_made_with():
    found = calibrate_traces(some_runs())
    assert found.acceptance.low <= 0.85 <= found.acceptance.high
    assert found.together.draft_step.value == pytest.approx(14e6, rel=0.02)
    assert found.turns.target_pass[1].value == pytest.approx(30e6, rel=0.02)
    assert found.turns.target_pass[8].value == pytest.approx(32.8e6, rel=0.02)
    assert (found.latency_to_target, found.latency_to_draft) == (90_000, 60_000)
    assert (found.draft_prefill, found.target_prefill) == (2e6, 5e6)
    assert found.source == "simulated"


def test_a_prediction_holds_for_other_runs():
    told = predict(
        calibrate_traces(some_runs()), policies=("paper", "eager", "fixed(4)"), lookaheads=(4,)
    )
    predictions = {(p.method, p.setting): p for p in told}
    for method, setting, how in (
        ("autoregressive", "", {}),
        ("synchronous", "lookahead(4)", {"lookahead": 4}),
        ("amusd", "paper", {"policy": "paper"}),
        ("amusd", "eager", {"policy": "eager"}),
        ("amusd", "fixed(4)", {"policy": "fixed(4)"}),
    ):
        speeds = sorted(
            measure(simulated(method, tokens=400, seed=seed, **how)).tokens_per_second
            for seed in range(20, 27)
        )
        prediction = predictions[method, setting]
        assert prediction.tokens_per_second == pytest.approx(speeds[3], rel=0.1)
        assert prediction.low <= prediction.tokens_per_second <= prediction.high


@pytest.mark.parametrize("policy", ["paper", "eager", "fixed(4)"])
def test_a_prediction_for_short_runs_knows_their_end(policy):
    calibration = calibrate_traces(some_runs())
    endless, short = (
        predict(calibration, policies=(policy,), lookaheads=(), tokens=tokens)[1].tokens_per_second
        for tokens in (None, 24)
    )
    seeds = range(300, 360)
    runs = [measure(simulated("amusd", tokens=24, seed=n, policy=policy)) for n in seeds]
    decoded = 23 * len(runs) / sum(run.decode_seconds for run in runs)
    assert short == pytest.approx(decoded, rel=0.08)
    assert short < endless


@pytest.mark.parametrize("name", RECORDED)
def test_a_replayed_recording_takes_the_time_it_took(name):
    trace = recording(name)
    again = replay(trace).check()
    assert again.header.source == "simulated"
    assert again.tokens == trace.tokens
    assert again.duration == pytest.approx(trace.duration, rel=0.03)


def test_a_replayed_simulation_is_the_same_run():
    trace = simulated("amusd", tokens=80)
    again = replay(trace)
    assert again.committed_at == trace.committed_at
    assert len(again.of(events.RolledBack)) == len(trace.of(events.RolledBack))


def test_costs_never_fall_with_the_rows():
    assert _rising({1: (10, 1), 2: (8, 1), 4: (12, 5)}) == {1: 9, 2: 9, 4: 12}


def test_intervals():
    assert proportion(50, 100).low == pytest.approx(0.4038, abs=1e-3)
    assert proportion(100, 100).high == 1
    assert 0.95 < proportion(100, 100).low < 1
    assert mean([2.0, 4.0]).value == 3


def test_a_calibration_survives_its_file(tmp_path):
    calibration = calibrate(some_runs([0]))
    path = calibration.save(tmp_path / "pair.json")
    assert Calibration.load(path) == calibration
    assert path.stat().st_size < 5000


class Run:
    def __init__(self, trace):
        self.trace = trace


class ImaginarySession:
    """A session of the engine as far as measuring needs it, in virtual time."""

    rows = 8

    def __init__(self):
        self.asked = []

    def decode(self, prompt, method, *, max_new_tokens, **settings):
        self.asked.append((method, settings.get("lookahead")))
        seed = sum(map(ord, prompt))
        return Run(simulated(method, tokens=max_new_tokens, seed=seed, **settings))


def test_a_session_is_probed_with_every_method_and_window_size():
    session = ImaginarySession()
    found = calibrate(session, max_new_tokens=40)
    assert {("amusd", None), ("autoregressive", None)} <= set(session.asked)
    assert sorted(g for m, g in session.asked if m == "synchronous") == [1, 2, 3, 4, 5, 6, 7]
    assert sum(m == "autoregressive" for m, _ in session.asked) == 3
    assert set(range(1, 9)) <= set(found.turns.target_pass)


def test_steps_that_read_adopted_tokens_are_told_apart():
    text = text_of(agreement(Iid(0.9), 400, 3), SENTENCE, seed=3)
    timing = Timing(8_000_000, Constant(20_000_000), catching_up=5_000_000)
    run = simulate(text, timing, method="synchronous", lookahead=1, max_new_tokens=400)
    found = calibrate([run])
    assert found.turns.draft_step.value == pytest.approx(8e6)
    assert found.turns.catching_up == pytest.approx(5e6)
    assert "+5.00 for a token" in found.in_words()
    told = predict(found, lookaheads=(1,), policies=())[-1]
    assert told.tokens_per_second == pytest.approx(run.metrics.tokens_per_second, rel=0.03)


def test_predictions_are_compared_with_runs_of_other_prompts():
    session = ImaginarySession()
    told = predict(calibrate(session, max_new_tokens=300), policies=("paper",), lookaheads=(4,))
    assert not set(HELD_OUT_PROMPTS) & set(PROMPTS)
    found = compare_with_runs(session, told, max_new_tokens=300)
    held_out = found.held_out
    assert (found.prompts, found.max_new_tokens) == (len(HELD_OUT_PROMPTS), 300)
    assert [h.method for h in held_out] == ["autoregressive", "synchronous", "amusd"]
    assert all(len(h.measured) == len(HELD_OUT_PROMPTS) for h in held_out)
    assert all(abs(h.off) < 0.1 for h in held_out)


def test_a_comparison_is_kept_in_a_file(tmp_path):
    session = ImaginarySession()
    told = predict(calibrate(session, max_new_tokens=40), policies=("paper",), lookaheads=())
    found = compare_with_runs(session, told, prompts=HELD_OUT_PROMPTS[:2], max_new_tokens=40)
    file = found.save(tmp_path / "held-out.json")
    assert msgspec.json.decode(file.read_bytes(), type=HeldOutComparison) == found


def test_there_must_be_something_to_compare():
    told = predict(calibrate(some_runs([1])), policies=("paper",), lookaheads=())
    for predictions, prompts in (([], HELD_OUT_PROMPTS), (told, [])):
        with pytest.raises(SettingError, match="no prompt or no prediction"):
            compare_with_runs(ImaginarySession(), predictions, prompts=prompts)


@pytest.mark.parametrize("kept", kept_comparisons(), ids=lambda kept: f"{kept.pair}-{kept.dtype}")
def test_what_comes_with_the_package_was_measured_often_enough(kept):
    assert len(kept.held_out) >= 10
    assert all(len(one.measured) == kept.prompts for one in kept.held_out)


class CrowdedSession(ImaginarySession):
    """Both devices share their memory: each is slower while the other one works."""

    def decode(self, prompt, method, *, max_new_tokens, **settings):
        seed = sum(map(ord, prompt))
        text = text_of(agreement(Iid(0.85), max_new_tokens, seed), SENTENCE, seed=seed)
        target, draft = sides(
            method,
            max_new_tokens=max_new_tokens,
            **{"policy": "paper", "lookahead": 4, "run_ahead": 16, "rows": 8} | settings,
        )
        log = Recorder(text.words)
        timing = Timing(
            lambda: 18_000_000 if self.simulation.target.window else 14_000_000,
            lambda proposals: 33_000_000 if draft and method == "amusd" else 30_000_000,
            90_000,
            60_000,
        )
        self.simulation = Simulation(text, timing, target, draft, log)
        self.simulation.run()
        virtual = events.Device(name="virtual:0", label="virtual device 0")
        header = events.Header(
            source="simulated",
            method=method,
            max_new_tokens=max_new_tokens,
            draft=events.Model(name="draft") if draft else None,
            target=events.Model(name="target"),
            draft_device=virtual if draft else None,
            target_device=virtual,
        )
        return Run(Trace(header, log.events))


def test_predictions_know_that_each_side_slows_the_other_down():
    session = CrowdedSession()
    calibration = calibrate(session, max_new_tokens=300)
    assert calibration.turns.draft_step.value == pytest.approx(14e6, rel=0.01)
    assert calibration.together.draft_step.value == pytest.approx(18e6, rel=0.03)
    assert calibration.together.target_pass[2].value == pytest.approx(33e6, rel=0.01)
    told = predict(calibration, policies=("eager", "fixed(1)", "paper"), lookaheads=(4,))
    for held in compare_with_runs(session, told, max_new_tokens=300).held_out:
        assert abs(held.off) < 0.1, held


def test_the_shipped_calibrations_are_measured_ones_of_both_drafts():
    found = {c.pair: c for c in shipped_calibrations()}
    assert set(found) == {"twin", "small"}
    assert all(c.source == "measured" for c in found.values())
    assert found["small"].acceptance.high < found["twin"].acceptance.low
    assert found["small"].together.draft_step.value < found["twin"].together.draft_step.value


def test_what_cannot_be_calibrated_is_named(tmp_path):
    with pytest.raises(SettingError, match="no acceptance"):
        calibrate(simulated("autoregressive"))
    with pytest.raises(SettingError, match="no prompt"):
        calibrate(type("S", (), {"rows": 8, "decode": print})(), prompts=[])
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(SettingError, match="no calibration"):
        Calibration.load(tmp_path / "x.json")
    with pytest.raises(SettingError, match="cannot be read"):
        Calibration.load(tmp_path / "nothing.json")


def test_known_leaves_out_what_is_not_known():
    assert known([None, True, None, False]) == (True, False)


def test_heads_that_step_in_are_no_agreement_of_the_draft() -> None:
    agrees = agreement(Iid(0.85), 120, 2)
    text = text_of(agrees, SENTENCE, seed=2)
    wrong = replace(text, heads=[token + 1 for token in text.target])
    timing = replace(TIMING, head=500_000)
    trace = simulate(wrong, timing, method="amusd+speculator", max_new_tokens=120)
    assert any(p.branch < 0 for p in trace.of(events.Proposed))
    for told, agreed in zip(agreement_of(trace), agrees, strict=True):
        assert told is None or told is agreed
    found = calibrate_traces([trace])
    assert found.acceptance.count == len(known(agreement_of(trace)))
    with pytest.raises(SettingError, match="two drafters"):
        replay(trace)
