"""The playground inside JupyterLab: choices explained, code copied, runs followed and stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SHOW = f"""\
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
from live_source import Replayed
from amusd_viz import recording
from amusd_viz.views.playground import Playground

class Session:
    def decode(self, prompt, method, **settings):
        return Replayed(recording(f"sky-{{method}}"), seconds=SECONDS)
    def close(self): pass

recorded = recording("sky-synchronous"), recording("sky-amusd")
playground = Playground(lambda pair: Session(), recordings=recorded)
playground"""


def test_choose_copy_run_and_stop(open_notebook, tmp_path):
    notebook = open_notebook([SHOW.replace("SECONDS", "60")])
    notebook.run_all()
    page = notebook.page
    root = notebook.widget(".amusd-theater")
    expect(page.get_by_text("AMUSD: the target waits for two proposals")).to_be_visible()
    page.get_by_text("The same in Python").click()
    # The page's own clipboard may be out of reach where no desktop is.
    page.evaluate(
        "() => { navigator.clipboard.writeText = async (text) => { window.kept = text; }; }"
    )
    page.locator(".amusd-copy").click()
    expect(page.locator(".amusd-copied")).to_have_text("Copied.")
    copied = page.evaluate("() => window.kept")
    assert "compare('Why is the sky blue?', ['synchronous', 'amusd']" in copied
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.evaluate("() => { document.execCommand = () => false; }")
    page.locator(".amusd-copy").click()
    expect(page.locator(".amusd-copied")).to_contain_text("Ctrl+C")
    assert page.evaluate("() => getSelection().toString()").strip() == copied.strip()
    page.locator(".widget-button", has_text="Run").click()
    expect(root.get_by_text("LIVE")).to_be_visible(timeout=30_000)
    root.get_by_role("button", name="Stop the run").click()
    expect(page.get_by_text("Done: ")).to_be_visible(timeout=30_000)
    expect(root.get_by_text("LIVE")).to_have_count(0)
    expect(root.get_by_role("button", name="Autoregressive")).to_be_visible()
    notebook.screenshot(tmp_path / "playground.png")
    assert notebook.script_errors == []
