"""The hand-driven run over real models: the same protocol, the same text, whatever is pressed."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch")

from tiny_models import save_tiny_pair

from amusd_viz import live_stepper, measure_row_cost
from amusd_viz.by_hand import ByHand, finish_by
from amusd_viz.by_hand.run import ACTIONS
from amusd_viz.engine.live_pair import LivePair
from amusd_viz.errors import AmusdVizError

PROMPT = "w1 w2 w3"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, str]:
    draft, target = save_tiny_pair(tmp_path_factory.mktemp("tiny"))
    return {"draft": str(draft), "target": str(target)}


@pytest.fixture(scope="module")
def pair(folders) -> LivePair:
    return LivePair(PROMPT, **folders)


def alone(pair: LivePair, tokens: int) -> list[int]:
    output: list[int] = []
    while len(output) < tokens and not (output and output[-1] in pair.end_tokens):
        output.append(pair.verify(output, ())[0][0].token)
    return output


@pytest.mark.parametrize("seed", range(4))
def test_no_schedule_changes_what_real_models_write(pair, seed):
    expected = alone(pair, 12)
    source, run = random.Random(seed), ByHand(pair, max_new_tokens=12)
    for _ in range(60):
        action = source.choice((*ACTIONS, "undo"))
        if action == "undo":
            run.undo()
        elif not run.why_not(action):
            run.press(action)
        assert list(run.tokens) == expected[: len(run.tokens)]
    if not run.state.done:
        finish_by(run, "paper")
    assert list(run.tokens) == expected
    run.trace.check()


def test_the_same_question_gets_the_same_answer_and_the_same_time(pair):
    before = [pair.draft(()), pair.verify((), ()), pair.draft([5, 6])]
    pair.draft([9])
    assert [pair.draft(()), pair.verify((), ()), pair.draft([5, 6])] == before
    assert all(took > 0 for _, took in before)


def test_a_stepper_over_real_models(folders):
    stepper = live_stepper(PROMPT, max_new_tokens=6, **folders)
    stepper._hear(stepper, {"press": "draft"}, [])
    assert stepper.problem == ""
    stepper.finish_by("paper")
    assert stepper.view["done"]
    assert "measured in this process" in stepper.fixed["measured"]
    assert [s[0] for s in stepper.view["scores"]].count("you") == 1


def test_what_cannot_work_is_a_sentence(folders):
    with pytest.raises(AmusdVizError, match="prompt is empty"):
        live_stepper("  ", **folders)
    with pytest.raises(AmusdVizError, match="no pair named 'gpt9'"):
        live_stepper(PROMPT, pair="gpt9")


def test_the_cost_of_rows_is_measured(folders):
    cost = measure_row_cost(target=folders["target"], repeats=1)
    assert sorted(cost.ms) == [1, 2, 4, 8, 16]
    assert min(cost.ms.values()) > 0
    assert "core" in cost.device
