"""Fifty runs in a row leave nothing behind: memory, open files and threads stay as they are."""

from __future__ import annotations

import gc
import os

import pytest

pytest.importorskip("torch")

import psutil
from tiny_models import save_tiny_pair

from amusd_viz.engine import Session

pytestmark = pytest.mark.engine

RUNS = 50
SLACK = 8 << 20
"""Bytes an allocator may keep for itself between the tenth run and the last."""


def test_fifty_runs_leave_nothing_behind(tmp_path) -> None:
    draft, target = save_tiny_pair(tmp_path)
    with Session(draft=str(draft), target=str(target)) as session:
        processes = [psutil.Process(pid) for pid in (os.getpid(), *session.worker_pids.values())]
        after_ten: list[tuple[int, int, int]] = []
        for number in range(RUNS):
            sampling = {"temperature": 1.0, "seed": number} if number % 2 else {}
            session.decode("w1 w2", max_new_tokens=100, **sampling).wait()
            if number == 9:
                after_ten = [_footprint(process) for process in processes]
        gc.collect()
        for before, process in zip(after_ten, processes, strict=True):
            memory, files, threads = _footprint(process)
            assert memory <= before[0] + SLACK
            assert files <= before[1]
            # The timer that waits for the draft's end may be on its way out.
            assert threads <= before[2] + 1


def _footprint(process: psutil.Process) -> tuple[int, int, int]:
    """Resident bytes, open files, threads."""
    return process.memory_info().rss, process.num_fds(), process.num_threads()
