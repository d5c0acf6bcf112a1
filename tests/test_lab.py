"""The lab's Python side: questions, answers, and what reaches the browser."""

import json
import subprocess
import sys

import pytest

from amusd_viz import Trace
from amusd_viz.errors import SettingError
from amusd_viz.simulate import theory
from amusd_viz.simulate.calibration import calibrate_traces
from amusd_viz.views.lab import Lab
from amusd_viz.views.lab_answer import answer, runs
from amusd_viz.views.lab_settings import (
    ACCEPTANCES,
    RATIOS,
    LabSettings,
    MeasuredPoint,
    presets,
    recorded_points,
)


def test_the_answer_is_what_theory_says():
    found = answer(LabSettings(acceptance=0.8, ratio=0.1, wait=3))
    assert found.synchronous.setting == "lookahead 6"
    assert found.synchronous.speedup == pytest.approx(2.47, abs=0.01)
    assert found.amusd.speedup == pytest.approx(theory.amusd(0.8, 3, 0.1), rel=0.01)
    assert found.synchronous.target_waits == pytest.approx(0.6 / 1.6)


def test_the_sentence_says_who_wins():
    said = {name: answer(settings).sentence for name, settings in presets().items()}
    assert said["The paper's pair: 8B and 1B, two GPUs"].startswith("AMUSD wins: 1.")
    fair = said["Equal hardware: the target on both devices"]
    assert fair.startswith("Synchronous decoding wins: with its target on both devices")
    assert "Synchronous decoding wins" in said["A slow network between the two"]
    slow = answer(LabSettings(acceptance=0.2, ratio=1.0, wait=4)).sentence
    assert "Plain decoding is faster than both." in slow


def test_the_runs_are_simulated_and_of_one_text():
    for settings in presets().values():
        turns, together = (trace.check() for trace in runs(settings))
        assert turns.tokens == together.tokens
        assert {turns.header.source, together.header.source} == {"simulated"}


def test_jitter_costs_something_and_is_seeded():
    steady = answer(LabSettings(wait=3))
    shaken = answer(LabSettings(wait=3, jitter=0.4))
    assert shaken == answer(LabSettings(wait=3, jitter=0.4))
    assert shaken.amusd.speedup < steady.amusd.speedup * 1.05
    assert shaken.amusd.speedup != steady.amusd.speedup


def test_a_move_reaches_the_browser():
    lab = Lab(acceptance=0.7)
    before = lab.answer, lab.traces, lab.gain
    lab.settings = {**lab.settings, "acceptance": 0.9}
    assert lab.answer != before[0]
    assert lab.traces != before[1]
    assert lab.gain is before[2]
    lab.settings = {**lab.settings, "latency": 0.5}
    assert lab.gain != before[2]
    assert len(lab.gain) == len(ACCEPTANCES)
    assert {len(row) for row in lab.gain} == {len(RATIOS)}
    assert [Trace.loads(t).header.method for t in lab.traces] == ["synchronous", "amusd"]
    json.dumps([lab.answer, lab.gain, lab.fixed])


@pytest.mark.parametrize(
    "wrong",
    [
        {"acceptance": 1.5},
        {"acceptance": float("nan")},
        {"acceptance": None},
        {"ratio": "x"},
        {"wait": 1.5},
        {"magic": 1},
    ],
)
def test_a_senseless_move_gets_a_sentence_and_changes_nothing(wrong):
    lab = Lab()
    before = lab.answer
    lab.settings = {**lab.settings, **wrong}
    assert lab.problem
    assert "\n" not in lab.problem
    assert lab.answer == before
    lab.set(acceptance=0.5)
    assert lab.problem == ""


def test_senseless_settings_are_refused():
    with pytest.raises(SettingError, match="acceptance is 2"):
        Lab(acceptance=2)
    with pytest.raises(SettingError, match="unknown lab setting 'speed'"):
        Lab(speed=2)


def test_measured_pairs_stand_on_the_map():
    labels = [point["label"] for point in Lab().fixed["points"]]
    assert any(label.startswith("published") for label in labels)
    for point in recorded_points():
        assert point.label in labels
    own = calibrate_traces(runs(LabSettings(acceptance=0.7, ratio=0.3))[1:])
    point = Lab(points=[own]).fixed["points"][0]
    assert point["ratio"] == pytest.approx(0.3, abs=0.01)
    assert Lab(points=[MeasuredPoint("mine", 0.5, 0.5)]).fixed["points"][0]["label"] == "mine"


def test_setting_moves_only_what_is_named():
    lab = Lab(acceptance=0.7, wait=4)
    lab.set(wait=1)
    assert (lab.settings["acceptance"], lab.settings["wait"]) == (0.7, 1)
    assert repr(lab).startswith("Lab(acceptance=0.7, ratio=0.1")
    assert lab.result.amusd.setting == "wait 1"


def test_the_lab_needs_no_torch():
    script = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from amusd_viz.views.lab import Lab\n"
        "Lab().set(latency=0.3)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
