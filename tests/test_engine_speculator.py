"""Decoding with a speculator: the output is the target's own, whatever is proposed, as chain or tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny_session import finished, tiny_session

from amusd_viz import events as ev
from amusd_viz.engine import Session
from amusd_viz.errors import ModelError, SettingError
from amusd_viz.metrics import measure
from amusd_viz.protocol import Fate, look_up
from amusd_viz.trace import Trace

pytestmark = pytest.mark.engine

SAMPLINGS = {
    "greedy": {},
    "T 0.7": {"temperature": 0.7, "seed": 7},
    "T 1.0, top-p 0.9": {"temperature": 1.0, "top_p": 0.9, "seed": 11},
    "greedy, penalty": {"repetition_penalty": 1.2},
}
WAYS = [
    {},
    {"lookahead": 2},
    {"candidates": 3},
    {"candidates": 5, "lookahead": 3},
    {"policy": "adaptive"},
    {"candidates": 3, "policy": "adaptive"},
    {"prompt_lookup": True},
    {"prompt_lookup": True, "policy": "adaptive"},
    {"prompt_lookup": True, "candidates": 3},
    {"prompt_lookup": True, "candidates": 3, "policy": "adaptive"},
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with tiny_session(tmp_path_factory.mktemp("tiny")) as session:
        yield session


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_the_output_is_that_of_autoregressive_decoding(tiny: Session, sampling: dict) -> None:
    accepted = 0
    for number in range(4):
        prompt = f"w{number} w{number + 50} w7"
        plain = finished(tiny.decode(prompt, "autoregressive", max_new_tokens=40, **sampling))
        for how in WAYS:
            run = finished(tiny.decode(prompt, "speculator", max_new_tokens=40, **how, **sampling))
            assert run.token_ids == plain.token_ids, how
            assert run.header.numerics == plain.header.numerics
            accepted += measure(run.trace).accepted
    assert accepted > 20


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_exact_length(tiny: Session, length: int) -> None:
    plain = finished(tiny.decode("w4", "autoregressive", max_new_tokens=length))
    for how in WAYS:
        run = finished(tiny.decode("w4", "speculator", max_new_tokens=length, **how))
        assert run.token_ids == plain.token_ids


@pytest.mark.parametrize("policy", ["paper", "adaptive"])
def test_events_say_which_head_and_candidate_proposed(
    tiny: Session, tmp_path: Path, policy: str
) -> None:
    how = {"max_new_tokens": 40, "candidates": 4, "policy": policy}
    for number in range(12):
        run = finished(tiny.decode(f"w{number}", "speculator", **how))
        if any(any(v.path) for v in run.trace.of(ev.Verified)):
            break
    else:
        pytest.fail("no other candidate than the first was ever accepted")
    proposed = run.trace.of(ev.Proposed)
    assert {p.drafter for p in proposed} == {"speculator"}
    assert run.header.policy == ("tree(4)" if policy == "paper" else "tree, adaptive")
    heads = {p.head for p in proposed}
    assert heads == {0, 1, 2, 3} if policy == "paper" else {0, 1} <= heads <= {0, 1, 2, 3}
    assert any(p.candidate and p.parent is not None for p in proposed)
    for started in run.trace.of(ev.VerifyStarted):
        window = [p for p in proposed if p.branch == started.branch]
        window = [p for p in window if p.position >= started.position]
        assert len([p for p in window if p.candidate]) >= started.others
    assert len(run.trace.fates) == len(proposed)
    header = run.header
    assert header.draft.name == "token/embedding speculator"
    assert header.draft.parameters > 10_000
    assert "shared" in header.draft_device.label
    assert Trace.load(run.trace.save(tmp_path / "run.jsonl")) == run.trace


def test_a_chain_has_the_events_of_synchronous_decoding(tiny: Session) -> None:
    run = finished(tiny.decode("w1 w2", "speculator", max_new_tokens=40))
    assert all(p.candidate == 0 and p.parent is None for p in run.trace.of(ev.Proposed))
    assert not any(v.path for v in run.trace.of(ev.Verified))
    metrics = measure(run.trace)
    assert metrics.rollbacks + metrics.bonuses > 0
    assert metrics.overlap == 0
    assert set(metrics.fates) <= {
        Fate.ACCEPTED,
        Fate.REJECTED,
        Fate.AFTER_MISMATCH,
        Fate.UNFINISHED,
    }


def test_what_a_run_measured_serves_the_next(tiny: Session) -> None:
    """What a pass without proposals costs is tried out once in a session, not once a run."""
    how = {"policy": "adaptive", "lookahead": 3, "delays": ((), (0.01,)), "max_new_tokens": 40}
    windows = []
    for number in range(4):
        run = finished(tiny.decode(f"w{number} w{number + 50} w7", "speculator", **how))
        last = len(run.token_ids) - 1
        started = [e for e in run.trace.of(ev.VerifyStarted) if e.position < last]
        windows.append([len(e.tokens) for e in started])
    assert sum(len(run) > 8 for run in windows) > 1
    assert sum(run.count(0) for run in windows) == 1


def test_the_end_token_and_a_stop(tiny: Session) -> None:
    for seed in range(60):
        sampling = {"max_new_tokens": 200, "temperature": 1.5, "seed": seed}
        plain = finished(tiny.decode("w8", "autoregressive", **sampling))
        if plain.trace.finish.reason == "end_token":
            break
    else:
        pytest.fail("no run ended by its end token")
    for how in WAYS:
        run = finished(tiny.decode("w8", "speculator", **sampling, **how))
        assert run.token_ids == plain.token_ids
        assert run.trace.finish.reason == "end_token"
    run = tiny.decode("w3 w2", "speculator", max_new_tokens=200, delays=((), (0.003,)))
    for event in run:
        if isinstance(event, ev.Verified) and event.position > 5:
            run.stop()
            break
    assert finished(run).trace.finish.reason == "stop_request"


def test_a_draft_that_died_does_not_matter(tiny: Session) -> None:
    """No draft model takes part; the session's other runs go on as before."""
    speculated = finished(tiny.decode("w6", "speculator", max_new_tokens=30))
    both = finished(tiny.decode("w6", "amusd", max_new_tokens=30))
    assert speculated.token_ids == both.token_ids
    assert {e.side for e in speculated.trace.of(ev.Prefill)} == {ev.Side.TARGET}


def test_what_cannot_be_asked_for(tiny: Session, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="lookahead 20 needs"):
        tiny.decode("w1", "speculator", lookahead=20)
    with pytest.raises(SettingError, match="candidates is 0"):
        tiny.decode("w1", "speculator", candidates=0)
    target = str(tiny.pair.target.folder)
    with pytest.raises(ModelError, match="there is no folder"):
        Session(draft="twin", target=target, speculator=tmp_path / "missing")
    with pytest.raises(ModelError, match=r"config\.json"):
        Session(draft="twin", target=target, speculator=tmp_path)


@pytest.mark.parametrize(("candidates", "drafted"), [(1, "chain"), (3, "tree(3)")])
def test_where_the_text_repeats_itself_what_followed_there_is_proposed(
    tiny: Session, candidates: int, drafted: str
) -> None:
    how = {"prompt_lookup": True, "max_new_tokens": 60, "lookahead": 3, "candidates": candidates}
    run = finished(tiny.decode("w9 w4 w5 w6 w7 w4 w5", "speculator", **how))
    run.trace.check()
    assert run.header.policy == f"{drafted}, prompt lookup"
    proposed = {proposal.key: proposal for proposal in run.trace.of(ev.Proposed)}
    drafters, longest = set(), 0
    for verdict in run.trace.of(ev.Verified):
        before = [*run.header.prompt_ids, *run.token_ids[: verdict.position]]
        keys = [
            ev.proposal_key(verdict.branch, verdict.position + i) for i in range(verdict.proposals)
        ]
        window = [proposed[key] for key in keys]
        copied = look_up(before, tiny.rows - 1)
        drafters |= {p.drafter for p in window}
        if copied:
            assert tuple(p.token for p in window) == copied[: len(window)]
            longest = max(longest, len(window))
            assert all(p.head is None and p.drafter == "prompt lookup" for p in window)
        else:
            assert [p.head for p in window] == list(range(len(window)))
    assert drafters == {"speculator", "prompt lookup"}
    assert longest > how["lookahead"], "what agrees for long is proposed as far as a pass reads"
    # Heads are credited with what they said, and with nothing else.
    asked = [p for p in proposed.values() if p.head is not None]
    assert sum(record.judged for record in measure(run.trace).heads.values()) <= len(asked)


@pytest.mark.parametrize("method", ["amusd", "amusd+speculator", "synchronous"])
def test_prompt_lookup_stands_in_for_heads_alone(tiny: Session, method: str) -> None:
    with pytest.raises(SettingError, match="prompt_lookup stands in for the heads"):
        tiny.decode("w1", method, prompt_lookup=True)


def test_a_session_without_a_speculator_says_so(tiny: Session) -> None:
    tiny.speculator, kept = None, tiny.speculator
    try:
        with pytest.raises(SettingError, match="has no token/embedding speculator"):
            tiny.decode("w1", "speculator")
    finally:
        tiny.speculator = kept
