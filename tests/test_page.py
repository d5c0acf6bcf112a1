"""A saved page plays alone: no kernel, no network, no script but its own; a dropped trace opens."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from conftest import chromium

from amusd_viz.errors import SettingError
from amusd_viz.export.page import save_html, show_html, theater_page
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

MS = 1_000_000
HOSTILE = '</script><script>window.broken = 1</script><img src=x onerror="window.broken=1"><!--'


def run(method: str = "amusd", words: str = " w", prompt: str = "Why is the sky blue?") -> Trace:
    target = [i * 7 % 11 for i in range(50)]
    draft = [t if i % 4 else t + 1 for i, t in enumerate(target)]
    timing = Timing(draft=5 * MS, target=lambda k: (20 + k) * MS, target_prefill=12 * MS)
    text = Text(target, draft, {i: f"{words}{i}" for i in range(12)})
    trace = simulate(text, timing, method=method, max_new_tokens=24)
    return Trace(msgspec.structs.replace(trace.header, prompt=prompt), trace.events)


class Elements(HTMLParser):
    """Scripts and their contents, and all tag names, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[dict, str]] = []
        self._open = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open = tag == "script"
        if self._open:
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self._open:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)

    def handle_endtag(self, tag):
        self._open = False


def test_page_holds_its_traces_as_data_and_gives_them_back():
    traces = [run("synchronous", HOSTILE, HOSTILE), run("amusd", HOSTILE, HOSTILE)]
    found = Elements(theater_page(traces, at="rollback 2"))
    data = [text for attrs, text in found.scripts if attrs.get("type") == "application/json"]
    given = json.loads(data[0])
    assert [Trace.loads(text) for text in given["traces"]] == traces
    assert given["options"] == {"at": "rollback 2", "alone": True}
    assert "img" not in found.tags
    assert len(found.scripts) == 3


def test_policy_allows_the_pages_own_scripts_and_nothing_else():
    page = theater_page([run()])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    own = [text for attrs, text in Elements(page).scripts if "type" not in attrs]
    hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in own]
    assert policy.startswith("default-src 'none'; script-src ")
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "http" not in policy


def test_frame_for_notebooks_is_closed_in_and_its_text_is_deterministic():
    page = show_html(run(), height=500)
    html = page._repr_html_()
    assert html.startswith('<iframe sandbox="allow-scripts allow-downloads" ')
    assert html.count("<") == 2, "the whole page stands in one escaped attribute"
    assert repr(page) == repr(show_html(run(), height=500))


def test_page_wants_one_to_three_runs():
    for traces in ([], [run()] * 4):
        with pytest.raises(SettingError, match="1 to 3 runs"):
            theater_page(traces)


# -- in a browser ----------------------------------------------------------------------------

FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    """An offline tab that remembers its requests and its errors."""
    context = browser.new_context(offline=True, viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.requests, page.errors = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    context.close()


DROP = """async (texts) => {
  const box = new DataTransfer();
  for (const bytes of texts) box.items.add(new File([new Uint8Array(bytes)], "a.jsonl"));
  document.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: box }));
}"""


@pytest.mark.browser
def test_saved_page_plays_from_disk_without_network(tab, tmp_path):
    path = save_html(tmp_path / "run.html", run("synchronous"), run("amusd"))
    tab.goto(path.as_uri())
    picture = tab.locator("#theater svg[role=img]")
    picture.wait_for()
    before = picture.inner_html()
    assert "The draft does not know yet" in picture.get_attribute("aria-label")
    tab.locator(".amusd-play").click()
    tab.wait_for_function(
        "old => document.querySelector('#theater svg').innerHTML !== old", arg=before
    )
    assert tab.requests == [path.as_uri()]
    assert tab.errors == []


@pytest.mark.browser
def test_hostile_page_runs_nothing(tab, tmp_path):
    path = save_html(tmp_path / "run.html", run("amusd", HOSTILE, HOSTILE), at="end")
    tab.goto(path.as_uri())
    tab.locator("#theater svg[role=img]").wait_for()
    assert tab.evaluate("window.broken === undefined")
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert tab.errors == []


@pytest.mark.browser
def test_dropped_trace_opens_in_place_of_the_other(tab, tmp_path):
    tab.goto(save_html(tmp_path / "run.html", run("amusd")).as_uri())
    dropped = run("autoregressive", prompt="Another prompt")
    for data in (dropped.dumps(), gzip.compress(dropped.dumps())):
        tab.evaluate(DROP, [list(data)])
        tab.get_by_text("Another prompt").wait_for()
        assert tab.get_by_text("Why is the sky blue?").count() == 0
        tab.reload()


@pytest.mark.browser
def test_dropped_rubbish_is_refused_in_a_sentence_and_the_run_stays(tab, tmp_path):
    tab.goto(save_html(tmp_path / "run.html", run("amusd")).as_uri())
    tab.evaluate(DROP, [list(b"<b>rubbish</b>")])
    tab.locator("[role=alert]:not([hidden])").wait_for()
    assert "trace" in tab.locator("[role=alert]").inner_text()
    assert tab.get_by_text("Why is the sky blue?").count() == 1
