"""How answers are judged: against the real thing, and against the mistakes people make.

A task names the right result by what the package itself computes, and each plausible mistake by what it
would give. An answer that behaves like a mistake gets that mistake's hint.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from amusd_viz.lessons.budget import Trouble, call


class Task(Protocol):
    """Something that can be answered."""

    def diagnose(self, answer: Any) -> str:
        """What is wrong with an answer, in words that help; empty if it is right."""
        ...


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer: what it computes, and what to say to it."""

    gives: Callable[..., Any]
    hint: str


@dataclass(frozen=True)
class FunctionTask:
    """Write a function.

    Attributes:
        name: how the function is called in the notebook.
        cases: arguments it is tried with.
        right: what it should give, by the package's own means.
        mistakes: what people write instead.
        shown: a case in words; by default its arguments.
    """

    name: str
    cases: Sequence[tuple]
    right: Callable[..., Any]
    mistakes: Sequence[Mistake]
    shown: Callable[..., str] | None = None

    def diagnose(self, answer: Any) -> str:
        if not callable(answer):
            return (
                f"give the function itself: check(..., {self.name}), without parentheses behind it."
            )
        results = []
        for case in self.cases:
            try:
                results.append(call(answer, *copy.deepcopy(case)))
            except Trouble as trouble:
                return f"for {self._call(case)}, {trouble}."
        expected = [self.right(*case) for case in self.cases]
        if all(map(same, results, expected)):
            return ""
        if all(result is None for result in results):
            return f"{self.name} returned None: what it finds has to be returned."
        for mistake in self.mistakes:
            if all(map(same, results, (mistake.gives(*case) for case in self.cases))):
                return mistake.hint
        wrong = next(
            i for i, (a, b) in enumerate(zip(results, expected, strict=True)) if not same(a, b)
        )
        return (
            f"{self._call(self.cases[wrong])} returned {_short(results[wrong])}. "
            "Work that one out by hand and compare."
        )

    def _call(self, case: tuple) -> str:
        inside = self.shown(*case) if self.shown else ", ".join(map(_short, case))
        return f"{self.name}({inside})"


@dataclass(frozen=True)
class NumberTask:
    """Say a number.

    Attributes:
        right: the number.
        mistakes: hints by the wrong number that calls for them.
        otherwise: the hint for any other.
        tolerance: how far off is still right, as a share.
    """

    right: float
    mistakes: Mapping[float, str]
    otherwise: str
    tolerance: float = 0.02

    def diagnose(self, answer: Any) -> str:
        if isinstance(answer, bool) or not isinstance(answer, int | float) or math.isnan(answer):
            return f"the answer is a number, not {_short(answer)}."
        if self._near(answer, self.right):
            return ""
        return next((h for n, h in self.mistakes.items() if self._near(answer, n)), self.otherwise)

    def _near(self, answer: float, number: float) -> bool:
        return math.isclose(answer, number, rel_tol=self.tolerance, abs_tol=1e-9)


@dataclass(frozen=True)
class ChoiceTask:
    """Choose one of some words.

    Attributes:
        right: the right choice.
        mistakes: a hint for each of the others.
    """

    right: str
    mistakes: Mapping[str, str]

    def diagnose(self, answer: Any) -> str:
        if answer == self.right:
            return ""
        choices = ", ".join(repr(choice) for choice in sorted((self.right, *self.mistakes)))
        unknown = f"choose one of {choices}; {_short(answer)} is none of them."
        return self.mistakes.get(answer, unknown) if isinstance(answer, str) else unknown


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal: lists and tuples alike, numbers to within rounding."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = set(one) | set(other)
        # A token of probability 0 may be left out.
        return all(same(one.get(key, 0.0), other.get(key, 0.0)) for key in keys)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return bool(one == other)
    except Exception:
        return False


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 90 else text[:87] + "..."
