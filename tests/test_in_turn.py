"""Methods decoded in turn: one theater follows them, and says what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from live_source import Replayed
from small_runs import small_run

from amusd_viz.errors import EngineError
from amusd_viz.trace import Trace
from amusd_viz.views.in_turn import InTurn

BOTH = ("synchronous", "amusd")
RUNS = {method: small_run(method, prompt="Why?") for method in ("autoregressive", *BOTH)}


class Session:
    """Replays small runs; ``fails_at`` names the method that breaks down in the middle."""

    def __init__(self, seconds: float = 0.2, fails_at: str = "") -> None:
        self.log: list[str] = []
        self.seconds, self.fails_at = seconds, fails_at

    @contextmanager
    def opened(self) -> Iterator[Session]:
        self.log.append("open")
        yield self
        self.log.append("close")

    def decode(self, prompt: str, method: str, **settings: Any) -> Replayed:
        self.log.append(f"{prompt} {method} {settings}")
        cut = 20 if method == self.fails_at else None
        return Replayed(RUNS[method], seconds=self.seconds, fails_after=cut)


def in_turn(session: Session, **more: Any) -> InTurn:
    recordings = [RUNS[method] for method in BOTH]
    return InTurn(session.opened, "Why?", BOTH, {"seed": 3}, recordings=recordings, **more)


def texts(*methods: str) -> list[str]:
    return [RUNS[method].dumps().decode() for method in methods]


def test_one_theater_follows_one_run_after_the_other():
    session = Session()
    turn = in_turn(session)
    shown: list[tuple[int, bool]] = []
    turn.theater.observe(
        lambda _: shown.append((len(turn.theater.traces), turn.theater.live)), "live"
    )
    assert turn.theater.note == {"name": "liveSlow"}
    assert turn.theater.traces == texts(*BOTH), "recordings until the first run begins"
    turn.start().wait(30)
    turn.theater.wait(10)
    assert session.log == ["open", *(f"Why? {m} {{'seed': 3}}" for m in BOTH), "close"]
    assert shown == [(1, True), (1, False), (2, True), (2, False)]
    assert turn.theater.traces == texts(*BOTH)
    assert turn.theater.note == {}
    assert turn.traces == tuple(RUNS[method] for method in BOTH)


def test_the_autoregressive_run_comes_on_demand_and_once():
    session = Session()
    turn = in_turn(session)
    assert not turn.theater.offer, "nothing is offered before there is something to compare with"
    turn.start().wait(30)
    assert turn.theater.offer
    notes: list[dict] = []
    turn.theater.observe(lambda change: notes.append(change["new"]), "note")
    for _ in range(2):
        turn.theater._hear(turn.theater, {"kind": "autoregressive"}, [])
        turn.wait(30)
    turn.theater.wait(10)
    assert turn.theater.traces == texts(*BOTH, "autoregressive")
    assert notes == [{"name": "loading"}, {}]
    assert not turn.theater.offer
    assert len(turn.traces) == 3


def test_stop_from_the_theater_ends_the_run_and_what_would_follow():
    turn = in_turn(Session(seconds=600)).start()
    while not turn.theater._runs:
        pass
    turn.theater._hear(turn.theater, {"kind": "stop"}, [])
    turn.wait(30)
    assert not turn.going
    assert [trace.header.method for trace in turn.traces] == ["synchronous"]


def test_no_session_means_the_recording_and_the_reason():
    def broken() -> Any:
        raise EngineError("no room for the models")

    turn = InTurn(broken, "Why?", BOTH, {}, recordings=[RUNS["amusd"]]).start()
    with pytest.raises(EngineError, match="no room for the models"):
        turn.wait(30)
    assert turn.theater.note == {"name": "liveFailed", "what": "no room for the models"}
    assert turn.theater.traces == texts("amusd")
    assert not turn.theater.offer


@pytest.mark.parametrize(
    ("fails_at", "note"), [("synchronous", "liveFailed"), ("amusd", "liveBroken")]
)
def test_a_failing_run_gives_way_to_the_recording_unless_a_whole_one_is_there(fails_at, note):
    turn = in_turn(Session(fails_at=fails_at)).start()
    with pytest.raises(Exception, match="the target's process ended"):
        turn.wait(30)
    turn.theater.wait(10)
    assert turn.theater.note["name"] == note
    assert not turn.theater.live
    if note == "liveBroken":
        whole, part = (Trace.loads(text, partial=True) for text in turn.theater.traces)
        assert whole == RUNS["synchronous"]
        assert len(part.events) == 20
