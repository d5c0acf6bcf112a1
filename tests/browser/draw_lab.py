"""Draws the picture of the lab for notebook 04, in a real browser.

python tests/browser/draw_lab.py assets/pictures/lab.png      (or: make pictures)
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.conftest import FLAGS
from browser.theater_page import put_widget
from conftest import chromium
from PIL import Image
from playwright.sync_api import sync_playwright

from amusd_viz.views.bundle import style, widget_script
from amusd_viz.views.lab import Lab

TRAITS = ("settings", "fixed", "answer", "gain", "traces", "problem")
WIDTH = 1100
KEEP_EXTREMES = 1
"""Pillow's "maximum coverage": the few vermilion points stay vermilion."""


def draw(path: Path) -> None:
    lab = Lab()
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = chrome.new_page(viewport={"width": WIDTH + 32, "height": 1400})
        traits = {name: getattr(lab, name) for name in TRAITS}
        put_widget(page, widget_script("lab.js"), style("lab.css"), traits)
        page.wait_for_selector(".amusd-picture text")
        png = page.locator(".amusd-lab").screenshot()
        chrome.close()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, method=KEEP_EXTREMES, dither=0).save(path, optimize=True)
    print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
