"""The lab in JupyterLab: moves are answered, quickly, with everything on the page."""

from __future__ import annotations

import statistics

import pytest

pytestmark = pytest.mark.browser

CELL = "from amusd_viz.views.lab import Lab\nlab = Lab()\nlab"

ANSWER = """async (keys) => {
    const sentence = document.querySelector('.amusd-lab-sentence');
    const slider = document.querySelector(`.amusd-lab-slider[aria-label="${keys.slider}"]`);
    const took = [];
    for (let i = 0; i < keys.times; i++) {
        const start = performance.now();
        const answered = new Promise((done) => {
            const observer = new MutationObserver(() => { observer.disconnect(); done(); });
            observer.observe(sentence, { childList: true, characterData: true, subtree: true });
        });
        slider.value = String(Number(slider.value) + Number(slider.step));
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await answered;
        took.push(performance.now() - start);
    }
    return took;
}"""


@pytest.fixture
def lab(open_notebook):
    notebook = open_notebook([CELL], width=1280, height=1400)
    notebook.run_all()
    notebook.widget(".amusd-lab")
    return notebook


def test_a_move_changes_everything_at_once(lab):
    page = lab.page
    root = lab.widget(".amusd-lab")
    sentence = root.locator(".amusd-lab-sentence")
    before = sentence.inner_text()
    assert "AMUSD" in before
    assert root.locator(".amusd-lab-badge").inner_text() == "SIMULATED"
    assert root.locator(".amusd-gain-equal").count() == 1
    assert root.locator(".amusd-gain-measured").count() == root.locator(".amusd-lab-point").count()
    text = root.locator(".amusd-theater .amusd-picture").text_content
    shown, mark = text(), root.locator(".amusd-gain-here circle").get_attribute("cx")
    slider = root.get_by_label("Draft / target time")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "before => document.querySelector('.amusd-lab-sentence').textContent !== before", arg=before
    )
    lab.settle()
    assert text() != shown
    assert root.locator(".amusd-gain-here circle").get_attribute("cx") != mark
    assert lab.script_errors == []


def test_a_preset_sets_all_sliders(lab):
    root = lab.widget(".amusd-lab")
    root.get_by_label("Start from…").select_option(label="A slow network between the two")
    lab.page.wait_for_function(
        "() => document.querySelector('.amusd-lab-sentence').textContent.includes('Synchronous')"
    )
    assert root.get_by_label("Message latency").input_value() == "0.9"
    assert root.get_by_label("Wait (AMUSD)").input_value() == "4"
    assert lab.script_errors == []


def test_moves_are_answered_while_the_slider_moves(lab):
    took = [
        time
        for name in ("Acceptance", "Message latency", "Wait (AMUSD)")
        for time in lab.page.evaluate(ANSWER, {"slider": name, "times": 5})
    ]
    print(
        f"a move is answered in {statistics.median(took):.0f} ms at the median, {max(took):.0f} at most"
    )
    assert len(took) == 15
    assert lab.script_errors == []
