"""How much memory a pair needs, said and checked before anything is loaded."""

from __future__ import annotations

from amusd_viz.errors import ModelError
from amusd_viz.machine import memory_available
from amusd_viz.models.pairs import Pair


def check_memory(pair: Pair, dtype: str | None) -> str:
    """One sentence about the memory ``pair`` needs.

    Raises:
        ModelError: it is more than there is.
    """
    needed = pair.bytes_needed(2 if dtype in ("bf16", "fp16") else 4)
    free = memory_available()
    said = f"{pair.name} needs about {_gb(needed)} of memory"
    if free is None:
        return f"{said}."
    if needed > free:
        raise ModelError(
            f"{said}, and {_gb(free)} are free; choose a smaller pair or close other programs"
        )
    return f"{said}; {_gb(free)} are free."


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
