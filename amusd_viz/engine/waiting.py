"""How a worker waits for a message: it spins briefly, then sleeps in short naps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

SPINS = 300
"""Looks at the mailbox before the first nap; about 100 microseconds."""
NAP_S = 50e-6


def wait_until(arrived: Callable[[], bool], patience_s: float = math.inf) -> bool:
    """Returns true when ``arrived()`` is, or false if it was not within ``patience_s`` seconds."""
    for _ in range(SPINS):
        if arrived():
            return True
    end = time.monotonic() + patience_s
    while not arrived():
        if time.monotonic() > end:
            return False
        time.sleep(NAP_S)
    return True
