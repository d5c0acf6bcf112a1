"""The stepper's Python side: what a press does to the widget, and that it needs no torch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hand_pair import MadeUpPair

from amusd_viz.errors import SettingError
from amusd_viz.views.stepper import Stepper

TWELVE = ("draft", "draft", "receive", "start", "draft", "draft", "draft", "finish", "read")


def test_a_press_changes_what_is_shown():
    stepper = Stepper()
    before = json.dumps(stepper.view)
    for action in TWELVE:
        shown = stepper.view
        stepper._hear(stepper, {"press": action}, [])
        assert stepper.view["presses"] == shown["presses"] + 1
        assert stepper.problem == ""
    assert "rolls back" in stepper.view["sentence"]
    for _ in TWELVE:
        stepper.press("undo")
    assert json.dumps(stepper.view) == before
    stepper._hear(stepper, {"finishBy": "paper"}, [])
    assert stepper.view["done"]
    names = [score[0] for score in stepper.view["scores"]]
    assert names.count("you") == 1
    assert "autoregressive" in names
    assert stepper.text.startswith(". When sunlight encounters")
    stepper.trace.check()


def test_what_the_target_has_rejected_is_shown_dead_and_not_before():
    stepper = Stepper()
    kinds = []
    for action in TWELVE:
        stepper.press(action)
        kinds.append([chip[2] for chip in stepper.view["draft"]["chips"]])
    assert "dead" not in str(kinds[:7])
    assert kinds[7].count("dead") == 4
    assert kinds[8] == ["known"] * 3
    assert stepper.view["target"]["chips"][2][1] == " sunlight"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"press": "finish"}, "No verification is running"),
        ({"press": "jump"}, "no action 'jump'"),
        ({"finishBy": "magic"}, "unknown window policy"),
        ({}, "no action 'None'"),
    ],
)
def test_a_senseless_message_gets_a_sentence_and_changes_nothing(message, words):
    stepper = Stepper()
    before = stepper.view
    stepper._hear(stepper, message, [])
    assert words in stepper.problem
    assert stepper.view == before


def test_models_that_fail_are_reported():
    class Failing(MadeUpPair):
        def draft(self, output):
            raise RuntimeError("out of memory")

    stepper = Stepper(Failing())
    stepper._hear(stepper, {"press": "draft"}, [])
    assert "out of memory" in stepper.problem
    assert not stepper.run.can_undo


def test_other_models_and_starts():
    stepper = Stepper(MadeUpPair(), max_new_tokens=6)
    assert repr(stepper) == "Stepper(made up, 6 tokens)"
    stepper.finish_by("eager")
    assert list(stepper.run.tokens) == MadeUpPair().alone(6)
    with pytest.raises(SettingError, match="start is 500"):
        Stepper(start=500)


def test_the_stepper_needs_no_torch():
    script = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from amusd_viz.views.stepper import Stepper\n"
        "Stepper().press('draft').finish_by('paper')"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
