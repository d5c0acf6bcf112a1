"""The theater's Python side: what reaches the browser, and what bad input gets."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_source import Replayed

from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace
from amusd_viz.views import bundle, pump
from amusd_viz.views.theater import Theater

JS_TESTS = Path(__file__).with_name("js")
_spec = importlib.util.spec_from_file_location("simulated", JS_TESTS / "simulated.py")
simulated = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(simulated)


class Browser:
    """What a browser would have received from a theater."""

    def __init__(self, theater: Theater) -> None:
        self.messages: list[dict] = []
        theater.send = self.messages.append

    def lines(self, run: int) -> list[str]:
        """Events of one run as the browser would keep them: repeats dropped, gaps refused."""
        kept: list[str] = []
        for message in self.messages:
            for batch in message["batches"]:
                if batch["run"] == run and batch["from"] <= len(kept):
                    kept += batch["lines"].split("\n")[len(kept) - batch["from"] :]
        return kept


def eventually(happened: Callable[[], object]) -> None:
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened for 10 s")


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def traces():
    return [simulated.simulated(method=m) for m in ("synchronous", "amusd")]


def test_repr_is_deterministic(traces):
    assert repr(Theater(*traces)) == "Theater(synchronous, amusd)"


def test_traces_reach_the_browser_as_their_files(traces):
    theater = Theater(*traces)
    assert [t.encode() for t in theater.traces] == [t.dumps() for t in traces]


def test_no_run_and_too_many_runs_are_refused(traces):
    with pytest.raises(SettingError, match="1 to 3 runs, not 0"):
        Theater()
    with pytest.raises(SettingError, match="1 to 3 runs, not 4"):
        Theater(*traces, *traces)


@pytest.mark.parametrize("wrong", ["trace.jsonl", None, 3])
def test_what_is_no_run_is_refused_in_a_sentence(wrong):
    with pytest.raises(SettingError, match=r"traces and runs, not \w+; open a trace file with"):
        Theater(wrong)


def test_live_run_arrives_in_batches_and_then_whole(traces):
    source = Replayed(traces[1], seconds=0.6)
    theater = Theater(traces[0], source)
    browser = Browser(theater)
    assert theater.live
    assert [t.count("\n") for t in theater.traces] == [traces[0].dumps().count(b"\n"), 1]
    theater.wait(10)
    assert browser.lines(1) == traces[1].dumps().decode().splitlines()[1:]
    assert not theater.live
    assert Trace.loads(theater.traces[1]) == traces[1]


def test_lost_batches_are_sent_again_when_asked_for(traces, monkeypatch):
    monkeypatch.setattr(pump, "LISTENING_AFTER_S", 0.0)
    source = Replayed(traces[1])
    theater = Theater(source)
    source.let(40)
    eventually(lambda: theater._pump.messages)
    browser = Browser(theater)  # the first batch is lost
    source.let(60)
    eventually(lambda: browser.messages)
    assert browser.lines(0) == []
    theater._hear(theater, {"kind": "missing", "run": 0, "have": 0}, [])
    source.let(10_000)
    theater.wait(10)
    assert browser.lines(0) == traces[1].dumps().decode().splitlines()[1:]


def test_a_long_run_stays_under_a_thousand_messages(traces):
    sender = pump.Pump({}, send=lambda _: None, late=None, begun=None, over=None)
    seconds = 0.0
    while seconds < 3600:
        seconds += sender._pause()
        sender._send_some([{}])
        assert sender.messages <= 15 * seconds + 1
    assert sender.messages < 1000


def test_failed_live_run_gives_way_to_its_recording(traces):
    source = Replayed(traces[1], fails_after=30)
    theater = Theater(source, recordings=[traces[1]])
    source.let(30)
    theater.wait(10)
    assert theater.note == {"name": "liveFailed", "what": "the target's process ended"}
    assert Trace.loads(theater.traces[0]) == traces[1]
    assert not theater.live


def test_failed_live_run_without_recording_shows_what_came(traces):
    source = Replayed(traces[1], fails_after=30)
    theater = Theater(source)
    source.let(30)
    theater.wait(10)
    assert theater.note["name"] == "liveBroken"
    assert len(Trace.loads(theater.traces[0], partial=True).events) == 30


def test_slow_live_run_shows_its_recording_meanwhile(traces, monkeypatch):
    monkeypatch.setattr(pump, "PATIENCE_S", 0.0)
    source = Replayed(traces[1])
    theater = Theater(source, recordings=[traces[1]])
    eventually(lambda: theater.note)
    assert theater.note == {"name": "liveSlow"}
    assert theater.traces == [traces[1].dumps().decode()]
    browser = Browser(theater)
    source.let(10_000)
    theater.wait(10)
    assert theater.note == {}
    assert browser.lines(0) == traces[1].dumps().decode().splitlines()[1:]


def test_stop_reaches_the_runs(traces):
    source = Replayed(traces[1])
    theater = Theater(source)
    source.let(50)
    theater._hear(theater, {"kind": "stop"}, [])
    theater.wait(10)
    assert len(Trace.loads(theater.traces[0], partial=True).events) == 50


def test_the_script_is_small_and_needs_no_network():
    script = bundle.widget_script() + bundle.style()
    assert len(script.encode()) <= 80_000
    plain = bundle.page_script().replace("http://www.w3.org/", "")
    assert "://" not in plain


@needs_node
def test_the_joined_script_is_a_module_with_a_widget(tmp_path):
    (tmp_path / "widget.mjs").write_text(bundle.join("widget.js"), encoding="utf-8")
    (tmp_path / "try.mjs").write_text(
        'import widget from "./widget.mjs"; console.log(typeof widget.render);', encoding="utf-8"
    )
    done = subprocess.run(
        ["node", tmp_path / "try.mjs"], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("function", "")


@needs_node
def test_javascript():
    """The property tests of state and picture, in tests/js."""
    files = sorted(str(p) for p in JS_TESTS.glob("*.test.mjs"))
    environment = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run(
        ["node", "--test", *files], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
