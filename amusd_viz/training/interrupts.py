"""Interrupting long work without losing it: signals ask it to stop at the next good moment."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopping(stop: Callable[..., None]) -> Iterator[None]:
    """Inside the block an interrupt or termination calls ``stop`` instead of ending the process."""
    before = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
