"""Several methods on one prompt: one after the other, and only comparable runs are compared."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest
from live_source import Replayed
from small_runs import small_run

from amusd_viz import compare, decode, engine
from amusd_viz import events as ev
from amusd_viz.comparison import Comparison
from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace

KEY = ev.Numerics(dtype="fp32", kernel="eager", rows=8, cache_length=256, threads=1, device="cpu")


def with_header(trace: Trace, **changes: object) -> Trace:
    return Trace(msgspec.structs.replace(trace.header, **changes), trace.events)


def with_last_token(trace: Trace, token: int) -> Trace:
    last = trace.of(ev.Verified)[-1]
    changed = msgspec.structs.replace(last, committed=(*last.committed[:-1], token))
    return Trace(trace.header, [changed if event is last else event for event in trace.events])


@pytest.fixture
def log(monkeypatch, simulated_amusd) -> list[str]:
    """What a stand-in for the engine was asked, in order."""
    asked: list[str] = []

    class Session:
        def __init__(self, **settings: object) -> None:
            asked.append(f"open {settings}")

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *error: object) -> None:
            asked.append("close")

        def decode(self, prompt: str, *, method: str, **settings: object) -> SimpleNamespace:
            asked.append(f"{method} {settings}")
            run = SimpleNamespace(trace=with_header(simulated_amusd, method=method), text="text")
            run.wait = lambda: asked.append("wait") or run
            return run

    monkeypatch.setattr(engine, "Session", Session, raising=False)
    monkeypatch.setattr("amusd_viz.comparison.need_engine", lambda: None)
    return asked


def test_methods_run_one_after_the_other_in_one_session(log):
    both = compare("Why?", ["synchronous", "amusd"], pair="twin", seed=3)
    assert log == [
        "open {'pair': 'twin'}",
        *("synchronous {'seed': 3}", "wait", "amusd {'seed': 3}", "wait", "close"),
    ]
    assert [trace.header.method for trace in both] == ["synchronous", "amusd"]
    assert both["amusd"].header.method == "amusd"
    assert both.identical
    with pytest.raises(KeyError, match="'magic' was not run; there are: synchronous, amusd"):
        both["magic"]


def test_a_warm_session_stays_open(log):
    warm = engine.Session()
    decode("Why?", session=warm, max_new_tokens=4)
    assert log == ["open {}", "amusd {'max_new_tokens': 4}", "wait"]
    with pytest.raises(SettingError, match="pair: is set when a session is opened"):
        decode("Why?", session=warm, pair="twin")


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ("amusd", "methods must be a list"),
        ([], "methods must be a list"),
        (["amusd", "magic"], "unknown method 'magic'; there are: autoregressive, "),
        (["amusd"] * 4, "at most three"),
    ],
)
def test_methods_must_be_a_list_of_known_names(log, methods, says):
    with pytest.raises(SettingError, match=says):
        compare("Why?", methods)
    assert log == []


def test_in_a_notebook_a_theater_follows_and_questions_wait(log, monkeypatch):
    monkeypatch.setattr("amusd_viz.comparison._in_notebook", lambda: True)
    monkeypatch.setattr(engine.Session, "decode", slowly)
    both = compare("Why?", pair="twin", seed=3)
    assert "application/vnd.jupyter.widget-view+json" in both._repr_mimebundle_()[0]
    assert [trace.header.method for trace in both] == ["synchronous", "amusd"]
    assert both.texts == ("", "")
    assert log == ["open {'pair': 'twin'}", "close"]
    waits = compare("Why?", ["amusd"], live=False)
    assert waits["amusd"].header.method == "amusd"


def test_a_new_live_comparison_ends_the_one_before(log, monkeypatch):
    monkeypatch.setattr("amusd_viz.comparison._in_notebook", lambda: True)
    decoded: list[Replayed] = []

    def endless(self, prompt: str, method: str, **settings: object) -> Replayed:
        decoded.append(Replayed(small_run(method), seconds=600))
        return decoded[-1]

    monkeypatch.setattr(engine.Session, "decode", endless)
    first = compare("Why?", ["amusd"])
    while not decoded:
        pass
    second = compare("Why?", ["amusd"])
    assert decoded[0].done
    assert len(first.traces) == 1
    second.stop()
    assert len(second.traces) == 1


def slowly(self, prompt: str, method: str, **settings: object) -> Replayed:
    """A run that takes a moment."""
    assert settings in ({"seed": 3}, {})
    run = Replayed(small_run(method), seconds=0.2)
    run.text = ""
    run.wait = lambda: run
    return run


def test_a_live_comparison_raises_where_it_is_asked(log, monkeypatch):
    monkeypatch.setattr("amusd_viz.comparison._in_notebook", lambda: True)

    def broken(self, prompt: str, method: str, **settings: object) -> Replayed:
        raise SettingError("temperature is -1; it must not be negative")

    monkeypatch.setattr(engine.Session, "decode", broken)
    both = compare("Why?")
    with pytest.raises(SettingError, match="temperature is -1"):
        both.identical  # noqa: B018
    assert both.theater.note["what"].startswith("temperature is -1")
    with pytest.raises(SettingError, match="pair: is set when a session is opened"):
        compare("Why?", session=engine.Session(), pair="twin")


def test_the_first_difference_is_found(simulated_amusd):
    other = with_last_token(simulated_amusd, 9)
    assert Comparison((simulated_amusd, simulated_amusd), ("", "")).first_difference is None
    assert Comparison((simulated_amusd, other), ("", "")).first_difference == 39
    assert not Comparison((simulated_amusd, other), ("", "")).identical
    shorter = Trace(simulated_amusd.header, simulated_amusd.events[:60])
    assert Comparison((simulated_amusd, shorter), ("", "")).first_difference == len(shorter.tokens)


def test_runs_of_different_numerics_are_not_compared(simulated_amusd):
    runs = tuple(
        with_header(simulated_amusd, numerics=msgspec.structs.replace(KEY, dtype=dtype))
        for dtype in ("fp32", "bf16")
    )
    with pytest.raises(SettingError, match="2 different numerics keys"):
        Comparison(runs, ("", "")).identical  # noqa: B018
