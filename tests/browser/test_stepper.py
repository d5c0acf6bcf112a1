"""The stepper in JupyterLab: a rollback by hand, taken back, and the text is the target's own."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELL = "from amusd_viz import Stepper\nstepper = Stepper()\nstepper"
CLICKS = ("draft", "draft", "receive", "start", "draft", "draft", "draft", "finish", "read")
"""Within twelve: “ light” is drafted where the target wants “ sunlight”, and three more behind it."""


def press(root, action: str) -> None:
    """Clicks a button and waits until the kernel has answered."""
    before = root.locator(".amusd-stepper-sentence").inner_text()
    root.locator(f'[data-action="{action}"]').click()
    expect(root.locator(".amusd-stepper-sentence")).not_to_have_text(before)


def dead(root) -> list[str]:
    return root.locator(".amusd-stepper-draft .amusd-stepper-chip-dead").all_inner_texts()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_rollback_with_three_doomed_proposals_and_back(open_notebook, tmp_path, theme):
    notebook = open_notebook([CELL], theme=theme, height=1100)
    notebook.run_all()
    root = notebook.widget(".amusd-stepper")
    assert len(CLICKS) <= 12
    for action in CLICKS[:-1]:
        press(root, action)
    assert dead(root) == ["light", "encounters", "these", "gases"]
    assert "does not know it yet" in root.locator(".amusd-stepper-sentence").inner_text()
    assert root.locator(".amusd-stepper-bar-dead").count() == 4
    notebook.screenshot(tmp_path / f"stepper_{theme}.png")
    press(root, "read")
    assert "rolls back" in root.locator(".amusd-stepper-sentence").inner_text()
    assert dead(root) == []
    press(root, "undo")
    assert dead(root) == ["light", "encounters", "these", "gases"]
    finish = root.locator('[data-action="finish"]')
    expect(finish).to_have_attribute("aria-disabled", "true")
    assert "No verification is running" in finish.inner_text()
    press(root, "finishBy")
    chips = root.locator(".amusd-stepper-target .amusd-stepper-chips").inner_text()
    assert chips.split()[:4] == [".", "When", "sunlight", "encounters"]
    assert root.locator(".amusd-stepper-mine td").first.inner_text() == "you"
    assert notebook.script_errors == []
