"""The playground drives any session, says what it does, and never loses its thread's errors."""

from __future__ import annotations

import threading
from html import escape
from typing import Any

import ipywidgets as w
import pytest
from live_source import Replayed

import amusd_viz
from amusd_viz import recording
from amusd_viz.errors import MissingExtraError
from amusd_viz.trace import Trace
from amusd_viz.views.playground import CHOSEN, METHODS, POLICIES, SAYS, Playground


class Recorded:
    """A session whose runs are recordings, replayed quickly."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.closed = False
        self.started = threading.Event()

    def decode(self, prompt: str, method: str, **settings: Any) -> Replayed:
        self.calls.append((prompt, method, settings))
        self.started.set()
        return Replayed(recording(f"sky-{method}"), seconds=0.2)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def recorded() -> tuple[Trace, ...]:
    return recording("sky-synchronous"), recording("sky-amusd")


def status(playground: Playground) -> str:
    return playground._status.value


def test_it_runs_the_chosen_methods_one_after_the_other(recorded: tuple[Trace, ...]) -> None:
    session = Recorded()
    playground = Playground(lambda pair: session, recordings=recorded)
    playground.prompt.value = "Hello <b>there</b>"
    playground.temperature.value = 0.7
    playground.run()
    playground.wait(30)
    assert [call[1] for call in session.calls] == ["synchronous", "amusd"]
    assert session.calls[0][0] == "Hello <b>there</b>"
    assert session.calls[0][2]["temperature"] == 0.7
    assert [trace.header.method for trace in playground.traces] == ["synchronous", "amusd"]
    assert "same 128 tokens" in status(playground)
    assert not playground.run_button.disabled
    assert playground.stop_button.disabled
    playground.close()
    assert session.closed


def test_the_python_it_shows_is_python_and_escaped() -> None:
    playground = Playground(lambda pair: Recorded())
    playground.prompt.value = 'a "quote" </pre><script>alert(1)</script>'
    compile(playground.call, "shown", "exec")
    assert playground._call.text == playground.call
    assert "lookahead=4" in playground.call


def test_stop_ends_the_run_and_starts_no_other(recorded: tuple[Trace, ...]) -> None:
    session = Recorded()
    playground = Playground(lambda pair: session, recordings=recorded)
    playground.run()
    assert session.started.wait(10)
    playground.stop()
    playground.wait(30)
    assert [call[1] for call in session.calls] == ["synchronous"]


def test_without_the_engine_it_says_so_and_shows_the_recording(
    recorded: tuple[Trace, ...],
) -> None:
    def missing(pair: str) -> Recorded:
        raise MissingExtraError("Decoding", "engine", "torch")

    playground = Playground(missing, recordings=recorded)
    playground.run()
    playground.wait(30)
    assert "torch" in status(playground)
    (theater,) = playground._stage.children
    assert theater.note["name"] == "liveFailed"
    assert theater.traces == [trace.dumps().decode() for trace in recorded]


def test_every_choice_has_a_visible_line_that_says_what_it_does() -> None:
    playground = Playground(lambda pair: Recorded())

    def lines(widget: Any) -> list[str]:
        own = [widget.value] if isinstance(widget, w.HTML) else []
        return own + [line for child in getattr(widget, "children", ()) for line in lines(child)]

    shown = " ".join(lines(playground))
    for name, says in SAYS.items():
        if name != "prompt":
            words = says if isinstance(says, str) else says[getattr(playground, name).value]
            assert escape(words) in shown
    playground.policy.value = "eager"
    assert POLICIES["eager"] in " ".join(lines(playground))
    for name, box in playground.methods.items():
        assert METHODS[name] in box.description


def test_no_method_is_a_sentence() -> None:
    playground = Playground(lambda pair: Recorded())
    for name in METHODS:
        playground.methods[name].value = False
    playground.run()
    assert "at least one method" in status(playground)
    assert repr(playground) == "Playground()"


def test_more_methods_than_a_theater_shows_is_a_sentence() -> None:
    playground = Playground(lambda pair: Recorded())
    assert [name for name, box in playground.methods.items() if box.value] == list(CHOSEN)
    for name in METHODS:
        playground.methods[name].value = True
    playground.run()
    assert "at most 3 methods" in status(playground)


def test_a_session_is_kept_and_changed_with_the_pair(recorded: tuple[Trace, ...]) -> None:
    opened: list[tuple[str, Recorded]] = []

    def open_session(pair: str) -> Recorded:
        opened.append((pair, Recorded()))
        return opened[-1][1]

    playground = Playground(open_session, recordings=recorded)
    for pair in ("twin", "twin", "twin8"):
        playground.pair.value = pair
        playground.run()
        playground.wait(30)
    assert [pair for pair, _ in opened] == ["twin", "twin8"]
    assert opened[0][1].closed
    assert not opened[1][1].closed


def test_a_playground_gives_its_models_back_and_opens_others_at_the_next_run(
    recorded: tuple[Trace, ...],
) -> None:
    sessions: list[Recorded] = []

    def open_session(pair: str) -> Recorded:
        sessions.append(Recorded())
        return sessions[-1]

    playground = Playground(open_session, recordings=recorded)
    playground.run()
    playground.wait(30)
    playground.release()
    assert [session.closed for session in sessions] == [True]
    playground.run()
    playground.wait(30)
    assert [session.closed for session in sessions] == [True, False]
    assert len(playground.traces) == 2
    playground.close()


def test_models_that_were_loading_when_they_were_given_back_are_closed(
    recorded: tuple[Trace, ...],
) -> None:
    session, opening, go_on = Recorded(), threading.Event(), threading.Event()

    def open_slowly(pair: str) -> Recorded:
        opening.set()
        assert go_on.wait(30)
        return session

    playground = Playground(open_slowly, recordings=recorded)
    playground.run()
    assert opening.wait(10)
    giving_back = threading.Thread(target=playground.release)
    giving_back.start()
    while not playground._releases:
        giving_back.join(0.01)
    go_on.set()
    giving_back.join(30)
    playground.wait(30)
    assert session.closed
    assert not session.calls
    assert playground._session is None


def test_the_cell_run_again_closes_the_models_of_the_playground_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released: list[Playground] = []
    monkeypatch.setattr(Playground, "release", lambda one: released.append(one))
    first = amusd_viz.playground()
    assert first not in released
    amusd_viz.playground()
    assert released[-1] is first
