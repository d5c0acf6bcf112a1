"""What recording every event costs: steps that are recorded against steps that are not, in one run.

    python tests/measure_recording.py [--dtype fp32] [--rounds 2] [--json]

Each worker records eight steps, leaves the next eight unrecorded, and so on; medians of both are
compared by kind of step. What is switched off is everything that only the record needs: the best
candidates and their probabilities, making events, encoding and sending them, and with that what the
kernel's process does with them beside the devices.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

PROMPTS = (
    "Why is the sky blue?",
    "Write a Python function that merges two sorted lists.",
    "Tell a short story about two rival bakers.",
    "What should a beginner know about composting?",
    "Write an e-mail that moves a meeting from Monday to Wednesday.",
    "How do submarines dive and surface?",
)
WAYS = {
    "autoregressive": {"method": "autoregressive"},
    "AMUSD eager": {"method": "amusd", "policy": "eager"},
}
BLOCK = 8
WARM_UP = 4
"""The first steps of a run are left out."""
ENOUGH = 30
FOLDER = "AMUSD_VIZ_MEASURE_RECORDING"


class Switch:
    """Says in a worker whether this step is recorded, and notes how long steps take."""

    def __init__(self) -> None:
        self.on = True
        self.steps = 0
        self.noted: list[tuple[int, bool, int]] = []
        self._open: tuple[int, bool, int] | None = None

    def step(self, recorder: Any, rows: int) -> None:
        """A step over ``rows`` begins."""
        on = self.steps // BLOCK % 2 == 0
        if self.on and not on:
            recorder.flush()  # What was recorded is sent at the expense of what was recorded.
        self.close()
        self.on = on
        self.steps += 1
        self._open = (rows, on, time.perf_counter_ns())

    def close(self) -> None:
        """The step before is over."""
        if self._open and self.steps > WARM_UP:
            rows, on, start = self._open
            self.noted.append((rows, on, time.perf_counter_ns() - start))
        self._open = None

    def hand_in(self, side: str) -> None:
        """The run is over: its steps go to a file, and a new one may begin."""
        self.close()
        with (Path(os.environ[FOLDER]) / f"{side}.jsonl").open("a") as file:
            file.write(json.dumps(self.noted) + "\n")
        self.on, self.steps, self.noted = True, 0, []


def worker_that_switches(birth: Any) -> None:
    """Entry point of a worker process: the real one, with a switch in its recorder."""
    from amusd_viz import stamp
    from amusd_viz.engine import draft_worker, target_worker, worker
    from amusd_viz.engine.recorder import Recorder

    switch = Switch()
    for name in ("add", "extend", "later"):
        only_when_on(switch, Recorder, name)
    for name in ("proposal_received", "commit_heard", "verify_started", "verdict_reached"):
        only_when_on(switch, stamp, name, otherwise=())
    for module in (draft_worker, target_worker):
        only_when_on(switch, module, "chances")
    draft, target = draft_worker.DraftRun, target_worker.TargetRun
    around(draft, "_propose", first=lambda run, _: switch.step(run.recorder, 1))
    around(
        target,
        "_judge",
        first=lambda run, _, window: switch.step(run.recorder, 1 + len(window.tokens)),
    )
    for run_class in (draft, target):
        around(run_class, "_wait", first=lambda *_: switch.close())
        around(run_class, "play", then=lambda *_: switch.hand_in(birth.side.value))
    worker.worker_main(birth)


def only_when_on(switch: Switch, owner: Any, name: str, otherwise: Any = None) -> None:
    real = getattr(owner, name)
    setattr(owner, name, lambda *a, **k: real(*a, **k) if switch.on else otherwise)


def around(owner: Any, name: str, first: Any = None, then: Any = None) -> None:
    real = getattr(owner, name)

    def both(*given: Any) -> None:
        if first:
            first(*given)
        real(*given)
        if then:
            then(*given)

    setattr(owner, name, both)


def measure(dtype: str, rounds: int) -> dict[str, Any]:
    """Medians of recorded and unrecorded steps (ms) and their ratio, by way, device and rows."""
    import measure_recording  # As a module that the workers can import, too.

    from amusd_viz.engine import Session, worker_process

    worker_process.worker_main = measure_recording.worker_that_switches
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        with Session(dtype=dtype) as session:
            for name, how in WAYS.items():
                session.decode("Say hello.", max_new_tokens=32, **how).wait()
                for file in Path(folder).iterdir():
                    file.unlink()
                for prompt in PROMPTS * rounds:
                    session.decode(prompt, max_new_tokens=128, **how).wait()
                found[name] = {file.stem: compared(file) for file in sorted(Path(folder).iterdir())}
    return found


def compared(file: Path) -> dict[str, Any]:
    """Of one device: a comparison for each number of rows that was seen often enough."""
    times: dict[int, dict[bool, list[int]]] = defaultdict(lambda: {True: [], False: []})
    for line in file.read_text().splitlines():
        for rows, on, ns in json.loads(line):
            times[rows][on].append(ns)
    return {
        f"{rows} row{'s' * (rows > 1)}": {
            "steps": min(map(len, both.values())),
            "recorded_ms": round(statistics.median(both[True]) / 1e6, 3),
            "unrecorded_ms": round(statistics.median(both[False]) / 1e6, 3),
            "ratio": round(statistics.median(both[True]) / statistics.median(both[False]), 4),
        }
        for rows, both in sorted(times.items())
        if min(map(len, both.values())) >= ENOUGH
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--rounds", type=int, default=2, help="times six prompts")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.dtype, given.rounds)
    if given.json:
        print(json.dumps({"dtype": given.dtype, "ways": found}, indent=1))
        return
    for way, devices in found.items():
        for device, kinds in devices.items():
            for kind, one in kinds.items():
                print(f"{way:15} {device:7} {kind:7} {one['ratio']:.4f}  {one}")


if __name__ == "__main__":
    main()
