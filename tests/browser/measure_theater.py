"""Prints how fast the theater is in a real browser: two runs of 1,000 tokens, about 10,000 events.

    python tests/browser/measure_theater.py

First paint under 1 s, at least 50 frames a second at the median and no frame over 100 ms, a jump
under 50 ms, memory flat over ten replays.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "js"))

from browser.conftest import FLAGS
from browser.theater_page import put_theater
from conftest import chromium
from playwright.sync_api import Page, sync_playwright
from simulated import simulated

TOKENS = 1000

FIRST_PAINT = """async ([traits, script]) => {
  const started = performance.now();
  await window.mount(traits, script);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - started;
}"""

FRAMES = """async (ms) => {
  const root = document.querySelector(".amusd-theater");
  root.focus();
  root.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  const times = [];
  const started = performance.now();
  await new Promise((done) => {
    const frame = (now) => {
      times.push(now);
      if (performance.now() - started < ms) requestAnimationFrame(frame);
      else done();
    };
    requestAnimationFrame(frame);
  });
  root.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  return times.slice(1).map((t, i) => t - times[i]);
}"""

JUMPS = """async (count) => {
  const scrubber = document.querySelector(".amusd-scrubber");
  const times = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    scrubber.value = String(((i * 7919) % 1000) / 1000 * Number(scrubber.max));
    scrubber.dispatchEvent(new Event("input", { bubbles: true }));
    document.querySelector(".amusd-picture").getBoundingClientRect();
    times.push(performance.now() - started);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return times;
}"""

REPLAY = """async () => {
  const scrubber = document.querySelector(".amusd-scrubber");
  for (let i = 0; i <= 200; i++) {
    scrubber.value = String((i / 200) * Number(scrubber.max));
    scrubber.dispatchEvent(new Event("input", { bubbles: true }));
    if (i % 10 === 0) await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.enable") or session.send("Performance.getMetrics")
    used = {m["name"]: m["value"] for m in metrics["metrics"]}["JSHeapUsedSize"]
    session.detach()
    return used / 1e6


def measure(page: Page) -> None:
    from amusd_viz.views.bundle import widget_script

    runs = [simulated(method=m, tokens=TOKENS, agreement=0.8) for m in ("synchronous", "amusd")]
    events = sum(len(run.events) for run in runs)
    put_theater(page, runs[0])
    page.evaluate("() => { mounted[0].remove(); mounted[0].el.remove(); mounted.length = 0; }")
    traits = {"traces": [run.dumps().decode() for run in runs]}
    first = page.evaluate(FIRST_PAINT, [traits, widget_script()])
    print(f"{events} events; first paint {first:.0f} ms")
    frames = page.evaluate(FRAMES, 6000)
    print(
        f"playing: {1000 / statistics.median(frames):.0f} frames/s at the median, "
        f"longest frame {max(frames):.0f} ms ({len(frames)} frames)"
    )
    jumps = page.evaluate(JUMPS, 60)
    print(f"jump: {statistics.median(jumps):.1f} ms at the median, longest {max(jumps):.1f} ms")
    page.evaluate(REPLAY)
    sizes = [heap(page)]
    for _ in range(10):
        page.evaluate(REPLAY)
        sizes.append(heap(page))
    print("memory over ten replays, MB: " + " ".join(f"{size:.1f}" for size in sizes))


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        measure(chrome.new_page(viewport={"width": 1280, "height": 900}))
        chrome.close()
