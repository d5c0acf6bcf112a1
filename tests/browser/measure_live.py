"""Prints what following a live run costs, and how late it is on the screen.

    python tests/browser/measure_live.py          from an event to the screen, in real JupyterLab
    python tests/browser/measure_live.py pump 6   recording and the pump, no browser, 6 pairs of runs

From an event to the screen under 200 ms at the median; recording and the pump together under 2 % of
the decode time. Runs with and without a theater alternate in one process; needs the engine. On a busy
machine the ratio of their times says little; the shares beside it are counted, not timed against each
other, and bound what recording and pump cost from above.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from amusd_viz import events as ev

if TYPE_CHECKING:
    from amusd_viz import Session
    from amusd_viz.trace import Trace

PROMPT = "Why is the sky blue?"
PAIRS_OF_RUNS = 6  # unless another number is given
TOKENS = 48

LIVE = f"""\
import sys, json
sys.path.append({str(Path(__file__).parents[1])!r})
from live_source import Replayed
from amusd_viz import Theater, recording
run = Replayed(recording("sky-amusd"), seconds=8)
theater = Theater(run)
theater"""

WATCH = """() => {
    window.seen = [];
    let last = -1;
    const look = () => {
        const scrubber = document.querySelector('.amusd-scrubber');
        const value = scrubber ? Number(scrubber.value) : 0;
        if (value > last && value > 0) seen.push([value, Date.now() / 1000]);
        last = Math.max(last, value);
        requestAnimationFrame(look);
    };
    look();
}"""


def screen() -> None:
    from browser.conftest import FLAGS
    from browser.lab_page import LabPage
    from browser.lab_server import LabServer
    from conftest import chromium
    from nbformat import v4
    from playwright.sync_api import sync_playwright

    cells = [LIVE, "theater.wait(60)\nprint(json.dumps(run.came_at))"]
    notebook = v4.new_notebook(
        cells=[v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    server = LabServer(Path(tempfile.mkdtemp()))
    server.start()
    try:
        with sync_playwright() as playwright:
            chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            context = chrome.new_context(viewport={"width": 1280, "height": 900})
            page = LabPage(context, server, server.add(notebook), "light")
            page.open()
            page.page.evaluate(WATCH)
            page.run_all()
            came = json.loads(page.output(1))
            seen = page.page.evaluate("() => window.seen")
            chrome.close()
    finally:
        server.stop()
    late, update = [], 0
    for at, came_at in sorted(came):
        while update < len(seen) and seen[update][0] < at:
            update += 1
        if update < len(seen):
            late.append((seen[update][1] - came_at) * 1000)
    print(
        f"event to screen: {statistics.median(late):.0f} ms at the median, "
        f"longest {max(late):.0f} ms ({len(late)} events, {len(seen)} updates)"
    )


def pump(pairs: int) -> None:
    from amusd_viz import Session

    seconds: dict[bool, list[float]] = {True: [], False: []}
    kernel: dict[bool, list[float]] = {True: [], False: []}
    between: list[float] = []
    with Session() as session:
        _decode(session, watched=False)
        for index in range(2 * pairs):
            watched = index % 2 == 0
            trace, cpu = _decode(session, watched=watched)
            seconds[watched].append(trace.duration / 1e9)
            kernel[watched].append(cpu * 1e9 / trace.duration)
            between.append(_share_between_spans(trace))
    with_pump, without = (statistics.median(seconds[watched]) for watched in (True, False))
    pumping, reading = (statistics.median(kernel[watched]) for watched in (True, False))
    print(
        f"decode time with the pump / without: {with_pump / without:.3f} "
        f"({with_pump:.2f} s / {without:.2f} s, medians of {pairs})"
    )
    print(
        f"between two pieces of work of the busier device, recording included: "
        f"{statistics.median(between):.2%} of the time"
    )
    print(
        f"CPU of the kernel's process: {pumping:.2%} of the time with the pump, {reading:.2%} without; "
        f"the pump {pumping - reading:.2%}"
    )


def _decode(session: Session, *, watched: bool) -> tuple[Trace, float]:
    """A run, and the CPU seconds of this process meanwhile."""
    from amusd_viz import Theater

    before = time.process_time()
    run = session.decode(PROMPT, method="amusd", max_new_tokens=TOKENS)
    theater = Theater(run) if watched else None
    if theater:
        # Without a kernel nothing would be made ready to send.
        theater.send = lambda message: json.dumps(message).encode()
    trace = run.wait().trace
    cpu = time.process_time() - before
    if theater:
        theater.wait(10)
    return trace, cpu


def _share_between_spans(trace: Trace) -> float:
    """Of the busier device: how much of its time lies between the spans that it recorded."""
    shares = []
    for side in ev.Side:
        spans = sorted((e.start, e.end) for e in trace.events if e.side is side and _is_span(e))
        gaps = sum(max(0, b[0] - a[1]) for a, b in pairwise(spans))
        shares.append(gaps / (spans[-1][1] - spans[0][0]))
    return max(shares)


def _is_span(event: ev.Event) -> bool:
    return isinstance(event, ev.Span)


if __name__ == "__main__":
    if sys.argv[1:2] == ["pump"]:
        pump(int(sys.argv[2]) if sys.argv[2:] else PAIRS_OF_RUNS)
    else:
        screen()
    print("load average: " + ", ".join(f"{load:.1f}" for load in os.getloadavg()))
