"""The target puts questions to itself: they are a user's, ended, many, and none is measured anywhere."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
from tiny_models import save_tiny_pair, word_tokenizer

from amusd_viz.errors import SettingError
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import ModelSource
from amusd_viz.models.tokens import Tokens
from amusd_viz.training import own_questions
from amusd_viz.training.batch_decoder import Asked
from amusd_viz.training.held_out import forbidden, is_near_measured
from amusd_viz.training.prompts import OWN_FIRST, TEMPERATURES, is_set_aside

TEMPLATE = (
    "w10 w11 {% for m in messages %}w12 {{ m.content }} w13 {% endfor %}"
    "{% if add_generation_prompt %}w14{% endif %}"
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> ModelSource:
    _, folder = save_tiny_pair(tmp_path_factory.mktemp("models"))
    tokenizer = word_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return ModelSource("tiny", folder)


def questions(
    target: ModelSource, count: int, *, done: set[int] | None = None, part: int = 0, slots: int = 16
) -> list[Asked]:
    asked = own_questions.own_questions(
        load_model(target, "cpu", "fp32"),
        Tokens(target.folder),
        done or set(),
        part,
        2,
        slots=slots,
    )
    with torch.random.fork_rng():
        return list(islice(asked, count))


def test_where_the_user_speaks_is_told_by_the_template(target: ModelSource) -> None:
    tokens = Tokens(target.folder)
    whole = tokens.encode("w20 w21")
    assert tokens.user_turn() == whole[:3]
    assert tokens.user_turn("w20") == whole[:4]


def test_questions_are_whole_turns_of_a_user(
    target: ModelSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_questions, "AT_ONCE", 8)  # So that several rounds are needed.
    tokens = Tokens(target.folder)
    start, end = tokens.user_turn(), tokens.encode("w20")[-2:]
    made = questions(target, 12)
    for index, ids, temperature in made:
        assert index >= OWN_FIRST
        assert not is_set_aside(index)
        assert ids[:3] == start
        assert ids[-2:] == end
        assert len(ids) > 5
        assert temperature in dict(TEMPERATURES)
    assert len({index for index, *_ in made}) == 12


def test_parts_share_the_questions_and_those_answered_are_left_out(target: ModelSource) -> None:
    made, others = questions(target, 6), questions(target, 6, part=1)
    assert not {i for i, *_ in made} & {i for i, *_ in others}
    done = {i for i, *_ in made}
    assert not done & {i for i, *_ in questions(target, 6, done=done)}


def test_a_question_is_drawn_by_its_own_seed(target: ModelSource) -> None:
    made = {i: ids for i, ids, _ in questions(target, 8, slots=4)}
    again = {i: ids for i, ids, _ in questions(target, 8, slots=12)}
    assert made.keys() & again.keys()
    assert all(made[i] == again[i] for i in made.keys() & again.keys())


def test_without_a_chat_template_nobody_can_be_asked(tmp_path: Path) -> None:
    _, folder = save_tiny_pair(tmp_path)
    with pytest.raises(SettingError, match="no chat template"):
        questions(ModelSource("plain", folder), 1)


def test_what_is_measured_is_not_asked_not_even_in_other_words() -> None:
    assert all(is_near_measured(text) for text in forbidden())
    assert is_near_measured(
        "write a python function that returns the longest common prefix of words"
    )
    assert not is_near_measured(
        "Write a Python function that reads a file of names and greets them all."
    )
    assert not is_near_measured("What should I cook tonight?")


def test_a_question_that_is_measured_is_dropped(
    target: ModelSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []

    def first_of_all(text: str) -> bool:
        looked_at.append(text)
        return text == looked_at[0]

    first = questions(target, 4)
    monkeypatch.setattr(own_questions, "is_near_measured", first_of_all)
    assert questions(target, 3) == first[1:]
