"""Notebook 01: one token at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amusd_viz.lessons.exercise import Exercise
from amusd_viz.lessons.tasks import FunctionTask, Mistake, NumberTask

NextToken = Callable[[list[int]], int]
END = 0


def counting(tokens: Sequence[int]) -> int:
    """A model that counts from the last token on, ends after 9, and repeats itself where it is told
    only one token."""
    return END if tokens[-1] == 9 else tokens[-1] + 1


def adding(tokens: Sequence[int]) -> int:
    """A model that needs everything before: the last digit of the sum."""
    return sum(tokens) % 10


def _plain_loop(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    output: list[int] = []
    while len(output) < most and not (output and output[-1] == end):
        output.append(next_token([*prompt, *output]))
    return output


def _without_end(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    return [t for t in _plain_loop(next_token, prompt, end, most) if t != end]


def _one_too_many(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    return _plain_loop(next_token, prompt, end, most + 1)


def _with_prompt(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    return [*prompt, *_plain_loop(next_token, prompt, end, most)]


def _only_last(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    return _plain_loop(lambda tokens: next_token(tokens[-1:]), prompt, end, most)


def _never_ending(next_token: NextToken, prompt: list[int], end: int, most: int) -> list[int]:
    return _plain_loop(next_token, prompt, -1, most)


EXERCISES = (
    Exercise(
        name="plain_loop",
        notebook=1,
        difficulty=1,
        minutes=5,
        task=FunctionTask(
            name="plain_loop",
            cases=(
                (counting, [3], END, 4),
                (counting, [7], END, 20),
                (adding, [1, 2], END, 6),
                (adding, [3, 4, 9], 6, 20),
                (counting, [9], END, 5),
                (adding, [5], END, 1),
            ),
            right=_plain_loop,
            mistakes=(
                Mistake(
                    _without_end,
                    "the end token is missing. It is part of the output: the model did write it. "
                    "Only the *text* leaves it out.",
                ),
                Mistake(
                    _one_too_many, "one token too many: look at when the loop asks about `most`."
                ),
                Mistake(
                    _with_prompt,
                    "your output begins with the prompt. The prompt is read, not written.",
                ),
                Mistake(
                    _only_last,
                    "the model is told the last token only. It answers from everything before.",
                ),
                Mistake(_never_ending, "the loop goes on behind the end token."),
            ),
            shown=lambda next_token, prompt, end, most: (
                f"{next_token.__name__}, {prompt}, end={end}, most={most}"
            ),
        ),
        praise="this is autoregressive decoding, the target alone. Everything else must write the same.",
        hints=(
            "Three things can end the loop or go into it: the end token, the length, and what the "
            "model is given to read.",
            "The model reads the prompt and everything written so far, every time.",
        ),
    ),
    Exercise(
        name="passes_for_a_window",
        notebook=1,
        difficulty=2,
        minutes=3,
        task=NumberTask(
            right=1,
            mistakes={
                7: "7 passes would be one for each token, as in writing. But these tokens are all known: "
                "the model can read them at once, as it reads a prompt.",
                8: "8 is the number of *rows* (the last committed token and the window), and of choices "
                "that come out. How many passes does reading a prompt take?",
                2: "one pass to read and one to choose? The choices come out of the pass that reads.",
                0: "the target has to look at them somehow.",
            },
            otherwise="think of how the model reads a prompt of 7 tokens.",
            tolerance=0,
        ),
        praise="one pass, with a row for each token. It is why guessing ahead can pay at all.",
        hints=(
            "In writing, each token is needed before the next can be computed. Is that so here?",
            "How many passes does the model take to read a prompt of 30 tokens?",
        ),
    ),
)
