"""Draws one still for every fate of a proposal, its card pinned, to be looked at.

    python tests/browser/show_fates.py FOLDER [dark] [grey]

Each is the moment at which the fate becomes known; ``grey`` is half the contrast without colour.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "js"))

from browser.conftest import FLAGS
from browser.theater_page import put_theater
from conftest import chromium
from fated import Fated, one_of_each
from playwright.sync_api import Page, sync_playwright

GREY = ".amusd-theater { filter: grayscale(1) contrast(0.5) }"


def show(page: Page, fated: Fated, path: Path, *, dark: bool, grey: bool) -> None:
    put_theater(page, fated.trace, dark=dark, at=float(fated.t))
    if grey:
        page.add_style_tag(content=GREY)
    page.locator(f'.amusd-chip[data-token="0:{fated.branch}:{fated.position}"]').first.click()
    page.locator(".amusd-theater").screenshot(path=path)
    print(f"{path}: {page.locator('.amusd-card dd').nth(1).text_content()}")


def main(folder: Path, *, dark: bool, grey: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = chrome.new_page(viewport={"width": 1100, "height": 900})
        for fate, fated in one_of_each().items():
            show(page, fated, folder / f"{fate}.png", dark=dark, grey=grey)
        chrome.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), dark="dark" in sys.argv[2:], grey="grey" in sys.argv[2:])
