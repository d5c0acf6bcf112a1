"""The theater in a real browser, on a plain page: what is seen, and what hands can do."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec
import pytest
from browser.theater_page import (
    add_theater,
    batch,
    picture,
    put_theater,
    send,
    sentence,
    texts,
)
from fated import one_of_each
from playwright.sync_api import Browser, Page, expect

from amusd_viz import events as ev
from amusd_viz.export.page import save_html
from amusd_viz.protocol.messages import Fate
from amusd_viz.trace import Trace
from amusd_viz.words import FATES

sys.path.append(str(Path(__file__).parents[1] / "js"))

from simulated import simulated

pytestmark = pytest.mark.browser

IN_FLIGHT = "The draft does not know yet; it still works on a dead branch."


@pytest.fixture(scope="module")
def runs() -> list[Trace]:
    return [simulated(method=m) for m in ("synchronous", "amusd")]


@pytest.fixture
def page(browser: Browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
    yield page
    assert page.problems == []
    context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focus(page: Page) -> None:
    page.focus(".amusd-theater")


def playhead(page: Page) -> float:
    return float(page.input_value(".amusd-scrubber"))


# -- what is seen ----------------------------------------------------------------------------


def test_opens_on_the_first_rollback_in_flight(page, runs):
    put_theater(page, *runs)
    assert IN_FLIGHT in sentence(page)
    rejected = page.locator('[data-look="rejected"]')
    expect(rejected).to_have_count(1)
    word = rejected.locator("text").text_content()
    assert f"rejected “{word}”" in sentence(page)
    expect(page.get_by_text("SIMULATED")).to_be_visible()
    expect(page.locator('.amusd-bar[data-look="dead"]').first).to_be_visible()


@pytest.mark.parametrize("width", [1600, 1280, 800, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_leaves_its_frame_at_any_width(page, runs, width, dark):
    page.set_viewport_size({"width": width, "height": 900})
    put_theater(page, *runs, dark=dark)
    focus(page)
    for _ in range(4):
        assert outside(page) == []
        press(page, "r", "ArrowRight")


def outside(page: Page) -> list[str]:
    """Texts that stick out of the picture, and a page that scrolls sideways."""
    return page.evaluate("""() => {
        const frame = document.querySelector('.amusd-picture').getBoundingClientRect();
        const out = [...document.querySelectorAll('.amusd-picture text')].filter((text) => {
          const box = text.getBoundingClientRect();
          return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1);
        }).map((text) => text.textContent);
        const root = document.querySelector('.amusd-theater');
        if (root.scrollWidth > root.clientWidth + 1) out.push('the theater scrolls sideways');
        return out;
    }""")


def test_words_stay_inside_their_chips(page, runs):
    put_theater(page, *runs)
    focus(page)
    for _ in range(12):
        overlaps = page.evaluate("""() => [...document.querySelectorAll('.amusd-chip')].filter((chip) => {
            const box = chip.querySelector('rect').getBoundingClientRect();
            const word = chip.querySelector('text').getBoundingClientRect();
            return word.right > box.right + 1;
        }).map((chip) => chip.textContent)""")
        assert overlaps == []
        press(page, "r")


# -- keys ------------------------------------------------------------------------------------


def test_steps_forward_and_back_give_the_same_picture(page, runs):
    put_theater(page, *runs)
    focus(page)
    press(page, "Home")
    page.wait_for_timeout(250)  # what drops has dropped
    before = []
    for _ in range(20):
        before.append(drawn(page))
        press(page, "ArrowRight")
    for expected in reversed(before):
        press(page, "ArrowLeft")
        assert drawn(page) == expected


def drawn(page: Page) -> str:
    """The picture, its attributes in alphabetical order."""
    return page.evaluate("""() => {
        const plain = (element) => [
          element.tagName,
          [...element.attributes].map((a) => `${a.name}=${a.value}`).sort(),
          element.children.length ? [...element.children].map(plain) : element.textContent,
        ];
        return JSON.stringify(plain(document.querySelector('.amusd-picture')));
    }""")


def test_home_end_rollbacks_and_clicker_keys(page, runs):
    put_theater(page, *runs)
    focus(page)
    first = playhead(page)
    press(page, "r")
    assert playhead(page) > first
    press(page, "Shift+R")
    assert playhead(page) == first
    press(page, "End")
    assert "the run ends after 48 tokens" in sentence(page)
    press(page, "Home")
    assert playhead(page) == 0
    press(page, "PageDown", "PageDown")
    second = playhead(page)
    assert second > 0
    press(page, "PageUp")
    assert 0 < playhead(page) < second


def test_a_pinned_run_has_the_steps_to_itself(page, runs):
    put_theater(page, *runs)
    focus(page)
    press(page, "Home", "2")
    for _ in range(15):
        press(page, "ArrowRight")
        assert sentence(page).startswith("AMUSD:")
    press(page, "2", "Home")
    said = set()
    for _ in range(15):
        press(page, "ArrowRight")
        said.add(sentence(page).split(":")[0])
    assert said == {"AMUSD", "synchronous"}


def test_keys_work_only_with_focus_and_never_reach_the_page(page, runs):
    put_theater(page, *runs)
    page.evaluate("""() => {
        window.leaked = [];
        document.addEventListener('keydown', (event) => leaked.push(event.key));
    }""")
    before = playhead(page)
    press(page, "ArrowRight")
    assert playhead(page) == before
    assert page.evaluate("() => leaked") == ["ArrowRight"]
    focus(page)
    press(page, "ArrowRight", "ArrowLeft", " ", " ", "r", "d", "d", "h", "h", "PageDown", "Escape")
    assert page.evaluate("() => leaked") == ["ArrowRight"]
    root = page.locator(".amusd-theater")
    assert root.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_button_with_focus_keeps_its_keys(page, runs):
    put_theater(page, *runs)
    page.locator(".amusd-details").focus()
    press(page, "Enter")
    expect(page.locator(".amusd-panel")).to_be_visible()
    assert playhead(page) == playhead(page)


def test_each_step_is_said_once_and_politely(page, runs):
    put_theater(page, *runs)
    said = page.locator(".amusd-said")
    assert said.get_attribute("aria-live") == "polite"
    focus(page)
    press(page, "ArrowRight")
    assert said.text_content() == sentence(page)
    assert sentence(page) in page.locator(".amusd-scrubber").get_attribute("aria-valuetext")


# -- playing ---------------------------------------------------------------------------------


def test_play_moves_the_playhead_until_pause(page, runs):
    put_theater(page, *runs)
    before = playhead(page)
    page.get_by_role("button", name="play").click()
    page.wait_for_function(
        "(t) => Number(document.querySelector('.amusd-scrubber').value) > t", arg=before
    )
    page.get_by_role("button", name="pause").click()
    stopped = playhead(page)
    page.wait_for_timeout(200)
    assert playhead(page) == stopped
    assert page.locator(".amusd-speed").text_content() == "slowed 36×"


def test_race_plays_at_true_speed_and_stops_at_the_end(page, runs):
    put_theater(page, *runs)
    page.locator(".amusd-race").click()
    assert page.locator(".amusd-speed").text_content() == "true speed"
    expect(page.get_by_role("button", name="play")).to_be_visible(timeout=20_000)
    assert "the run ends" in sentence(page)


def test_the_strip_is_the_scrubber(page, runs):
    put_theater(page, *runs)
    box = page.locator(".amusd-scrubber").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    end = float(page.locator(".amusd-scrubber").get_attribute("max"))
    assert playhead(page) == pytest.approx(end / 2, rel=0.03)


def test_reduced_motion_shows_stills(browser, runs):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    put_theater(page, *runs)
    focus(page)
    for _ in range(12):
        press(page, "ArrowRight")
        assert page.evaluate("() => document.getAnimations().length") == 0
    context.close()


def test_what_is_discarded_drops_out_of_its_row(page, runs):
    put_theater(page, *runs)
    focus(page)
    moving = 0
    for _ in range(12):
        press(page, "ArrowRight")
        moving += page.evaluate("() => document.getAnimations().length > 0")
    assert moving >= 1


# -- cards and details -----------------------------------------------------------------------


def recorded() -> list[Trace]:
    folder = Path(__file__).parents[2] / "assets" / "traces"
    return [Trace.load(folder / f"sky-{m}.jsonl") for m in ("synchronous", "amusd")]


def test_hover_shows_one_card_and_lights_chip_and_bar(page):
    put_theater(page, *recorded())
    chip = page.locator('[data-look="contradicted"], [data-look="rejected"]').first
    chip.hover()
    card = page.locator(".amusd-card")
    expect(card).to_be_visible()
    assert re.search(r"draft\n\d+\.\d %", card.inner_text())
    assert "drafted\n" in card.inner_text()
    assert page.locator('rect[stroke="var(--amusd-focus)"]').count() >= 2
    assert "'s best" not in card.inner_text()


def test_a_click_pins_the_card_with_the_five_best(page):
    put_theater(page, *recorded())
    chip = page.locator('[data-look="contradicted"], [data-look="rejected"]').first
    chip.click()
    card = page.locator(".amusd-card")
    assert "draft's best" in card.inner_text()
    page.mouse.move(5, 5)
    expect(card).to_be_visible()
    focus(page)
    press(page, "Escape")
    expect(card).to_be_hidden()


@pytest.mark.parametrize("fate", list(Fate))
def test_every_fate_is_named_on_its_token(page, fate):
    fated = one_of_each()[fate]
    put_theater(page, fated.trace, at=float(fated.t))
    chip = page.locator(f'.amusd-chip[data-token="0:{fated.branch}:{fated.position}"]')
    chip.first.hover()
    assert f"fate\n{FATES[fate]}: " in page.locator(".amusd-card").inner_text()


def test_tokens_are_reached_by_keyboard(page, runs):
    put_theater(page, *runs)
    focus(page)
    press(page, "]", "]")
    expect(page.locator(".amusd-card")).to_be_visible()
    title = page.locator(".amusd-card-title").text_content()
    assert page.locator(".amusd-said").text_content().startswith(title)
    press(page, "[", "Enter")
    expect(page.locator(".amusd-card")).to_have_class(re.compile("amusd-pinned"))


def test_details_hold_every_event_so_far_as_a_table(page, runs):
    put_theater(page, *runs, at="end")
    focus(page)
    press(page, "d")
    count = sum(len(run.events) for run in runs)
    caption = page.locator(".amusd-events caption").text_content()
    assert str(count) in caption
    press(page, "Home")
    assert page.locator(".amusd-events tbody tr").count() < 5


def test_shown_spaces_and_zoom(page, runs):
    put_theater(page, *runs)
    focus(page)
    press(page, "d")
    bars = page.locator(".amusd-bar").count()
    page.locator(".amusd-zoomOut").click()
    assert page.locator(".amusd-bar").count() > bars
    page.locator("text=show spaces").click()
    assert "␣" in page.locator(".amusd-chip").nth(1).text_content()


# -- prediction stops ------------------------------------------------------------------------


def with_named_tokens(trace: Trace) -> Trace:
    """The same run, with a text of its own for every token that is committed or proposed."""

    def name(kind: str, *key: int) -> str:
        return f" {kind}{trace.header.method}{'x'.join(map(str, key))}q"

    events = []
    for event in trace.events:
        if isinstance(event, ev.Proposed):
            text = name("d", event.branch, event.position)
            event = msgspec.structs.replace(event, text=text)
        elif isinstance(event, ev.Verified):
            committed = range(event.position, event.position + len(event.committed))
            event = msgspec.structs.replace(event, texts=tuple(name("t", p) for p in committed))
        events.append(event)
    return Trace(trace.header, events)


def test_a_prediction_stop_gives_nothing_away(page, runs):
    named = [with_named_tokens(run) for run in runs]
    put_theater(page, *named, future="hidden")
    focus(page)
    press(page, "d")
    for _ in range(6):
        t = playhead(page)
        shown = picture(page)
        for run in named:
            for event in run.events:
                if event.at <= t:
                    continue
                if isinstance(event, ev.Proposed):
                    assert event.text.strip() not in shown
                if isinstance(event, ev.Verified):
                    assert not any(text.strip() in shown for text in event.texts)
        end = max(run.duration for run in named)
        assert f"{end / 1e6:.1f}" not in shown
        assert float(page.locator(".amusd-scrubber").get_attribute("max")) < end
        assert beyond(page) == []
        press(page, "r")


def beyond(page: Page) -> list[str]:
    """Shapes of the lanes that end right of the playhead."""
    return page.evaluate("""() => {
        const number = (element, name) => Number(element.getAttribute(name));
        const lines = [...document.querySelectorAll('.amusd-picture line')];
        const stem = lines.find((l) => l.getAttribute('stroke') === 'var(--amusd-playhead)');
        return [...document.querySelectorAll('.amusd-bar rect')]
          .filter((bar) => number(bar, 'x') + number(bar, 'width') > number(stem, 'x1') + 1)
          .map((bar) => bar.outerHTML);
    }""")


def test_the_question_is_answered_by_revealing(page, runs):
    put_theater(page, *runs)
    focus(page)
    press(page, "h")
    question = page.locator(".amusd-question")
    assert question.text_content() == "Next: what will the draft do when it hears?"
    page.get_by_role("button", name="Reveal").click()
    assert "it hears" not in question.text_content()
    press(page, "h")
    expect(question).to_be_hidden()


# -- presenting ------------------------------------------------------------------------------


def test_presenting_fills_the_tab_in_large_type_and_goes_back(page, runs):
    page.set_viewport_size({"width": 1920, "height": 1080})
    put_theater(page, *runs, dark=True)
    focus(page)
    press(page, "p")
    box = page.locator(".amusd-theater").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1920, 1080)
    assert type_size(page) == 20
    paper = page.evaluate(
        "() => getComputedStyle(document.querySelector('.amusd-theater')).backgroundColor"
    )
    assert paper == "rgb(255, 255, 255)"
    before = playhead(page)
    press(page, "PageDown")
    assert playhead(page) > before
    press(page, "Escape")
    assert page.locator(".amusd-theater").bounding_box()["width"] < 1920
    assert type_size(page) == 14


def test_presenting_leaves_nothing_below_a_small_tab(page, runs):
    page.set_viewport_size({"width": 1366, "height": 768})
    put_theater(page, *runs)
    focus(page)
    press(page, "p")
    bottom = page.locator(".amusd-controls").bounding_box()
    assert bottom["y"] + bottom["height"] <= 768
    assert type_size(page) > 14


def type_size(page: Page) -> float:
    return float(page.locator(".amusd-chip text").first.get_attribute("font-size"))


# -- several, live, files --------------------------------------------------------------------


def test_two_theaters_on_one_page_leave_each_other_alone(page, runs):
    put_theater(page, *runs)
    add_theater(page, runs[1])
    values = "() => [...document.querySelectorAll('.amusd-scrubber')].map((s) => Number(s.value))"
    before = page.evaluate(values)
    page.locator(".amusd-theater").nth(1).focus()
    press(page, "ArrowRight")
    after = page.evaluate(values)
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert page.evaluate("() => document.querySelectorAll('.amusd-theater [id]').length") == 0
    page.evaluate("() => mounted[1].remove()")
    expect(page.locator(".amusd-theater")).to_have_count(1)


def header_only(trace: Trace) -> str:
    return Trace(trace.header, ()).dumps().decode()


def test_a_live_run_is_followed_as_it_grows(page, runs):
    live = runs[1]
    put_theater(page, header_only(live), live=True)
    assert page.evaluate("() => mounted[0].model.sent") == [{"kind": "ready"}]
    expect(page.get_by_text("LIVE")).to_be_visible()
    send(page, batch(live, 0, 0, 60))
    assert playhead(page) == pytest.approx(max(e.at for e in live.events[:60]))
    first = page.locator(".amusd-said").text_content()
    send(page, batch(live, 0, 40, 120))
    assert playhead(page) == pytest.approx(max(e.at for e in live.events[:120]))
    assert page.locator(".amusd-said").text_content() == first, "nothing is said while it runs"
    page.evaluate("(texts) => mounted[0].model.set({ live: false, traces: texts })", texts([live]))
    expect(page.get_by_text("LIVE")).to_have_count(0)
    focus(page)
    press(page, "End")
    assert "the run ends after 48 tokens" in sentence(page)


def test_a_live_run_is_followed_beside_one_that_is_over(page, runs):
    over, live = runs
    put_theater(page, over, header_only(live), live=True)
    send(page, batch(live, 1, 0, 60))
    frontier = max(e.at for e in live.events[:60])
    assert frontier < over.duration
    assert playhead(page) == pytest.approx(frontier)


def test_the_autoregressive_run_is_put_away_and_brought_back(page, runs):
    put_theater(page, *runs, simulated(method="autoregressive"), alone=False)
    named = "() => document.querySelector('.amusd-theater').getAttribute('aria-label')"
    two, before = page.evaluate(named), playhead(page)
    assert two == "Theater: synchronous, AMUSD"
    page.get_by_role("button", name="Autoregressive").click()
    assert page.evaluate(named) == f"{two}, autoregressive"
    assert playhead(page) == before
    focus(page)
    press(page, "a")
    assert page.evaluate(named) == two


def test_the_autoregressive_run_is_asked_for_where_there_is_none(page, runs):
    put_theater(page, *runs)
    button = page.get_by_role("button", name="Autoregressive")
    expect(button).to_be_hidden()
    page.evaluate("() => mounted[0].model.set({ offer: true })")
    button.click()
    assert {"kind": "autoregressive"} in page.evaluate("() => mounted[0].model.sent")
    plain = simulated(method="autoregressive")
    three = [*texts(runs), header_only(plain)]
    page.evaluate("(traces) => mounted[0].model.set({ traces, live: true, offer: false })", three)
    expect(button).to_be_hidden()
    send(page, batch(plain, 2, 0, 20))
    assert playhead(page) == pytest.approx(max(e.at for e in plain.events[:20]))


def test_what_is_wrong_is_said_even_where_the_runs_stay_the_same(page, runs):
    put_theater(page, *runs, note={"name": "liveSlow"})
    expect(page.get_by_text("RECORDING", exact=True)).to_be_visible()
    note = {"name": "liveFailed", "what": "no room"}
    page.evaluate("(note) => mounted[0].model.set({ note })", note)
    expect(page.locator(".amusd-problem")).to_contain_text("failed (no room). A recording of")
    page.evaluate("() => mounted[0].model.set({ note: { name: 'liveBroken', what: 'it died' } })")
    expect(page.locator(".amusd-problem")).to_contain_text("What it did until then is shown")
    expect(page.get_by_text("RECORDING", exact=True)).to_have_count(0)


def test_events_of_the_two_sides_may_come_out_of_order(page, runs):
    live = runs[1]
    sides = [[e for e in live.events if e.side is side] for side in ev.Side]
    shuffled = Trace(live.header, ())
    shuffled.events = tuple(sides[0] + sides[1])
    put_theater(page, header_only(live), live=True)
    send(page, batch(shuffled, 0, 0, len(live.events)))
    focus(page)
    press(page, "Home")
    grown = [drawn(page)]
    for _ in range(10):
        press(page, "ArrowRight")
        grown.append(sentence(page))
    page.evaluate("() => { mounted[0].remove(); mounted.length = 0; }")
    put_theater(page, header_only(live), live=True)
    send(page, batch(live, 0, 0, len(live.events)))
    focus(page)
    press(page, "Home")
    assert drawn(page) == grown[0]
    for expected in grown[1:]:
        press(page, "ArrowRight")
        assert sentence(page) == expected


def test_a_missing_batch_is_asked_for(page, runs):
    put_theater(page, header_only(runs[1]), live=True)
    send(page, batch(runs[1], 0, 30, 60))
    assert {"kind": "missing", "run": 0, "have": 0} in page.evaluate("() => mounted[0].model.sent")
    assert playhead(page) == 0
    send(page, batch(runs[1], 0, 0, 60))
    assert playhead(page) > 0


def test_stop_reaches_the_kernel_and_loss_is_said(page, runs):
    put_theater(page, header_only(runs[1]), live=True)
    send(page, batch(runs[1], 0, 0, 60))
    page.get_by_role("button", name="Stop the run").click()
    assert {"kind": "stop"} in page.evaluate("() => mounted[0].model.sent")
    page.evaluate(
        "() => { const { model } = mounted[0]; model.comm_live = false; model.emit('comm_live_update'); }"
    )
    expect(page.locator(".amusd-problem")).to_contain_text("connection to the run is lost")


def drop(page: Page, name: str, content: str) -> None:
    page.evaluate(
        """([name, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([content], name));
        const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
        document.querySelector('.amusd-theater').dispatchEvent(event);
    }""",
        [name, content],
    )


def test_a_dropped_trace_is_opened(page, runs):
    put_theater(page, runs[0])
    drop(page, "other.jsonl", runs[1].dumps().decode())
    page.wait_for_function(
        "() => document.querySelector('.amusd-picture').getAttribute('aria-label').startsWith('AMUSD')"
    )
    assert IN_FLIGHT in sentence(page)


def test_a_saved_page_plays_from_disk_without_network(browser, runs, tmp_path):
    context = browser.new_context(offline=True)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.goto(save_html(tmp_path / "saved.html", *runs).as_uri())
    assert IN_FLIGHT in sentence(page)
    before = playhead(page)
    page.get_by_role("button", name="play", exact=True).click()
    page.wait_for_function(
        "(t) => Number(document.querySelector('.amusd-scrubber').value) > t", arg=before
    )
    drop(page, "other.jsonl", runs[1].dumps().decode())
    page.wait_for_function(
        "() => document.querySelector('.amusd-theater').getAttribute('aria-label') === 'Theater: AMUSD'"
    )
    assert problems == []
    context.close()


NOT_TRACES = {
    "empty.jsonl": ("", "is not a trace"),
    "notes.txt": ("Dear diary", "is not a trace"),
    "list.json": ("[1, 2]", "is not a trace"),
    "newer.jsonl": ('{"kind":"header","schema":99,"method":"x","source":"measured"}', "Upgrade"),
    "odd.jsonl": (
        '{"kind":"header","schema":1,"method":"amusd","source":"measured"}\n'
        '{"kind":"proposed","start":0,"end":1,"branch":0,"position":1e9,"token":1}\n{}',
        "line 2 is no event",
    ),
}


@pytest.mark.parametrize("name", NOT_TRACES)
def test_what_is_no_trace_gets_a_sentence(page, runs, name):
    content, reason = NOT_TRACES[name]
    put_theater(page, runs[0])
    before = sentence(page)
    drop(page, name, content)
    expect(page.locator(".amusd-problem")).to_contain_text(reason)
    expect(page.locator(".amusd-problem")).to_contain_text(name)
    assert sentence(page) == before


def test_kinds_nobody_knows_are_skipped(page, runs):
    lines = runs[1].dumps().decode().splitlines()
    odd = [line for each in lines for line in (each, '{"kind":"from_the_future","x":[1]}')]
    put_theater(page, "\n".join(odd))
    assert IN_FLIGHT in sentence(page)


# -- hostile text ----------------------------------------------------------------------------

HOSTILE = [
    "<img src=x onerror=window.hostileRan=true>",
    "</text></svg><script>window.hostileRan=true</script>",
    '"onmouseover="window.hostileRan=true',
    "javascript:window.hostileRan=true",
    "\u202eright to left\u202c",
    "\u2066\u2067 isolates",
    "zero\u200bwidth\u200d\ufeff",
    "Z" + "\u0335\u0321\u0489\u034f" * 40,
    "\u0301\u0302",
    "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "漢字かな",
    "x" * 10_000,
    "\x00\x1b[31m\x7f",
    "a\nb\tc\r",
    "&lt;&amp;",
    "",
    " ",
]


def hostile(trace: Trace) -> Trace:
    words = iter(HOSTILE * 100)
    events = []
    for event in trace.events:
        if isinstance(event, ev.Proposed):
            event = msgspec.structs.replace(event, text=next(words))
        elif isinstance(event, ev.Verified):
            event = msgspec.structs.replace(
                event, texts=tuple(next(words) for _ in event.committed)
            )
        events.append(event)
    header = msgspec.structs.replace(
        trace.header,
        prompt=" ".join(HOSTILE),
        pair=HOSTILE[0],
        method=HOSTILE[1],
        target=ev.Model(name=HOSTILE[4] + HOSTILE[1]),
        target_device=ev.Device(name="x", label=HOSTILE[0]),
        policy=HOSTILE[5],
    )
    return Trace(header, events)


@pytest.mark.parametrize("future", ["ghost", "hidden"])
def test_hostile_text_is_shown_as_text(page, runs, future):
    page.on("dialog", lambda dialog: page.problems.append("a dialog"))
    put_theater(page, hostile(runs[1]), future=future)
    plain = set(
        page.evaluate(
            "() => [...document.querySelectorAll('.amusd-theater *')].map((e) => e.tagName)"
        )
    )
    assert not plain & {"IMG", "SCRIPT", "img", "script", "image", "foreignObject", "A", "a"}
    focus(page)
    press(page, "d", "Home")
    for step in range(60):
        press(page, "ArrowRight", "]")
        if step % 6 == 0:
            assert outside(page) == []
            assert tall(page) == []
    tags = set(
        page.evaluate(
            "() => [...document.querySelectorAll('.amusd-theater *')].map((e) => e.tagName)"
        )
    )
    assert not tags & {"IMG", "SCRIPT", "img", "script", "image", "foreignObject", "A", "a"}
    handlers = page.evaluate("""() => [...document.querySelectorAll('.amusd-theater *')]
        .flatMap((e) => e.getAttributeNames()).filter((name) => name.startsWith('on'))""")
    assert handlers == []
    assert page.evaluate("() => window.hostileRan") is False
    shown = (
        page.locator(".amusd-picture").text_content() + page.locator(".amusd-events").text_content()
    )
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u0000\u001b]", shown)


def tall(page: Page) -> list[str]:
    """Texts of chips that are higher than their chip."""
    return page.evaluate("""() => [...document.querySelectorAll('.amusd-chip')].filter((chip) => {
        const box = chip.querySelector('rect').getBoundingClientRect();
        const word = chip.querySelector('text').getBoundingClientRect();
        return word.height > box.height * 1.6;
    }).map((chip) => chip.textContent)""")
