"""The theater's Python side: what reaches the browser, and what bad input gets."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amusd_viz.errors import SettingError
from amusd_viz.views import bundle
from amusd_viz.views.theater import Theater

JS_TESTS = Path(__file__).with_name("js")
_spec = importlib.util.spec_from_file_location("simulated", JS_TESTS / "simulated.py")
simulated = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(simulated)

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
