"""Charts, tables, storyboards and the frame without a widget, as JupyterLab shows them."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

CELLS = [
    """
from amusd_viz.simulate.driver import Text, Timing, simulate
MS = 1_000_000
target = list(range(100, 160))
draft = [token if position % 5 else 7 for position, token in enumerate(target)]
words = {token: f" word{token}" for token in target} | {7: " <b>wrong</b>"}
timing = Timing(draft=14 * MS, target=lambda k: 34 * MS, latency_to_draft=MS)
runs = [simulate(Text(target, draft, words), timing, method=m, max_new_tokens=30)
        for m in ("synchronous", "amusd")]
""",
    "from amusd_viz.views import charts\ncharts.device_timeline(*runs)",
    "from amusd_viz.views.tables import summary_table\nsummary_table(*runs)",
    "from amusd_viz.export.page import show_html\nshow_html(*runs)",
    "from amusd_viz.export.pictures import storyboard\nstoryboard(*runs)",
]

CONTRAST = """() => {
    const light = ([r, g, b]) => {
        const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const text = document.querySelector(".js-plotly-plot .ytick text");
    let ground = text;
    while (true) {
        const colour = numbers(getComputedStyle(ground).backgroundColor);
        if (colour.length === 3 || colour[3] > 0.9) break;
        ground = ground.parentElement;
    }
    const [a, b] = [
        light(numbers(getComputedStyle(text).fill)),
        light(numbers(getComputedStyle(ground).backgroundColor)),
    ];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


@pytest.fixture(params=["light", "dark"])
def notebook(open_notebook, request):
    opened = open_notebook(CELLS, theme=request.param)
    opened.run_all()
    yield opened
    assert opened.script_errors == []


def test_everything_without_a_widget_is_shown(notebook, tmp_path):
    chart = notebook.widget(".js-plotly-plot")
    assert chart.locator(".barlayer .point").count() > 60
    assert notebook.page.evaluate(CONTRAST) > 4.2, "the labels read on this theme"
    bar = chart.locator(".barlayer .trace.bars").nth(1).locator(".point path").first
    bar.hover(force=True)
    notebook.page.locator(".hovertext").first.wait_for()
    sentence = notebook.page.locator(".hovertext").first.text_content()
    assert sentence.endswith(".")
    assert " ms" in sentence
    assert notebook.page.locator(".jp-Notebook b", has_text="wrong").count() == 0

    assert "tokens/verification" in notebook.output(2)
    frame = notebook.widget("iframe[title=theater]").content_frame
    frame.locator("svg[role=img]").first.wait_for()
    frame.get_by_role("button", name="play").first.click()
    stills = notebook.widget(".jp-RenderedSVG img")
    assert stills.evaluate("image => image.decode().then(() => image.naturalWidth)") > 1000
    notebook.screenshot(tmp_path / "charts.png")
