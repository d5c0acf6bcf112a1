"""A trace: saved, loaded, asked; kinds of a later version are kept."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz.protocol import Fate
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace, ends_a_run, in_order

TIMES = st.integers(0, 40)
POLICIES = st.sampled_from(["paper", "eager", "fixed(1)", "fixed(5)"])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Runs in virtual time, of any method, policy and timing."""
    length = draw(st.integers(1, 16))
    target = draw(st.lists(st.integers(0, 3), min_size=length + 20, max_size=length + 20))
    wrong = draw(st.lists(st.booleans(), min_size=length + 20, max_size=length + 20))
    words = {i: draw(st.text(max_size=4)) for i in range(4)}
    slope = draw(TIMES)
    return simulate(
        Text(target, [t + w for t, w in zip(target, wrong, strict=True)], words),
        Timing(
            draft=draw(st.integers(1, 40)),
            target=lambda k: 1 + slope * k,
            latency_to_target=draw(TIMES),
            latency_to_draft=draw(TIMES),
            draft_prefill=draw(TIMES),
            target_prefill=draw(TIMES),
        ),
        method=draw(st.sampled_from(["amusd", "synchronous", "autoregressive"])),
        max_new_tokens=length,
        policy=draw(POLICIES),
        lookahead=draw(st.integers(1, 5)),
        run_ahead=draw(st.integers(1, 9)),
        rows=draw(st.integers(2, 8)),
    )


@settings(max_examples=80, deadline=None)
@given(traces())
def test_any_simulated_run_survives_the_file_and_its_check(trace: Trace) -> None:
    again = Trace.loads(trace.dumps())
    assert again == trace
    assert again.dumps() == trace.dumps()
    assert Trace.loads(trace.dumps().decode()) == trace


@settings(max_examples=60, deadline=None)
@given(traces())
def test_the_answers_of_any_simulated_run_agree_with_its_events(trace: Trace) -> None:
    n = trace.header.max_new_tokens
    assert len(trace.tokens) == len(trace.texts) == len(trace.committed_at) == n
    assert trace.finish is not None
    assert trace.finish.tokens == n
    assert trace.duration == trace.finish.t >= trace.committed_at[-1]
    assert list(trace.committed_at) == sorted(trace.committed_at)
    assert set(trace.fates) == {(p.branch, p.position) for p in trace.of(ev.Proposed)}
    accepted = sum(fate is Fate.ACCEPTED for fate in trace.fates.values())
    assert accepted == sum(v.accepted for v in trace.of(ev.Verified))
    for side in ev.Side:
        spans = trace.spans(side)
        assert all(a.end <= b.start for a, b in pairwise(spans))


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz", "Zug um Zug ✓.gz"])
def test_a_file_gives_back_what_was_saved(
    name: str, tmp_path: Path, simulated_amusd: Trace
) -> None:
    path = simulated_amusd.save(tmp_path / name)
    assert Trace.load(path) == simulated_amusd
    assert Trace.load(str(path)) == simulated_amusd
    first = path.read_bytes()
    assert simulated_amusd.save(path).read_bytes() == first, "the same trace gives the same bytes"


def test_gzip_is_known_by_its_first_bytes_and_may_come_in_members(
    tmp_path: Path, simulated_amusd: Trace
) -> None:
    data = simulated_amusd.dumps()
    path = tmp_path / "run.jsonl"
    path.write_bytes(gzip.compress(data[:1000]) + gzip.compress(data[1000:]))
    assert Trace.load(path) == simulated_amusd


def test_line_ends_of_another_system_and_blank_lines_are_read(simulated_amusd: Trace) -> None:
    text = simulated_amusd.dumps().replace(b"\n", b"\r\n\r\n")
    assert Trace.loads(text) == simulated_amusd


def test_a_trace_is_not_changed_by_readers_and_has_no_hash(simulated_amusd: Trace) -> None:
    assert isinstance(simulated_amusd.events, tuple)
    with pytest.raises(AttributeError):
        simulated_amusd.events[0].t = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        hash(simulated_amusd)
    assert simulated_amusd != "a trace"


def test_its_repr_says_what_it_is(simulated_amusd: Trace) -> None:
    assert repr(simulated_amusd) == (
        f"Trace(amusd, simulated, 40 tokens, {len(simulated_amusd.events)} events)"
    )


# -- kinds of a later version --------------------------------------------------------------------

LATER = (
    b'{"kind":"tree_grown","t":5,"side":"draft","nodes":[1,{"a":null}],"text":"\\u2713 <b>"}',
    b' {"z": 1.50, "kind":  "weather"}',
)


def with_later_kinds(trace: Trace) -> bytes:
    lines = trace.dumps().splitlines()
    return b"\n".join([*lines[:3], LATER[0], *lines[3:8], LATER[1], *lines[8:]])


def test_unknown_kinds_are_kept_as_they_were_and_skipped(simulated_amusd: Trace) -> None:
    trace = Trace.loads(with_later_kinds(simulated_amusd))
    unknown = trace.of(ev.Unknown)
    assert [u.kind for u in unknown] == ["tree_grown", "weather"]
    assert [bytes(u.raw) for u in unknown] == list(LATER)
    assert trace.tokens == simulated_amusd.tokens
    assert trace.duration == simulated_amusd.duration
    assert trace.fates == simulated_amusd.fates
    assert trace.check() is trace


def test_unknown_kinds_survive_saving_in_their_place(
    tmp_path: Path, simulated_amusd: Trace
) -> None:
    text = with_later_kinds(simulated_amusd)
    trace = Trace.loads(text)
    again = Trace.load(trace.save(tmp_path / "later.jsonl.gz"))
    assert again == trace
    assert trace.dumps() == text.rstrip(b"\n") + b"\n"


def test_unknown_fields_of_known_kinds_are_ignored(simulated_amusd: Trace) -> None:
    lines = [json.loads(line) for line in simulated_amusd.dumps().splitlines()]
    for line in lines:
        line["a_field_of_the_future"] = {"deep": [1, 2]}
    text = b"\n".join(json.dumps(line).encode() for line in lines)
    assert Trace.loads(text) == simulated_amusd


def test_an_unknown_kind_can_be_decoded_by_who_knows_it(simulated_amusd: Trace) -> None:
    trace = Trace.loads(with_later_kinds(simulated_amusd))
    assert msgspec.json.decode(trace.of(ev.Unknown)[0].raw)["nodes"] == [1, {"a": None}]


# -- order and end -------------------------------------------------------------------------------


def test_events_are_sorted_by_when_they_became_known_and_ties_keep_their_order() -> None:
    span = ev.Waited(start=1, end=9, side=ev.Side.TARGET, reason=ev.Wait.PROPOSALS)
    a, b = ev.CarriedOn(t=4, known=1), ev.CarriedOn(t=4, known=2)
    later = ev.Unknown(raw=msgspec.Raw(b"{}"), kind="x")
    assert in_order([span, later, a, b]) == (a, b, span, later)


@pytest.mark.parametrize(("side", "ends"), [(ev.Side.TARGET, True), (ev.Side.DRAFT, False)])
def test_a_run_ends_with_its_target_and_not_with_its_draft(side: ev.Side, ends: bool) -> None:
    assert ends_a_run([ev.Failed(t=1, side=side, what="gone")]) is ends
