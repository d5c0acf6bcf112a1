"""Questions that the target itself puts: of more kinds than anybody would think of.

Given a chat template up to where the user speaks, a model that was trained on chats goes on with a
user's words, and what it samples is spread like the chats it knows (the idea is that of "Magpie",
arXiv 2406.08464). None of them is a prompt that is measured somewhere, nor close to one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import torch

from amusd_viz.models.tokens import Tokens
from amusd_viz.training.batch_decoder import Asked, BatchDecoder
from amusd_viz.training.held_out import is_near_measured
from amusd_viz.training.prompts import OWN_FIRST, answer_temperature

LONGEST = 64
"""Tokens of a question. One that has not ended by then is seldom one, and is dropped."""

AT_ONCE = 960
"""Questions asked for before the first of them is answered."""

TEMPERATURE = 0.8

OPENINGS = (
    *("", "Write", "", "Explain", "", "How", "", "Why", "", "What", "", "List", "", "Describe"),
    *("Give", "Make", "Tell", "Correct", "Compare", "Translate", "Calculate", "Imagine", "Hello"),
    *("Rewrite", "Who", "When", "A", "The", "Two", "Is", "If", "Create", "Draft", "Add", "Name"),
)
"""First words that questions are given in turn, because the target's own are much alike ("Can you")."""


def own_questions(
    model: torch.nn.Module,
    texts: Tokens,
    done: set[int],
    part: int,
    parts: int,
    *,
    slots: int,
    first: int = 0,
) -> Iterator[Asked]:
    """Prompts as of :func:`~amusd_viz.training.generate.training_prompts`, but the target's; without end.

    Args:
        model: the target.
        texts: its tokenizer, with a chat template.
        done: numbers of questions that have an answer.
        part, parts: which of them, of how many processes.
        slots: questions sampled at a time.
        first: how many numbers are left out.

    Raises:
        SettingError: the target has no chat template.
    """
    decoder = BatchDecoder(
        model,
        slots=slots,
        longest=len(texts.user_turn(max(OPENINGS, key=len))) + LONGEST + 1,
        end_tokens=texts.end_tokens,
        max_new_tokens=LONGEST,
    )
    numbers = (i for i in itertools.count(OWN_FIRST + first + part, parts) if i not in done)
    while True:
        opened = (
            (index, texts.user_turn(_opening(index)), TEMPERATURE)
            for index in itertools.islice(numbers, AT_ONCE)
        )
        for put in decoder.answers(opened):
            text = (_opening(put.index) + texts.text(put.tokens)).strip()
            ended = put.tokens[-1] in texts.end_tokens
            if text and ended and not is_near_measured(text):
                yield put.index, texts.encode(text), answer_temperature(random.Random(put.index))


def _opening(index: int) -> str:
    return OPENINGS[index % len(OPENINGS)]
