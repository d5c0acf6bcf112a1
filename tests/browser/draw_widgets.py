"""Draws the pictures of the lab and of the stepper for the notebooks, in a real browser.

python tests/browser/draw_widgets.py assets/pictures      (or: make pictures)
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.conftest import FLAGS
from browser.theater_page import put_widget
from conftest import chromium
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from amusd_viz.views.bundle import style, widget_script
from amusd_viz.views.lab import Lab
from amusd_viz.views.stepper import Stepper

WIDTH = 1100
KEEP_EXTREMES = 1
"""Pillow's "maximum coverage": the few vermilion points stay vermilion."""
DOOMED = ("draft", "draft", "receive", "start", "draft", "draft", "draft", "finish")
"""The rollback of notebook 03, up to where the draft does not know of it yet."""


def lab(page: Page) -> bytes:
    traits = ("settings", "fixed", "answer", "gain", "traces", "problem")
    _put(page, Lab(), "lab.js", "lab.css", traits)
    page.wait_for_selector(".amusd-picture text")
    return page.locator(".amusd-lab").screenshot()


def stepper(page: Page) -> bytes:
    by_hand = Stepper()
    for action in DOOMED:
        by_hand.press(action)
    _put(page, by_hand, "stepper_widget.js", "stepper.css", ("fixed", "view", "problem"))
    page.wait_for_selector(".amusd-stepper-sentence")
    return page.locator(".amusd-stepper").screenshot()


def _put(page: Page, widget: Any, script: str, css: str, traits: tuple[str, ...]) -> None:
    values = {name: getattr(widget, name) for name in traits}
    put_widget(page, widget_script(script), style(css), values)


def draw(folder: Path) -> None:
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for picture in (lab, stepper):
            page = chrome.new_page(viewport={"width": WIDTH + 32, "height": 1400})
            png = Image.open(io.BytesIO(picture(page))).convert("RGB")
            path = folder / f"{picture.__name__}.png"
            png.quantize(256, method=KEEP_EXTREMES, dither=0).save(path, optimize=True)
            print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
        chrome.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
