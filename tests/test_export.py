"""Exports hold what the trace holds, in forms that other programs read."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from small_runs import small_run

from amusd_viz import events as ev
from amusd_viz.errors import MissingExtraError
from amusd_viz.export.events import COLUMNS, rows, to_csv
from amusd_viz.export.perfetto import to_perfetto
from amusd_viz.metrics import measure
from amusd_viz.progress import progress
from amusd_viz.trace import Trace

WORDS = {0: "=1+1", 1: ' "quoted",\n', 2: "</script><b>", 3: " é\u202e"}


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    methods = ("autoregressive", "synchronous", "amusd")
    return [small_run(method, words=WORDS) for method in methods]


# -- tables ----------------------------------------------------------------------------------


def test_table_has_a_row_for_every_event(traces):
    for trace in traces:
        found = rows(trace)
        assert len(found) == len(trace.events)
        assert all(tuple(row) == COLUMNS for row in found)
        assert sum(row["committed"] for row in found if row["kind"] == "verified") == 30


def test_dataframe_answers_questions(traces):
    frame = traces[2].to_dataframe()
    proposed = frame[frame.kind == "proposed"]
    m = measure(traces[2])
    assert (proposed.fate == "accepted").sum() == m.accepted
    seconds = (proposed.end_ns - proposed.start_ns).sum() / 1e9
    assert seconds == pytest.approx(m.useful_seconds + m.doomed_seconds)
    assert frame.branch.isna().any()
    assert str(frame.branch.dtype) == "Int64"


def test_dataframe_without_pandas_says_what_to_install(traces, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pandas.*amusd-viz\[export\]"):
        traces[2].to_dataframe()


def test_csv_gives_every_text_back_and_no_formula(traces):
    read = list(csv.DictReader(io.StringIO(to_csv(traces[2]))))
    assert len(read) == len(traces[2].events)
    texts = [json.loads(row["text"]) for row in read if row["kind"] == "proposed"]
    assert texts == [p.text for p in traces[2].of(ev.Proposed)]
    assert "=1+1" in texts
    assert not any(cell[:1] in "=+-@" for row in read for cell in row.values() if cell)


# -- progress --------------------------------------------------------------------------------


def test_progress_ends_at_the_whole_output_and_never_goes_back(traces):
    for trace in traces:
        steps = progress(trace)
        assert steps[-1].committed == len(trace.tokens)
        assert [s.t for s in steps] == sorted(s.t for s in steps)
        assert [s.committed for s in steps] == sorted(s.committed for s in steps)
        assert all(s.known <= s.committed for s in steps)
        assert all(0 <= s.run_ahead <= 16 for s in steps)


# -- Perfetto --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def perfetto(traces) -> list[dict]:
    return json.loads(to_perfetto(*traces))["traceEvents"]


def test_every_run_is_a_process_with_two_named_tracks(perfetto):
    names = {e["pid"]: e["args"]["name"] for e in perfetto if e["name"] == "process_name"}
    assert names == {
        1: "autoregressive (simulated)",
        2: "synchronous (simulated)",
        3: "AMUSD (simulated)",
    }
    tracks = [e["args"]["name"] for e in perfetto if e["name"] == "thread_name" and e["pid"] == 3]
    assert tracks == [
        "draft: imaginary draft on virtual device 0",
        "target: imaginary target on virtual device 1",
    ]


def test_slices_are_the_spans_and_nest_nowhere(perfetto, traces):
    for process, trace in enumerate(traces, start=1):
        for track, side in ((1, ev.Side.DRAFT), (2, ev.Side.TARGET)):
            found = [
                (e["ts"], e["ts"] + e["dur"])
                for e in perfetto
                if (e["ph"], e["pid"], e.get("tid")) == ("X", process, track)
            ]
            spans = [(s.start / 1e3, s.end / 1e3) for s in trace.spans(side)]
            assert found == [(start, pytest.approx(end)) for start, end in spans]


def test_an_arrow_leads_from_its_verdict_to_every_rollback(perfetto, traces):
    arrows = [e for e in perfetto if e["cat" if "cat" in e else "ph"] == "rollback"]
    ids = {e["id"] for e in arrows}
    assert len(ids) == sum(measure(t).rollbacks for t in traces) > 0
    for identity in ids:
        start, end = sorted((e for e in arrows if e["id"] == identity), key=lambda e: -ord(e["ph"]))
        assert (start["ph"], start["tid"], end["ph"], end["tid"]) == ("s", 2, "f", 1)
        assert start["ts"] <= end["ts"]
        trace = traces[start["pid"] - 1]
        inside = [s for s in trace.spans(ev.Side.TARGET) if s.start <= start["ts"] * 1e3 < s.end]
        assert len(inside) == 1, "the tail lies inside a slice of the target"
        assert end["ts"] in [r.t / 1e3 for r in trace.of(ev.RolledBack)]


def test_arrow_heads_stand_before_the_rollback_they_bind_to(perfetto):
    for index, event in enumerate(perfetto):
        if event["ph"] == "f":
            rollback = perfetto[index + 1]
            assert rollback["name"].startswith("roll back to")
            assert rollback["ts"] == event["ts"]


def test_counters_end_at_the_output(perfetto):
    last = {(e["pid"], e["name"]): e["args"]["tokens"] for e in perfetto if e["ph"] == "C"}
    assert last[3, "committed (tokens)"] == 30
    assert {name for _, name in last} == {
        "committed (tokens)",
        "known (tokens)",
        "run-ahead (tokens)",
    }
