"""Pictures come from the theater's renderer, show the moment asked for, and stay within their limits."""

from __future__ import annotations

import asyncio
import io
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from small_runs import MS, small_run

from amusd_viz import events as ev
from amusd_viz.errors import MissingExtraError, SettingError, TraceError
from amusd_viz.export import gallery, pictures, renderer
from amusd_viz.export.formats import FORMATS, export_trace
from amusd_viz.lessons.pictures import draw_pictures
from amusd_viz.paths import assets, recording, recordings
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

SVG = "{http://www.w3.org/2000/svg}"
THEMES = ("light", "dark")
HOSTILE = '</text><script>alert(1)</script>&<![CDATA["\u202e\x00\x1b'


WORDS = {i: f" w{i}" for i in range(12)}


def run(method: str = "amusd", words: dict[int, str] = WORDS, prompt: str = "") -> Trace:
    return small_run(method, words=words, prompt=prompt, tokens=24)


@pytest.fixture(scope="module")
def amusd() -> Trace:
    return run()


@pytest.fixture(autouse=True)
def few_frames(monkeypatch):
    """Films are as they are, with a fifth of their frames: drawing is what takes time."""
    monkeypatch.setattr(pictures, "_FRAMES_A_STEP", 1)


def words_in(svg: str) -> str:
    return " ".join("".join(e.itertext()) for e in ET.fromstring(svg).iter(f"{SVG}text"))


# -- one moment ------------------------------------------------------------------------------


def test_svg_shows_the_opening_moment_and_is_the_same_every_time(tmp_path, amusd):
    first = pictures.save_svg(tmp_path / "a.svg", amusd).read_text(encoding="utf-8")
    again = pictures.save_svg(tmp_path / "b.svg", amusd).read_text(encoding="utf-8")
    assert first == again
    assert "SIMULATED" in words_in(first).upper()
    assert "The draft does not know yet" in words_in(first)


def test_moments_are_named_as_in_the_theater(tmp_path, amusd):
    shown = [
        pictures.save_svg(tmp_path / "a.svg", amusd, at=at).read_text(encoding="utf-8")
        for at in ("start", "rollback 1", "rollback 2", "90 ms", 90 * MS, "end")
    ]
    assert len(set(shown)) == 5
    assert shown[3] == shown[4]
    assert "90.0 ms" in words_in(shown[3])


@pytest.mark.parametrize("at", ["rollback 99", "rollback", "soon", "<b>"])
def test_a_moment_that_does_not_exist_is_refused_in_a_sentence(tmp_path, amusd, at):
    with pytest.raises(SettingError, match="names no moment of these runs, which have"):
        pictures.save_svg(tmp_path / "a.svg", amusd, at=at)
    assert not (tmp_path / "a.svg").exists()


def test_unknown_theme_and_no_run_are_refused(tmp_path, amusd):
    with pytest.raises(SettingError, match="unknown theme 'pink'"):
        pictures.save_svg(tmp_path / "a.svg", amusd, theme="pink")
    with pytest.raises(SettingError, match="no run was given"):
        pictures.save_svg(tmp_path / "a.svg")


def test_hostile_text_is_text_in_the_picture(tmp_path):
    trace = run(words=dict.fromkeys(range(12), HOSTILE), prompt=HOSTILE)
    svg = pictures.save_svg(tmp_path / "a.svg", trace).read_text(encoding="utf-8")
    tags = {e.tag.removeprefix(SVG) for e in ET.fromstring(svg).iter()}
    assert "script" not in tags
    assert "</text><script>" in words_in(svg)


def test_png_has_the_size_asked_for(tmp_path, amusd):
    from PIL import Image

    path = pictures.save_png(tmp_path / "a.png", amusd, width=600, scale=1.5, theme="dark")
    with Image.open(path) as image:
        assert image.width == pytest.approx(1.5 * 632, abs=1)
        assert image.convert("L").getpixel((3, 3)) < 60, "dark paper"


def test_pictures_can_be_drawn_where_an_event_loop_runs(tmp_path, amusd):
    async def in_a_notebook() -> Path:
        return pictures.save_svg(tmp_path / "a.svg", amusd)

    there = asyncio.run(in_a_notebook()).read_text(encoding="utf-8")
    assert there == pictures.save_svg(tmp_path / "b.svg", amusd).read_text(encoding="utf-8")


# -- several moments -------------------------------------------------------------------------


def test_storyboard_is_one_document_of_n_different_stills(amusd, tmp_path):
    board = pictures.storyboard(amusd, run("synchronous"), n=6)
    root = ET.fromstring(board)
    stills = [ET.tostring(still) for still in root.findall(f"{SVG}svg")]
    assert len(stills) == len(set(stills)) == 6
    assert "The draft does not know yet" in words_in(board)
    assert board._repr_svg_() == board
    assert board.save(tmp_path / "s.svg").read_text(encoding="utf-8") == board


def test_storyboard_of_a_later_rollback_begins_before_it(amusd):
    first, second = (pictures.storyboard(amusd, n=4, around=f"rollback {i}") for i in (1, 2))
    assert first != second
    with pytest.raises(SettingError, match="2 to 24 stills"):
        pictures.storyboard(amusd, n=1)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9, 24])
def test_storyboard_has_as_many_stills_as_asked_for_and_always_the_decisive_one(amusd, n):
    board = pictures.storyboard(amusd, n=n)
    assert len(ET.fromstring(board).findall(f"{SVG}svg")) == n
    assert "The draft does not know yet" in words_in(board)


def test_every_rollback_of_every_run_has_a_story_and_a_film():
    traces = [run("synchronous"), run("amusd"), slow_draft()]
    for trace in traces:
        with renderer.Renderer([trace]) as theater:
            rollbacks = theater.rollbacks()
        assert len(rollbacks) == len(trace.of(ev.RolledBack)) > 0
        for rollback in rollbacks:
            story = pictures._story(trace, rollback, 6)
            assert rollback.t in story
            assert story == sorted(set(story))
            times, stays = zip(*pictures._gif_moments(trace, rollback), strict=True)
            assert list(times) == sorted(set(times))
            assert times[0] < rollback.t < times[-1] <= trace.duration
            assert min(stays) > 0


def slow_draft() -> Trace:
    """A draft slower than its target contradicts tokens that are committed already."""
    target = [i * 7 % 11 for i in range(50)]
    draft = [t if i % 3 else t + 1 for i, t in enumerate(target)]
    timing = Timing(draft=53 * MS, target=lambda k: 20 * MS, latency_to_draft=90 * MS)
    text = Text(target, draft)
    return simulate(text, timing, method="amusd", max_new_tokens=24, policy="eager")


def test_runs_without_rollback_have_no_film(tmp_path):
    with pytest.raises(SettingError, match="none of these runs has a rollback"):
        pictures.save_gif(tmp_path / "a.gif", run("autoregressive"))


def test_gif_moves_loops_and_is_small(tmp_path, amusd):
    from PIL import Image

    path = pictures.save_gif(tmp_path / "a.gif", amusd, width=480)
    assert path.stat().st_size < pictures.MOST_GIF_BYTES
    with Image.open(path) as film:
        assert film.info["loop"] == 0
        assert film.n_frames > 5
        frames = []
        for index in (0, film.n_frames - 1):
            film.seek(index)
            frames.append(film.convert("RGB").tobytes())
        assert frames[0] != frames[1]


def test_gif_that_is_too_large_is_drawn_smaller(tmp_path, amusd, monkeypatch):
    from PIL import Image

    large = pictures.save_gif(tmp_path / "a.gif", amusd, width=480)
    monkeypatch.setattr(pictures, "MOST_GIF_BYTES", large.stat().st_size - 1)
    small = pictures.save_gif(tmp_path / "b.gif", amusd, width=480)
    with Image.open(large) as before, Image.open(small) as after:
        assert after.width < before.width
        assert after.n_frames == before.n_frames


# -- the gallery -----------------------------------------------------------------------------


def test_gallery_shows_a_rejection_and_a_bonus_in_light_and_dark(tmp_path, amusd):
    runs = {"a": run("synchronous"), "b": amusd}
    written = gallery.draw_gallery(tmp_path / "new", runs)
    names = {path.name for path in written}
    pairs = [f"{n}_{t}.svg" for n in ("rollback", "compare", "bonus", "storyboard") for t in THEMES]
    assert names == {*pairs, "rollback.gif"}
    shown = {p.stem: words_in(p.read_text(encoding="utf-8")) for p in written if p.suffix == ".svg"}
    assert "target rejected" in shown["rollback_light"]
    assert "target rejected" not in shown["bonus_light"]
    assert "where the draft believes" in shown["bonus_light"]
    assert "synchronous" in shown["compare_dark"]
    assert shown["rollback_light"] == shown["rollback_dark"]


def test_gallery_wants_both_methods(tmp_path, amusd):
    with pytest.raises(SettingError, match="no prompt was recorded both"):
        gallery.draw_gallery(tmp_path, {"a": amusd})


@pytest.mark.parametrize("theme", THEMES)
def test_pictures_that_are_kept_are_those_of_the_recordings(tmp_path, theme):
    runs = {name: recording(name) for name in recordings()}
    for name, draw in gallery.stills(runs, theme).items():
        kept = assets("pictures", f"{name}_{theme}.svg").read_text(encoding="utf-8")
        drawn = draw(tmp_path / "a.svg").read_text(encoding="utf-8")
        assert drawn == kept, f"{name}_{theme}.svg is out of date: run 'make pictures'"


def test_pictures_of_the_lessons_are_those_of_their_runs(tmp_path):
    for drawn in draw_pictures(tmp_path):
        kept = assets("pictures", drawn.name).read_bytes()
        assert drawn.read_bytes() == kept, f"{drawn.name} is out of date: run 'make pictures'"


# -- what may be missing ---------------------------------------------------------------------


def test_missing_packages_are_named_with_what_to_install(monkeypatch, tmp_path, amusd):
    monkeypatch.setattr(renderer, "missing_from", lambda names: ("resvg_py",))
    with pytest.raises(MissingExtraError, match=r"resvg-py.*amusd-viz\[export\]"):
        pictures.save_svg(tmp_path / "a.svg", amusd)


def test_a_run_the_theater_cannot_draw_is_a_named_error(tmp_path, amusd):
    newer = Trace(msgspec.structs.replace(amusd.header, schema=99), amusd.events)
    before = threading.active_count()
    with pytest.raises(TraceError, match=r"the theater cannot draw this trace: .*99") as caught:
        pictures.save_svg(tmp_path / "a.svg", newer)
    assert len(str(caught.value).splitlines()) == 1
    assert threading.active_count() == before, "the engine has ended"


def test_machine_without_fonts_is_told(monkeypatch, tmp_path, amusd):
    import resvg_py

    real = resvg_py.svg_to_bytes
    without = {"skip_system_fonts": True}
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **kw: real(**(kw | without)))
    with pytest.raises(SettingError, match="no font was found"):
        pictures.save_png(tmp_path / "a.png", amusd)


# -- by name ---------------------------------------------------------------------------------

_BEGINNINGS = {
    "perfetto": b'{"displayTimeUnit"',
    "html": b"<!doctype html>",
    "svg": b"<svg ",
    "png": b"\x89PNG",
    "gif": b"GIF89a",
    "csv": b"kind,side,start_ns",
}


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_can_be_asked_for_by_name(to, tmp_path, amusd):
    written = export_trace(amusd, to, tmp_path / "out")
    assert written == tmp_path / "out"
    assert io.BytesIO(written.read_bytes()).read(40).startswith(_BEGINNINGS[to])


def test_unknown_format_and_unwritable_file_are_refused_in_a_sentence(tmp_path: Path, amusd):
    with pytest.raises(SettingError, match="unknown format 'pdf'; use one of: perfetto, html"):
        export_trace(amusd, "pdf", tmp_path / "out")
    with pytest.raises(SettingError, match="cannot be written: No such file"):
        export_trace(amusd, "csv", tmp_path / "missing" / "out")
