"""The site's stepper and quiz in a browser, without kernel or network."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from amusd_viz.lesson_pages import quiz_page, stepper_page
from amusd_viz.lessons.quiz import quiz

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browser: Browser, tmp_path):
    pages: list[Page] = []

    def open_one(html: str) -> Page:
        file = tmp_path / f"page-{len(pages)}.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_one
    for page in pages:
        page.close()


def test_the_stepper_of_the_site(open_page, tmp_path):
    page = open_page(stepper_page(4, 3).html)
    root = page.locator(".amusd-stepper")
    root.wait_for()
    opening = shown(root)
    for action in ("draft", "draft", "receive", "start", "draft", "finish"):
        root.locator(f'[data-action="{action}"]').click()
    assert "does not know it yet" in root.locator(".amusd-stepper-sentence").inner_text()
    dead = root.locator(".amusd-stepper-draft .amusd-stepper-chip-dead")
    assert dead.all_inner_texts() == ["light", "encounters"]
    page.screenshot(path=tmp_path / "site_stepper.png")
    expect(root.locator('[data-action="finishBy"]')).to_have_count(0)
    for _ in range(6):
        root.locator('[data-action="undo"]').click()
    assert shown(root) == opening, "undo is exact"
    for action in ("start", "finish", "start", "finish", "start", "finish"):
        root.locator(f'[data-action="{action}"]').click()
    chips = root.locator(".amusd-stepper-target .amusd-stepper-chips").inner_text()
    assert chips.split() == [".", "When", "sunlight", "encounters"]
    assert "you" in root.locator(".amusd-stepper-mine").inner_text()
    assert page.errors == []


def test_the_quiz_of_the_site_marks_itself(open_page):
    page = open_page(quiz_page(1).html)
    for number, letter in enumerate(quiz(1).key[:-1], start=1):
        page.locator(f'input[name="q{number}"][value="{letter}"]').check()
    page.locator("#mark").click()
    questions = len(quiz(1).questions)
    assert page.locator("#result").inner_text() == f"{questions - 1} of {questions} right"
    assert page.locator("fieldset output").last.inner_text() == "no answer"
    assert page.errors == []


def shown(root) -> list[str]:
    """Everything on screen; attributes have no order worth comparing."""
    return [root.inner_text(), root.locator(".amusd-stepper-lanes").inner_html()]
