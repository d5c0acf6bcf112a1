"""The theater inside JupyterLab: themes, keys, several cells, restarts, scrolling, live runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.browser

SHOW = """\
from amusd_viz import Theater, recording
Theater(recording("sky-synchronous"), recording("sky-amusd"))"""

LIVE = f"""\
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
from live_source import Replayed
from amusd_viz import Theater, recording
run = Replayed(recording("sky-amusd"), seconds=2.5)
theater = Theater(run)
theater"""

IN_FLIGHT = "The draft does not know yet"


def sentence(root: Locator) -> str:
    return root.locator(".amusd-picture").get_attribute("aria-label") or ""


def playhead(root: Locator) -> float:
    return float(root.locator(".amusd-scrubber").input_value())


def test_a_cell_opens_on_the_rollback_and_follows_theme_and_width(open_notebook):
    notebook = open_notebook([SHOW])
    notebook.run_all()
    root = notebook.widget(".amusd-theater")
    assert IN_FLIGHT in sentence(root)
    expect(root.get_by_text("MEASURED")).to_be_visible()
    for theme, width in (("Light", 1600), ("Dark", 1280), ("Light", 800), ("Dark", 800)):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        expect(root).to_have_css("color-scheme", theme.lower())
        notebook.settle()
        box, frame = root.bounding_box(), root.locator(".amusd-picture").bounding_box()
        assert box["width"] > 0.7 * width
        assert 0.9 * box["width"] < frame["width"] < box["width"]
    assert notebook.script_errors == []


def test_keys_move_the_theater_and_not_the_notebook(open_notebook):
    notebook = open_notebook([SHOW, "1 + 1"])
    notebook.run_all()
    root = notebook.widget(".amusd-theater")
    root.focus()
    before = playhead(root)
    for key in ("ArrowRight", "ArrowRight", "r", "PageDown", "d", "d", "Space", "Space"):
        notebook.page.keyboard.press(key)
    assert playhead(root) > before
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2
    expect(root).to_be_focused()
    for key in ("a", "b", "x", "j", "k", "1", "m"):
        notebook.page.keyboard.press(key)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2
    assert notebook.page.locator(".jp-CodeCell").count() == 2


def test_play_step_scrub_hover_pin_and_present(open_notebook):
    notebook = open_notebook([SHOW])
    notebook.run_all()
    page, root = notebook.page, notebook.widget(".amusd-theater")
    before = playhead(root)
    root.get_by_role("button", name="play").click()
    page.wait_for_function(
        "(t) => Number(document.querySelector('.amusd-scrubber').value) > t", arg=before
    )
    root.get_by_role("button", name="pause").click()
    moved = playhead(root)
    root.get_by_role("button", name="Next step").click()
    assert playhead(root) > moved
    root.get_by_role("button", name="Previous rollback").click()
    root.locator('[data-look="contradicted"], [data-look="rejected"]').first.click()
    assert "draft's best" in root.locator(".amusd-card").inner_text()
    page.keyboard.press("Escape")
    root.get_by_role("button", name="Present").click()
    presented = page.locator(".amusd-presenting")
    size = page.viewport_size
    assert presented.bounding_box() == {
        "x": 0,
        "y": 0,
        "width": size["width"],
        "height": size["height"],
    }
    page.keyboard.press("PageDown")
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Notebook .amusd-theater")).to_have_count(1)
    assert notebook.script_errors == []


def test_two_theaters_rerun_and_scrolled_out_and_back(open_notebook):
    filler = "print('line\\n' * 200)"
    notebook = open_notebook([SHOW, filler, SHOW])
    notebook.run_all()
    page = notebook.page
    theaters = page.locator(".jp-Notebook .amusd-theater")
    expect(theaters).to_have_count(2)
    theaters.nth(1).scroll_into_view_if_needed()
    theaters.nth(1).focus()
    page.keyboard.press("ArrowRight")
    second = playhead(theaters.nth(1))
    theaters.nth(0).scroll_into_view_if_needed()
    assert playhead(theaters.nth(0)) < second
    theaters.nth(1).scroll_into_view_if_needed()
    assert playhead(theaters.nth(1)) == second
    expect(theaters.nth(1).locator(".amusd-picture text").first).to_be_visible()
    notebook.run_all()
    expect(theaters).to_have_count(2)
    assert IN_FLIGHT in sentence(theaters.nth(1))
    assert notebook.script_errors == []


def test_the_theater_still_works_after_the_kernel_restarts(open_notebook):
    notebook = open_notebook([SHOW])
    notebook.run_all()
    root = notebook.widget(".amusd-theater")
    notebook.page.evaluate(
        "() => [...window.jupyterapp.shell.widgets('main')].find((w) => w.sessionContext)"
        ".sessionContext.session.kernel.restart()"
    )
    notebook.settle()
    root.focus()
    before = playhead(root)
    notebook.page.keyboard.press("ArrowRight")
    assert playhead(root) > before


@pytest.mark.parametrize("subshells", ["perCommTarget", "disabled"])
def test_a_live_run_is_followed_while_the_kernel_is_busy(open_notebook, subshells):
    notebook = open_notebook([LIVE, "theater.wait(60)\nprint(theater.live, theater)"])
    set_subshells(notebook, subshells)
    seen = []
    notebook.page.expose_function("note", lambda value: seen.append(value))
    notebook.page.evaluate("""() => setInterval(() => {
        const scrubber = document.querySelector('.amusd-scrubber');
        if (scrubber) note(Number(scrubber.value));
    }, 100)""")
    notebook.run_all()
    root = notebook.widget(".amusd-theater")
    assert "False Theater(amusd)" in notebook.output(1)
    assert len({value for value in seen if value > 0}) > 5, "it grew in steps"
    root.focus()
    notebook.page.keyboard.press("End")
    assert "the run ends" in sentence(root)
    assert notebook.script_errors == []


def test_stop_ends_a_live_run_from_the_widget(open_notebook):
    notebook = open_notebook([LIVE.replace("seconds=2.5", "seconds=600")])
    notebook.run_all()
    root = notebook.widget(".amusd-theater")
    expect(root.get_by_text("LIVE")).to_be_visible()
    root.get_by_role("button", name="Stop the run").click()
    expect(root.get_by_text("LIVE")).to_have_count(0, timeout=30_000)


def set_subshells(notebook, value: str) -> None:
    notebook.page.evaluate(
        """async (value) => {
        const app = window.jupyterapp;
        const manager = app.serviceManager.kernels ?? null;
        const panel = [...app.shell.widgets('main')].find((w) => w.sessionContext);
        panel.sessionContext.session.kernel.commsOverSubshells = value;
    }""",
        value,
    )
