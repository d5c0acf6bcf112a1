"""What a target pass costs by how many tokens it takes in."""

from __future__ import annotations

import time

import torch

from amusd_viz.lessons.recorded import RowCost
from amusd_viz.models.kernels import load
from amusd_viz.models.pairs import resolve_pair

ROWS = (1, 2, 4, 8, 16)
READ = 64
"""Tokens in the cache while passes are timed."""


def measure_row_cost(
    *, target: str | None = None, dtype: str | None = None, repeats: int = 5
) -> RowCost:
    """Times passes of one core over each number of rows, in turns; the fastest of each counts.

    Args:
        target: a model by name or path; by default the default target.
        dtype: of its weights; by default the fastest here (see :func:`~amusd_viz.models.kernels.load`).
        repeats: passes of each size.

    Raises:
        ModelError: the model cannot be had.
    """
    found = resolve_pair(draft="twin", target=target)
    torch.set_num_threads(1)
    model = load(found.target, dtype=dtype)
    lm = model.with_cache(READ + 2 * max(ROWS))
    text = [1 + i % 200 for i in range(READ + max(ROWS))]
    lm.prefill(text[:READ])
    fastest = dict.fromkeys(ROWS, float("inf"))
    for _ in range(repeats):
        for rows in ROWS:
            start = time.perf_counter_ns()
            lm.logits_after(text[: READ + 1], text[READ + 1 : READ + rows])
            fastest[rows] = min(fastest[rows], (time.perf_counter_ns() - start) / 1e6)
            lm.logits_after(text[:READ])  # rolls back, so that every pass begins at one length
    capability = torch.backends.cpu.get_cpu_capability()
    device = f"one CPU core, {model.dtype}, {model.kernel} kernel, {capability}"
    return RowCost(device=device, ms={rows: round(ms, 1) for rows, ms in fastest.items()})
