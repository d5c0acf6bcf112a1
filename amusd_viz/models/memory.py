"""How much memory a pair needs, said and checked before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import psutil

from amusd_viz.errors import ModelError
from amusd_viz.models.pairs import Pair

_CGROUP_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_bytes() -> int:
    """Free memory of the machine, or of the container if that has less."""
    free = int(psutil.virtual_memory().available)
    for limit_file, usage_file in _CGROUP_LIMITS:
        try:
            limit = Path(limit_file).read_text().strip()
            usage = int(Path(usage_file).read_text())
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            free = min(free, int(limit) - usage)
    return max(0, free)


def check_memory(pair: Pair, dtype: str | None) -> str:
    """One sentence about the memory ``pair`` needs.

    Raises:
        ModelError: it is more than there is.
    """
    needed = pair.bytes_needed(2 if dtype in ("bf16", "fp16") else 4)
    free = available_bytes()
    said = f"{pair.name} needs about {_gb(needed)} of memory; {_gb(free)} are free."
    if needed > free:
        raise ModelError(f"{said} Choose a smaller pair or close other programs.")
    return said


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
