"""Runs a reader's function with a budget, so that an endless loop ends in a sentence.

Steps are lines of Python, counted by a trace function; where that is not enough (a loop that catches
everything), an alarm goes off again and again. One call of C code that never returns cannot be ended.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STEPS = 200_000
SECONDS = 5.0


class TookTooLong(BaseException):
    """The budget is spent. No ``Exception``, so that ``except Exception`` does not swallow it."""


class Trouble(Exception):
    """A reader's function did not return; the message says what happened, in a sentence."""


def call(function: Callable[..., Any], *arguments: Any, steps: int = STEPS) -> Any:
    """What ``function`` returns.

    Raises:
        Trouble: it raised, or its budget was spent.
    """
    try:
        with _budget(steps):
            return function(*arguments)
    except TookTooLong:
        raise Trouble(
            f"your function did not come to an end within {steps:,} steps: is there a loop that "
            "nothing stops?"
        ) from None
    except RecursionError:
        raise Trouble("your function calls itself without end") from None
    except Exception as error:
        what = " ".join(str(error).split())[:200]
        raise Trouble(f"your function raised {type(error).__name__}: {what}") from None


@contextmanager
def _budget(steps: int) -> Iterator[None]:
    left = steps

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left < 0:
                raise TookTooLong
        return count

    before = sys.gettrace()
    with _alarm():
        sys.settrace(count)
        try:
            yield
        finally:
            sys.settrace(before)


@contextmanager
def _alarm() -> Iterator[None]:
    """Rings after :data:`SECONDS`, and then ten times a second: one of them hits outside a ``try``."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
