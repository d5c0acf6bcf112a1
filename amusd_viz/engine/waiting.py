"""How a worker waits for a message: it spins briefly, then sleeps in short naps."""

from __future__ import annotations

import time
from collections.abc import Callable

SPINS = 300
"""Looks at the mailbox before the first nap; about 100 microseconds."""
NAP_S = 50e-6


def wait_until(arrived: Callable[[], bool]) -> None:
    """Returns when ``arrived()`` is true."""
    for _ in range(SPINS):
        if arrived():
            return
    while not arrived():
        time.sleep(NAP_S)
