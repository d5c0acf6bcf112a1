"""The static site shows every run it was given, with links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from amusd_viz import site
from amusd_viz.errors import SettingError
from amusd_viz.lesson_pages import quiz_page
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

MS = 1_000_000
HOSTILE = "<script>alert(1)</script>"


def run(method: str, prompt: str, source: str = "measured") -> Trace:
    target = list(range(100, 140))
    draft = [token if position % 5 else 7 for position, token in enumerate(target)]
    timing = Timing(draft=14 * MS, target=lambda k: 34 * MS, latency_to_draft=MS)
    trace = simulate(Text(target, draft), timing, method=method, max_new_tokens=20)
    header = msgspec.structs.replace(trace.header, prompt=prompt, source=source)
    return Trace(header, trace.events)


RUNS = {
    "sky_amusd": run("amusd", "Why?"),
    "sky_sync": run("synchronous", "Why?"),
    "sky_plain": run("autoregressive", "Why?"),
    "tale": run("amusd", f"Tell {HOSTILE}"),
    "toy": run("amusd", "Why?", source="simulated"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("site") / "new" / "folder"
    site.build_site(path, RUNS)
    return path


def test_runs_of_one_prompt_share_a_page(folder):
    assert {p.name for p in folder.glob("*.html")} == {
        "index.html",
        "sky_sync.html",
        "tale.html",
        "toy.html",
    }
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert "Why? (synchronous, AMUSD, autoregressive)" in index
    assert index.index("sky_sync.html") < index.index("tale.html") < index.index("toy.html")


def test_every_link_leads_to_a_file(folder):
    for page in folder.glob("*.html"):
        links = re.findall(r'<a href="([^"]*)"', page.read_text(encoding="utf-8"))
        assert links
        for link in links:
            assert link.startswith("https://arxiv.org/") or (folder / link).is_file(), link


def test_traces_can_be_taken_along(folder):
    for name, trace in RUNS.items():
        assert Trace.load(folder / "traces" / f"{name}.jsonl.gz") == trace


def test_simulated_runs_are_called_so_and_markup_in_prompts_is_text(folder):
    assert "simulated" in (folder / "toy.html").read_text(encoding="utf-8")
    for page in folder.glob("*.html"):
        assert HOSTILE not in page.read_text(encoding="utf-8")


def test_site_without_runs_or_place_is_refused(tmp_path):
    with pytest.raises(SettingError, match="no recordings"):
        site.build_site(tmp_path, {})
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="cannot be written"):
        site.build_site(tmp_path / "file", RUNS)


def test_command_answers_with_exit_codes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(site, "recordings", lambda: tuple(RUNS))
    monkeypatch.setattr(site, "recording", RUNS.__getitem__)
    monkeypatch.setattr(site, "lesson_pages", lambda: {"quiz.html": quiz_page(seed=1)})
    assert site.main([str(tmp_path)]) == 0
    assert "index.html" in capsys.readouterr().out
    assert 'href="quiz.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert site.main([]) == 2
    monkeypatch.setattr(site, "recordings", lambda: ())
    assert site.main([str(tmp_path)]) == 1
