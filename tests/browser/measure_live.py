"""Prints what following a live run costs, and how late it is on the screen.

    python tests/browser/measure_live.py          from an event to the screen, in real JupyterLab
    python tests/browser/measure_live.py pump     decode time with and without a theater, no browser

From an event to the screen under 200 ms at the median; recording and the pump together under 2 % of
the decode time (runs with and without alternate in one process; needs the engine).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

PROMPT = "Why is the sky blue?"
PAIRS_OF_RUNS = 8

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
    newest, late = 0, []
    for playhead, at in seen:
        # The event that moved the playhead here, and when it came to be.
        while newest < len(came) and came[newest][0] <= playhead:
            newest += 1
        if newest:
            late.append((at - came[newest - 1][1]) * 1000)
    print(
        f"event to screen: {statistics.median(late):.0f} ms at the median, "
        f"longest {max(late):.0f} ms ({len(late)} updates)"
    )


def pump() -> None:
    from amusd_viz import Session, Theater

    with Session() as session:
        session.decode(PROMPT, method="amusd", max_new_tokens=32).wait()
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for index in range(2 * PAIRS_OF_RUNS):
            watched = index % 2 == 0
            run = session.decode(PROMPT, method="amusd", max_new_tokens=64)
            theater = Theater(run) if watched else None
            seconds[watched].append(run.wait().trace.duration / 1e9)
            if theater:
                theater.wait(10)
    with_pump, without = (statistics.median(seconds[watched]) for watched in (True, False))
    print(
        f"decode time with the pump / without: {with_pump / without:.3f} "
        f"({with_pump:.2f} s / {without:.2f} s, medians of {PAIRS_OF_RUNS})"
    )


if __name__ == "__main__":
    pump() if "pump" in sys.argv[1:] else screen()
