"""AMUSD with a speculator: heads that step in for the draft change when tokens come, never which."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tiny_session import finished, tiny_session

from amusd_viz import events as ev
from amusd_viz.bench.equality import compare_outputs
from amusd_viz.bench.prompts import Prompt
from amusd_viz.bench.ways import parse_ways
from amusd_viz.engine import Session
from amusd_viz.errors import ModelError, SettingError
from amusd_viz.metrics import measure
from amusd_viz.protocol import Fate
from amusd_viz.trace import Trace

pytestmark = pytest.mark.engine

METHOD = "amusd+speculator"
SAMPLINGS = {
    "greedy": {},
    "T 0.7": {"temperature": 0.7, "seed": 7},
    "T 1.0, top-p 0.9": {"temperature": 1.0, "top_p": 0.9, "seed": 11},
    "greedy, penalty": {"repetition_penalty": 1.2},
}
SLOW_DRAFT = ((0.004,), (0.001,))
SLOW_TARGET = ((0.0005,), (0.004,))
UNEVEN = ((0.0, 0.006, 0.0), (0.003, 0.0))
WAYS = [
    {},
    {"policy": "fixed(5)", "delays": SLOW_DRAFT},
    {"policy": "eager", "lookahead": 2, "delays": SLOW_TARGET},
    {"policy": "adaptive", "delays": UNEVEN},
    {"policy": "confidence(0.5)", "run_ahead": 3, "delays": UNEVEN},
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with tiny_session(tmp_path_factory.mktemp("tiny")) as session:
        yield session


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_the_output_is_that_of_autoregressive_decoding(tiny: Session, sampling: dict) -> None:
    drafters = {True: 0, False: 0}
    for number in range(3):
        prompt = f"w{number} w{number + 50} w7"
        plain = finished(tiny.decode(prompt, "autoregressive", max_new_tokens=40, **sampling))
        for how in WAYS:
            run = finished(tiny.decode(prompt, METHOD, max_new_tokens=40, **how, **sampling))
            assert run.token_ids == plain.token_ids, how
            assert run.header.numerics == plain.header.numerics
            for verdict in run.trace.of(ev.Verified):
                for branch, *_ in verdict.accepted_keys():
                    drafters[branch < 0] += 1
    assert min(drafters.values()) > 5, "both drafters had proposals accepted"


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_exact_length(tiny: Session, length: int) -> None:
    plain = finished(tiny.decode("w4", "autoregressive", max_new_tokens=length))
    for how in WAYS:
        run = finished(tiny.decode("w4", METHOD, max_new_tokens=length, **how))
        assert run.token_ids == plain.token_ids


def test_events_say_who_proposed(tiny: Session, tmp_path: Path) -> None:
    run = finished(tiny.decode("w1 w2", METHOD, max_new_tokens=60, delays=SLOW_DRAFT))
    proposed = run.trace.of(ev.Proposed)
    heads = [p for p in proposed if p.head is not None]
    models = [p for p in proposed if p.head is None]
    assert heads
    assert models
    assert {(p.drafter, p.side, p.branch < 0) for p in heads} == {
        ("speculator", ev.Side.TARGET, True)
    }
    assert {(p.drafter, p.side, p.branch < 0) for p in models} == {("draft", ev.Side.DRAFT, False)}
    own = {p.key: p for p in heads}
    for started in run.trace.of(ev.VerifyStarted):
        keys = started.keys()
        for place, key in enumerate(keys):
            assert (key in own) is (place >= len(keys) - started.own)
            if key in own:
                assert own[key].head == place, "a head counts the draft's proposals before its own"
    allowed = {Fate.ACCEPTED, Fate.REJECTED, Fate.AFTER_MISMATCH, Fate.UNFINISHED}
    assert {run.trace.fates[p.key] for p in heads} <= allowed
    assert not any(
        w.reason is ev.Wait.PROPOSALS for w in run.trace.of(ev.Waited) if w.side is ev.Side.TARGET
    ), "the target never waits while a head has something to say"
    header = run.header
    assert header.draft.name == "near"
    assert header.speculator.parameters > 10_000
    assert Trace.load(run.trace.save(tmp_path / "run.jsonl")) == run.trace
    metrics = measure(run.trace)
    assert sum(h.judged for h in metrics.heads.values()) > 0
    assert 0 < metrics.target.busy <= 1


def test_a_draft_that_is_ahead_takes_over(tiny: Session) -> None:
    """With a slow target the draft has mostly sent what is waited for; heads speak after rollbacks."""
    whole = other = 0
    for number in range(6):
        how = {"max_new_tokens": 40, "delays": ((), (0.03,))}
        run = finished(tiny.decode(f"w{number} w2", METHOD, **how))
        for window in run.trace.of(ev.VerifyStarted):
            whole += bool(window.tokens) and window.own == len(window.tokens)
            other += bool(window.tokens) and not window.own
    assert whole
    assert other


def test_the_end_token_a_stop_string_and_a_stop(tiny: Session) -> None:
    for seed in range(60):
        sampling = {"max_new_tokens": 200, "temperature": 1.5, "seed": seed}
        plain = finished(tiny.decode("w8", "autoregressive", **sampling))
        if plain.trace.finish.reason == "end_token":
            break
    else:
        pytest.fail("no run ended by its end token")
    word = next(text for text in plain.trace.texts[2:] if text.strip()).strip()
    stopped = finished(tiny.decode("w8", "autoregressive", stop=word, **sampling))
    for how in WAYS:
        run = finished(tiny.decode("w8", METHOD, **sampling, **how))
        assert run.token_ids == plain.token_ids
        assert run.trace.finish.reason == "end_token"
        cut = finished(tiny.decode("w8", METHOD, stop=word, **sampling, **how))
        assert (cut.token_ids, cut.text) == (stopped.token_ids, stopped.text)
    run = tiny.decode("w3 w2", METHOD, max_new_tokens=200, delays=((), (0.003,)))
    for event in run:
        if isinstance(event, ev.Verified) and event.position > 5:
            run.stop()
            break
    assert finished(run).trace.finish.reason == "stop_request"


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.timeout(900)
def test_after_a_killed_draft_the_heads_go_on(tiny: Session) -> None:
    plain = finished(tiny.decode("w3 w2", "autoregressive", max_new_tokens=400))
    run = tiny.decode("w3 w2", METHOD, max_new_tokens=400, delays=((0.002,), (0.04,)))
    for event in run:
        if isinstance(event, ev.Verified) and event.position > 10:
            os.kill(tiny.worker_pids[ev.Side.DRAFT], signal.SIGKILL)
            break
    assert finished(run).token_ids == plain.token_ids
    (failed,) = run.trace.of(ev.Failed)
    after = [v for v in run.trace.of(ev.Verified) if v.start > failed.t][10:]
    assert after
    assert all(v.own == v.proposals for v in after)
    assert sum(v.accepted for v in after) > 0
    again = finished(tiny.decode("w3 w2", METHOD, max_new_tokens=150))
    assert again.token_ids == plain.token_ids[:150]
    assert not again.trace.of(ev.Failed)


def test_the_heads_are_loaded_when_they_are_first_needed(tiny: Session) -> None:
    target = str(tiny.pair.target.folder)
    with Session(
        draft="twin",
        target=target,
        dtype="fp32",
        speculator=tiny.speculator,
        sides=(ev.Side.TARGET,),
    ) as session:
        worker = session._workers[ev.Side.TARGET]
        finished(session.decode("w1", "autoregressive", max_new_tokens=4))
        assert worker._speculator is None
        finished(session.decode("w1", "speculator", max_new_tokens=4))
        assert worker._speculator.done()


def test_heads_that_cannot_be_loaded_are_named(tiny: Session, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    target = str(tiny.pair.target.folder)
    with Session(
        draft="twin", target=target, dtype="fp32", speculator=tmp_path, sides=(ev.Side.TARGET,)
    ) as session:
        plain = finished(session.decode("w1", "autoregressive", max_new_tokens=4))
        with pytest.raises(ModelError, match=r"config\.json"):
            session.decode("w1", "speculator")
        again = finished(session.decode("w1", "autoregressive", max_new_tokens=4))
        assert again.token_ids == plain.token_ids


def test_what_cannot_be_asked_for(tiny: Session) -> None:
    with pytest.raises(SettingError, match="candidates is 3, but beside a draft"):
        tiny.decode("w1", METHOD, candidates=3)


def test_the_matrix_of_outputs_finds_them_equal_and_says_where_they_are_not(
    tiny: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["speculator", "speculator-tree", "amusd", METHOD]
    prompts = [Prompt((("user", f"w{n} w{n + 9}"),)) for n in range(2)]
    samplings = {"greedy": {}, "T 0.8": {"temperature": 0.8, "seed": 3}}
    how = {"max_new_tokens": 20}
    *_, found = compare_outputs(tiny, parse_ways(names, "paper"), prompts, samplings, **how)
    assert found.identical
    assert found.same == {name: {"greedy": 2, "T 0.8": 2} for name in names}
    assert 2 <= found.tokens["amusd"]["greedy"] <= 40
    real = tiny.decode

    def other_seed(prompt: str, method: str, **settings: Any) -> Any:
        if method == "amusd" and settings.get("temperature"):
            settings["seed"] = 4
        return real(prompt, method, **settings)

    monkeypatch.setattr(tiny, "decode", other_seed)
    *_, found = compare_outputs(tiny, parse_ways(["amusd"], "paper"), prompts, samplings, **how)
    assert found.same["amusd"]["greedy"] == 2
    assert {d.sampling for d in found.divergences} == {"T 0.8"}
    assert all(0 <= d.margin <= 1 for d in found.divergences)
    with pytest.raises(SettingError, match="another shape"):
        next(compare_outputs(tiny, parse_ways(["autoregressive"], ""), prompts, samplings))
