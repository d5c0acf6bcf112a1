"""A theater's own methods give what the exports give for its runs and its moment."""

from __future__ import annotations

import pytest

from amusd_viz.errors import SettingError
from amusd_viz.export import page, pictures
from amusd_viz.views.theater import Theater


class Growing:
    """A run that is over by the time its trace is asked for."""

    done = True

    def __init__(self, trace):
        self.header, self._trace = trace.header, trace

    def events_from(self, index):
        return self._trace.events[index:]

    @property
    def trace(self):
        return self._trace

    def stop(self):
        pass


def test_pictures_of_a_theater_are_those_of_its_runs_at_its_moment(tmp_path, simulated_amusd):
    theater = Theater(simulated_amusd, at="rollback 2")
    saved = theater.save_svg(tmp_path / "a.svg").read_bytes()
    same = pictures.save_svg(tmp_path / "b.svg", simulated_amusd, at="rollback 2").read_bytes()
    other = theater.save_svg(tmp_path / "c.svg", at="end", theme="dark").read_bytes()
    assert saved == same != other
    assert theater.save_png(tmp_path / "a.png", scale=1).read_bytes().startswith(b"\x89PNG")
    assert theater.storyboard(n=4) == pictures.storyboard(simulated_amusd, n=4)
    with pytest.raises(SettingError, match="names no moment"):
        theater.save_png(tmp_path / "a.png", at="never")


def test_page_of_a_theater_opens_at_its_moment(tmp_path, simulated_amusd):
    theater = Theater(Growing(simulated_amusd), at="192 ms")
    saved = theater.save_html(tmp_path / "a.html").read_text(encoding="utf-8")
    assert saved == page.theater_page([simulated_amusd], at="192 ms")
    assert theater.show_html(height=300).html == saved


def test_film_of_a_theater(tmp_path, simulated_amusd, monkeypatch):
    monkeypatch.setattr(pictures, "_FRAMES_A_STEP", 1)
    film = Theater(simulated_amusd).save_gif(tmp_path / "a.gif", around="rollback 2", width=400)
    assert film.read_bytes().startswith(b"GIF89a")
