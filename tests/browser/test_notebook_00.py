"""The main job on real input: the first notebook, run whole, in a real JupyterLab."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.engine]


def picture(root) -> str:
    return root.locator(".amusd-picture").inner_html()


def playhead(root) -> float:
    return float(root.locator(".amusd-scrubber").input_value())


@pytest.mark.timeout(900)
def test_the_first_notebook_decodes_and_is_seen(open_notebook, tmp_path) -> None:
    notebook = open_notebook("notebooks/00_watch_it_decode.ipynb")
    notebook.run_all(limit=800)
    page = notebook.page
    text = page.locator(".jp-Notebook").inner_text()
    assert "same tokens:   True" in text
    assert "'measured'" in text
    theaters = page.locator(".jp-Notebook .amusd-theater")
    live = theaters.nth(1)
    live.wait_for(state="attached")
    assert theaters.count() == 2
    live.scroll_into_view_if_needed()
    assert live.get_by_text("MEASURED").is_visible()
    live.focus()
    page.keyboard.press("Home")
    before, start = picture(live), playhead(live)
    live.get_by_role("button", name="Next step").click()
    stepped = picture(live)
    assert stepped != before, "rows and lanes change with a step"
    assert playhead(live) > start
    live.get_by_role("button", name="play").click()
    page.wait_for_function(
        """([index, from]) => Number(
            document.querySelectorAll('.jp-Notebook .amusd-scrubber')[index].value) > from""",
        arg=[1, playhead(live)],
    )
    live.get_by_role("button", name="pause").click()
    assert picture(live) != stepped, "rows and lanes change while it plays"
    notebook.screenshot(tmp_path / "notebook_00.png")
    assert notebook.script_errors == []
