"""A real JupyterLab and a real Chromium for the tests in this folder.

    @pytest.mark.browser
    def test_something(open_notebook):
        notebook = open_notebook("notebooks/00_watch_it_decode.ipynb", theme="dark")
        notebook.run_all()
        root = notebook.widget(".amusd-theater")
        root.get_by_role("button", name="play").click()
        notebook.screenshot(tmp_path / "theater.png")

The server has a random port, a token, and folders of its own for settings, data and runtime files;
it leaves by itself if the tests are killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from browser.lab_page import LabPage
from browser.lab_server import REPOSITORY, LabServer
from conftest import chromium
from playwright.sync_api import Browser, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A running JupyterLab."""
    server = LabServer(tmp_path_factory.mktemp("jupyter"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    # Not for the whole session: while Playwright runs, no other test could run an event loop.
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield chrome
        chrome.close()


@pytest.fixture
def open_notebook(lab_server: LabServer, browser: Browser) -> Iterator[Callable[..., LabPage]]:
    """A function that opens a copy of a notebook: ``open_notebook(path, theme="dark")``.

    Takes a path (relative to the repository) or a list of cells' source. Every copy has its own
    kernel, which ends with the test.
    """
    opened: list[LabPage] = []

    def open_one(
        source: str | Path | list[str],
        *,
        theme: str = "light",
        width: int = 1280,
        height: int = 900,
        reduced_motion: bool = False,
    ) -> LabPage:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
        )
        page = LabPage(context, lab_server, lab_server.add(_notebook(source)), theme)
        opened.append(page)
        page.open()
        return page

    yield open_one
    for page in opened:
        page.close()


def _notebook(source: str | Path | list[str]) -> nbformat.NotebookNode:
    if isinstance(source, list):
        cells = [nbformat.v4.new_code_cell(text) for text in source]
        metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        return nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    return nbformat.read(REPOSITORY / source, as_version=4)
