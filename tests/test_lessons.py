"""The right answers pass, the plausible wrong ones get the fitting hint, and nothing hangs."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from amusd_viz import recording
from amusd_viz.errors import SettingError
from amusd_viz.invariants import check_events
from amusd_viz.lessons import (
    check,
    hint,
    predict,
    progress,
    quiz,
    recorded_distributions,
    recorded_row_cost,
    rollback_over,
    save,
    solution,
    toy,
)
from amusd_viz.lessons.budget import Trouble, call
from amusd_viz.lessons.exercise import exercises
from amusd_viz.lessons.faulty import faulty_run
from amusd_viz.lessons.moments import rolled_back_over
from amusd_viz.lessons.quiz import LETTERS

ANSWERS = Path(__file__).parent / "answers"


@pytest.fixture(autouse=True)
def _anew():
    progress.forget()


def answer_to(name: str):
    """The reference answer: a function of the file, or its ``answer``."""
    names = runpy.run_path(str(ANSWERS / f"{name}.py"))
    own = [
        v for k, v in names.items() if callable(v) and getattr(v, "__module__", "") == "<run_path>"
    ]
    return names["answer"] if "answer" in names else own[-1]


def test_every_exercise_has_an_answer_and_every_answer_an_exercise():
    assert {file.stem for file in ANSWERS.glob("*.py")} == set(exercises())


@pytest.mark.parametrize("name", list(exercises()))
def test_the_right_answer_passes(name):
    found = check(name, answer_to(name))
    assert found.right, found
    assert repr(found).startswith("✓ Right: ")


def test_enough_exercises_with_difficulty_and_minutes():
    by_notebook: dict[int, int] = {}
    for exercise in exercises().values():
        by_notebook[exercise.notebook] = by_notebook.get(exercise.notebook, 0) + 1
        assert 1 <= exercise.difficulty <= 5
        assert 2 <= exercise.minutes <= 30
        assert exercise.hints
    assert by_notebook[1] >= 2
    assert all(by_notebook[n] >= 4 for n in (2, 3, 4))


# -- plausible wrong answers -----------------------------------------------------------------


def loop_without_end(next_token, prompt, end, most):
    output = []
    while len(output) < most:
        token = next_token(prompt + output)
        if token == end:
            break
        output.append(token)
    return output


def loop_one_too_many(next_token, prompt, end, most):
    output = []
    while len(output) <= most:
        output.append(next_token(prompt + output))
        if output[-1] == end:
            break
    return output


def loop_with_prompt(next_token, prompt, end, most):
    text = list(prompt)
    while len(text) < len(prompt) + most:
        text.append(next_token(text))
        if text[-1] == end:
            break
    return text


def loop_of_the_last_token(next_token, prompt, end, most):
    output = [next_token(prompt[-1:])]
    while len(output) < most and output[-1] != end:
        output.append(next_token(output[-1:]))
    return output


def loop_without_stop(next_token, prompt, end, most):
    output = []
    while True:
        output.append(next_token(prompt + output))
        if output[-1] == end:
            return output


def agreeing_prefix(window, choices):
    committed = []
    for proposal, choice in zip(window, choices, strict=False):
        if proposal != choice:
            break
        committed.append(proposal)
    return committed


def every_choice(window, choices):
    return choices


def skips_the_wrong_one(window, choices):
    return [w for w, c in zip(window, choices, strict=False) if w == c] + choices[len(window) :]


def keeps_the_proposal(window, choices):
    committed = []
    for proposal, choice in zip(window, choices, strict=False):
        committed.append(proposal)
        if proposal != choice:
            return committed
    return [*committed, choices[-1]]


def no_bonus(window, choices):
    committed = []
    for proposal, choice in zip(window, choices, strict=False):
        committed.append(choice)
        if proposal != choice:
            break
    return committed


def tokens_of(p, q):
    return set(p) | set(q)


WRONG = {
    "plain_loop": [
        (loop_without_end, "end token is missing"),
        (loop_one_too_many, "[Oo]ne token too many"),
        (loop_with_prompt, "begins with the prompt"),
        (loop_of_the_last_token, "the last token only"),
        (loop_without_stop, "nothing stops"),
        (lambda *_: None, "has to be returned"),
        (lambda prompt: prompt, "raised TypeError"),
        (3, "the function itself"),
    ],
    "passes_for_a_window": [
        (7, "all known"),
        (8, "rows"),
        (2, "[Oo]ne to choose"),
        ("one", "number"),
    ],
    "judge": [
        (agreeing_prefix, "correction"),
        (every_choice, "another question|not in the text"),
        (skips_the_wrong_one, "behind the rejected"),
        (keeps_the_proposal, "last word"),
        (no_bonus, "bonus"),
        (lambda window, choices: [0], "by hand and compare"),
    ],
    "rejected_window": [(0, "throw that away"), (4, "size of the window"), (5, "fully accepted")],
    "acceptance": [
        (lambda p, q: sum(p.get(t, 0) * q.get(t, 0) for t in tokens_of(p, q)), "independent"),
        (lambda p, q: 1 - sum(min(p.get(t, 0), q[t]) for t in q), "rejected"),
        (lambda p, q: sum(p.get(t, 0) for t in q), "too often or too rarely"),
    ],
    "residual": [
        (lambda p, q: p, "their share already"),
        (lambda p, q: {t: max(0, p[t] - q.get(t, 0)) for t in p}, "add up to 1"),
        (
            lambda p, q: normal({t: abs(p.get(t, 0) - q.get(t, 0)) for t in tokens_of(p, q)}),
            "too often",
        ),
        (lambda p, q: normal({t: max(0, q[t] - p.get(t, 0)) for t in q}), "other way round"),
    ],
    "tokens_per_window": [
        (lambda a, k: a * k, "leaves out"),
        (lambda a, k: a * k + 1, "and so on"),
        (lambda a, k: sum(a**i for i in range(1, k + 1)), "on top, always"),
        (lambda a, k: sum(a**i for i in range(k)), "one term is missing"),
    ],
    "bubble": [
        (0, "nobody waits"),
        (28, "in the middle of a step"),
        (14, "waits for two"),
        (99, "rest"),
    ],
    "roll_back": [
        (lambda believed, at, new: believed[:at] + new, "carries on"),
        (lambda believed, at, new: believed[:at] + new + believed[at + len(new) :], "looks right"),
        (lambda believed, at, new: believed + new, "not appended"),
    ],
    "useful_and_doomed": [
        (lambda trace: split(trace, ["accepted"]), "overtaken"),
        (lambda trace: split(trace, all_fates_but("rejected")), "die with it"),
        (lambda trace: split(trace, all_fates_but()), "not a useful device"),
        (lambda trace: split(trace, ["accepted", "overtaken"])[::-1], "wrong way round"),
    ],
    "find_the_fault": [
        (13, "that is its right"),
        (20, "all in order"),
        (18, "nobody's fault"),
        (2, "alive"),
    ],
    "synchronous_speedup": [
        (lambda a, k, r: sum(a**i for i in range(k + 1)) / (k * r), "target pass"),
        (lambda a, k, r: sum(a**i for i in range(k + 1)), "take time too"),
        (lambda a, k, r: (1 + a * k) / (1 + k * r), "notebook 02"),
    ],
    "run_ahead": [
        ("faster", "judge what survives"),
        ("slower", "device of its own"),
        ("as fast, with less doomed work", "more dies"),
        ("maybe", "none of them"),
    ],
    "latency_budget": [(13.3, "both ways"), (0.53, "25 ms"), (26.5, "divide"), (1.0, "halve")],
    "beat_paper": [
        (lambda acceptance, ratio: 2, "`paper` itself"),
        (lambda acceptance, ratio: 0, "too little"),
        (lambda acceptance, ratio: 7, "too long"),
        (lambda acceptance, ratio: 3 if ratio == 0.05 else 2, "be bolder"),
        (lambda acceptance, ratio: -1, "whole number"),
        (lambda acceptance, ratio: 1 / 0, "ZeroDivisionError"),
    ],
}


def normal(weights):
    total = sum(weights.values())
    return {t: w / total for t, w in weights.items()}


def all_fates_but(*out):
    from amusd_viz.protocol.messages import Fate

    return [fate.value for fate in Fate if fate.value not in out]


def split(trace, useful):
    from amusd_viz.events import Proposed

    times = [0.0, 0.0]
    for step in trace.of(Proposed):
        fate = trace.fates[step.branch, step.position].value
        times[fate not in useful] += (step.end - step.start) / 1e6
    return times


def test_every_exercise_has_three_wrong_answers():
    assert set(WRONG) == set(exercises())
    assert all(len(wrong) >= 3 for wrong in WRONG.values())


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [(name, *case) for name, cases in WRONG.items() for case in cases],
)
def test_a_wrong_answer_gets_the_hint_that_fits(name, answer, words):
    found = check(name, answer)
    assert not found
    assert re.search(words, found.message), found.message
    assert repr(found).startswith("✗ Not yet: ")
    if isinstance(answer_to(name), int | float):
        told = re.findall(r"\d+(?:\.\d+)?", found.message)
        assert f"{answer_to(name)}" not in told, "a hint gives the answer away"


# -- endless loops and other trouble -----------------------------------------------------------


def endless():
    while True:
        pass


def endless_and_stubborn():
    while True:
        try:
            len("x")
        except:  # noqa: E722
            len("y")


def endless_recursion():
    return endless_recursion()


@pytest.mark.parametrize(
    ("function", "words"),
    [(endless, "nothing stops"), (endless_recursion, "without end"), (lambda: 1 / 0, "Zero")],
)
def test_trouble_in_a_readers_function_is_a_sentence(function, words):
    with pytest.raises(Trouble, match=words) as trouble:
        call(function, steps=5000)
    assert "\n" not in str(trouble.value)


def test_a_loop_that_catches_everything_ends_too(monkeypatch):
    from amusd_viz.lessons import budget

    monkeypatch.setattr(budget, "SECONDS", 0.2)
    with pytest.raises(Trouble, match="nothing stops"):
        call(endless_and_stubborn, steps=5000)


def test_the_budget_leaves_no_trace():
    import signal
    import sys

    before = sys.gettrace(), signal.getsignal(signal.SIGALRM)
    assert call(lambda x: x + 1, 1) == 2
    assert (sys.gettrace(), signal.getsignal(signal.SIGALRM)) == before


# -- hints, solutions, predictions, files ------------------------------------------------------


def test_hints_come_one_after_the_other():
    given = [hint("judge").text for _ in range(3)]
    assert given[0] != given[1]
    assert given[2] == given[0]
    assert "<details>" in hint("judge")._repr_html_()
    with pytest.raises(SettingError, match="no exercise named 'fly'"):
        hint("fly")


def test_solutions_are_folded_and_kept_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("AMUSD_VIZ_ANSWERS", str(ANSWERS))
    assert "def judge" in solution("judge").text
    assert "<details>" in solution("judge")._repr_html_()
    monkeypatch.setenv("AMUSD_VIZ_ANSWERS", str(tmp_path))
    assert "kept apart" in solution("judge").text


def test_no_answer_is_in_the_package():
    package = Path(progress.__file__).parents[1]
    sources = [squeezed(f.read_text(encoding="utf-8")) for f in package.rglob("*.py")]
    for file in ANSWERS.glob("*.py"):
        _, _, body = squeezed(file.read_text(encoding="utf-8")).partition("):")
        assert not any(body and body in source for source in sources), file.name


def squeezed(source: str) -> str:
    return "".join(source.split())


def test_predictions(capsys):
    guess = predict("rows", "How much?", default=8.0, most=20)
    assert guess.value == 8.0
    guess.reveal(1.5, "times")
    assert capsys.readouterr().out == "rows: the default was 8 times; it is 1.5 times.\n"
    chosen = predict("who", "Who waits?", choices=("nobody", "the target"), default="nobody")
    assert chosen.commit("the target").value == "the target"
    chosen.commit("nobody")
    assert chosen.value == "the target"
    chosen.reveal("the target")
    assert "you predicted “the target”" in capsys.readouterr().out
    assert repr(chosen) == "Prediction(who: 'the target')"
    with pytest.raises(SettingError, match="none of the choices"):
        predict("who", "Who?", choices=("a",), default="b")
    with pytest.raises(SettingError, match="not from"):
        predict("n", "How many?", default=200.0)
    with pytest.raises(SettingError, match="cannot be chosen"):
        predict("who", "Who?", choices=("a",), default="a").commit("b")


def test_predictions_and_checks_are_saved_and_added_to(tmp_path):
    path = tmp_path / "answers.json"
    check("rejected_window", 0)
    check("rejected_window", 1)
    check("rejected_window", 0)
    predict("rows", "How much?", default=8.0).reveal(1.5)
    save(path, name="Ada")
    progress.forget()
    check("judge", every_choice)
    save(path)
    kept = json.loads(path.read_text())
    assert kept["name"] == "Ada"
    assert kept["checks"] == {
        "rejected_window": {"right": True, "tries": 2},
        "judge": {"right": False, "tries": 1},
    }
    assert kept["predictions"]["rows"] == {"predicted": 8.0, "committed": False, "actual": 1.5}
    (tmp_path / "other").write_text("{}")
    with pytest.raises(SettingError, match="holds no answers"):
        save(tmp_path / "other")
    with pytest.raises(SettingError, match="cannot be written"):
        save(tmp_path / "no" / "such" / "folder")


# -- the quiz ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_quiz_is_sound(seed):
    made = quiz(seed)
    made.trace.check()
    assert made.trace.header.source == "simulated"
    assert made.key == quiz(seed).key
    assert repr(made) == repr(quiz(seed))
    assert len(made.questions) >= 6
    for question in made.questions:
        assert len(set(question.choices)) == 4
    assert f"{len(made.key)} of {len(made.key)} right" in repr(made.answer(made.key))
    wrong = "".join(LETTERS[(LETTERS.index(c) + 1) % 4] for c in made.key)
    assert "0 of " in repr(made.answer(wrong))
    assert "✓" not in made._repr_html_()


def test_quizzes_differ_and_refuse_nonsense():
    assert len({quiz(seed).key for seed in range(8)}) > 4
    with pytest.raises(SettingError, match="6 letters"):
        quiz(1).answer("ab")
    with pytest.raises(SettingError, match="seed is -1"):
        quiz(-1)


# -- the material ------------------------------------------------------------------------------


def test_the_toy_is_what_the_notebook_says():
    trace = toy()
    assert trace.tokens == (1, 2, 3, 4, 5, 6)
    assert trace.header.source == "simulated"
    assert trace.metrics.rollbacks == 1
    assert toy("synchronous").tokens == trace.tokens == toy("autoregressive").tokens


def test_the_sunlight_rollback_is_in_the_recordings():
    for name in ("sky-amusd", "sky-synchronous"):
        trace = recording(name)
        rollback, discarded = rolled_back_over(trace)
        assert rollback_over(trace).startswith("rollback ")
        assert discarded[:2] == [" light", " encounters"]
        tail = trace.texts[rollback.position + 1]
        assert tail == " encounters", "the tail that equals the final text, and dies"
    with pytest.raises(SettingError, match="no rollback"):
        rollback_over(recording("sky-amusd"), " moonlight")


def test_the_faulty_run_has_one_fault_and_three_lures():
    run = faulty_run()
    assert run.fault not in (*run.rejections, *run.rollbacks, *run.innocent)
    assert run.rejections
    assert run.rollbacks
    assert run.innocent
    assert repr(run).count("\n") == len(run.lines) - 1


def test_the_recorded_distributions_are_distributions():
    for position, both in recorded_distributions().items():
        for chances in (both.p, both.q):
            assert sum(chances.values()) == pytest.approx(1, abs=1e-4), position
            assert len(chances) == 40
    costs = recorded_row_cost().ms
    assert costs[8] < 8 * costs[1]


def test_recordings_are_valid():
    for name in ("sky-amusd", "sky-synchronous", "sky-autoregressive"):
        trace = recording(name)
        check_events(trace.header, trace.events)
