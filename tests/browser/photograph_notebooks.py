"""Runs whole notebooks in JupyterLab, fails where a cell raised, and takes pictures to look at.

    python tests/browser/photograph_notebooks.py FOLDER [05 06 ...] [--width 1280]

Each notebook runs once; every screenful is taken light and then dark, as NAME-light-03.png.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import nbformat
from browser.conftest import FLAGS
from browser.lab_page import THEMES, LabPage
from browser.lab_server import REPOSITORY, LabServer
from conftest import chromium
from playwright.sync_api import Browser, sync_playwright

HEIGHT, OVERLAP = 1000, 60
LIMIT_S = 900
SCROLLER = ".jp-WindowedPanel-outer"


def photograph(browser: Browser, server: LabServer, file: Path, folder: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": HEIGHT})
    name = server.add(nbformat.read(file, as_version=4))
    notebook = LabPage(context, server, name, "light")
    notebook.open()
    start = time.perf_counter()
    notebook.run_all(limit=LIMIT_S)
    print(f"{file.stem}: all cells ran in {time.perf_counter() - start:.0f} s")
    for theme in THEMES:
        notebook.command("apputils:change-theme", theme=THEMES[theme])
        notebook.page.wait_for_timeout(1500)
        print(f"  {theme}: {_screenfuls(notebook, folder, f'{file.stem}-{theme}')} pictures")
    for error in notebook.script_errors:
        print(f"  script error: {error}")
    notebook.close()


def _screenfuls(notebook: LabPage, folder: Path, name: str) -> int:
    """Scrolls through the notebook from its top; returns how many pictures that took."""
    panel = notebook.page.locator(SCROLLER).first
    panel.evaluate("one => one.scrollTo(0, 0)")
    for number in range(100):
        # Cells far from the window are drawn only when they come near it.
        notebook.page.wait_for_timeout(700)
        notebook.screenshot(folder / f"{name}-{number:02d}.png")
        moved = panel.evaluate(
            """(one, overlap) => {
                const before = one.scrollTop;
                one.scrollBy(0, one.clientHeight - overlap);
                return one.scrollTop > before;
            }""",
            OVERLAP,
        )
        if not moved:
            return number + 1
    raise AssertionError(f"{name} does not end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("numbers", nargs="*", help="00 to 06; all if none is given")
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files = sorted((REPOSITORY / "notebooks").glob("0*.ipynb"))
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        server = LabServer(Path(home))
        server.start()
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for file in files:
            if not given.numbers or file.stem[:2] in given.numbers:
                photograph(chrome, server, file, given.folder, given.width)
        chrome.close()
        server.stop()


if __name__ == "__main__":
    main()
