"""The exercises by name, and what a reader may ask of one: check, hint, solution."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from amusd_viz.errors import SettingError
from amusd_viz.lessons import progress
from amusd_viz.lessons.tasks import Task
from amusd_viz.paths import bundled

ANSWERS = "AMUSD_VIZ_ANSWERS"
"""Environment variable: a folder of worked answers, ``NAME.py`` each. They are no part of the package."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of the course.

    Attributes:
        name: by which it is checked.
        notebook: number of the notebook it stands in.
        difficulty: from 1 to 5.
        minutes: how long it takes.
        task: how answers are judged.
        praise: what a right answer gets to hear, besides that it is right.
        hints: from the gentlest on.
    """

    name: str
    notebook: int
    difficulty: int
    minutes: int
    task: Task
    praise: str
    hints: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Checked:
    """What came of a check.

    Attributes:
        name: of the exercise.
        right: whether the answer is right.
        message: a sentence.
    """

    name: str
    right: bool
    message: str

    def __repr__(self) -> str:
        return f"{'✓ Right' if self.right else '✗ Not yet'}: {self.message}"

    def __bool__(self) -> bool:
        return self.right


@dataclass(frozen=True, repr=False)
class Folded:
    """Text that is shown on demand."""

    title: str
    text: str
    is_code: bool = False

    def __repr__(self) -> str:
        return f"{self.title}: {self.text}"

    def _repr_html_(self) -> str:
        tag = "pre" if self.is_code else "p"
        return (
            f"<details><summary>{escape(self.title)}</summary>"
            f"<{tag}>{escape(self.text)}</{tag}></details>"
        )


def check(name: str, answer: Any) -> Checked:
    """Tests the reader's answer: a function, a number or a word.

    A wrong answer gets the hint that fits it. A function runs with a budget of steps.

    Raises:
        SettingError: there is no exercise of this name.
    """
    exercise = find(name)
    if answer is ...:
        return Checked(name, False, "write your answer in place of the three dots.")
    trouble = exercise.task.diagnose(answer)
    progress.note_check(name, right=not trouble)
    if trouble:
        return Checked(name, False, trouble)
    return Checked(name, True, exercise.praise)


_hints_given: dict[str, int] = {}


def hint(name: str) -> Folded:
    """The next hint of an exercise, folded; the first one when they are used up."""
    exercise = find(name)
    number = _hints_given.get(name, 0) % len(exercise.hints)
    _hints_given[name] = number + 1
    return Folded(f"Hint {number + 1} of {len(exercise.hints)}", exercise.hints[number])


def solution(name: str) -> Folded:
    """The worked answer, folded, where there is a folder of answers.

    Answers are kept apart from the course: a checkout has them in ``tests/answers``; elsewhere
    the environment variable ``AMUSD_VIZ_ANSWERS`` names the folder.
    """
    find(name)
    chosen = os.environ.get(ANSWERS)
    folder = Path(chosen).expanduser() if chosen else bundled("tests", "answers")
    file = folder / f"{name}.py"
    if not file.is_file():
        return Folded(
            "Solution",
            "The answers are kept apart from the notebooks; ask your teacher, or look into "
            "tests/answers of the repository.",
        )
    return Folded("Solution", file.read_text(encoding="utf-8"), is_code=True)


def find(name: str) -> Exercise:
    """The exercise of a name."""
    found = exercises()
    if name not in found:
        raise SettingError(
            f"there is no exercise named {name!r:.60}; there are: {', '.join(sorted(found))}"
        )
    return found[name]


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course."""
    from amusd_viz.lessons.exercises import asynchrony, decoding, scheduling, speculation

    modules = (decoding, speculation, asynchrony, scheduling)
    return {exercise.name: exercise for module in modules for exercise in module.EXERCISES}
