"""Charts show what is in the traces, all of it, with text that cannot become markup."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest
from small_runs import MS, small_run

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.metrics import measure
from amusd_viz.trace import Trace
from amusd_viz.views import charts

HOSTILE = '<a href="javascript:x">&$x$%{y}\u202e'
ALL = [
    charts.device_timeline,
    charts.tokens_over_time,
    charts.acceptance_by_head,
    charts.acceptance_by_position,
    charts.window_sizes,
    charts.time_by_cause,
    charts.busy_share,
]


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [small_run("autoregressive"), small_run("synchronous"), small_run("amusd")]


@pytest.mark.parametrize("chart", ALL)
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_every_chart_is_a_figure_in_every_theme(chart, theme, traces):
    figure = chart(*traces, theme=theme)
    assert type(figure).__name__ == "Figure"
    assert figure.data
    assert not figure.layout.shapes
    assert json.loads(figure.to_json())["layout"]["paper_bgcolor"] is not None


@pytest.mark.parametrize("chart", ALL)
def test_simulated_runs_say_so(chart, traces):
    figure = chart(small_run("amusd")).to_json()
    assert "AMUSD (simulated)" in figure
    measured = Trace(msgspec.structs.replace(traces[2].header, source="measured"), traces[2].events)
    assert "simulated" not in chart(measured).to_json()


@pytest.mark.parametrize("chart", ALL)
def test_hostile_text_stays_text(chart):
    trace = small_run("amusd", words=dict.fromkeys(range(20), HOSTILE))
    hostile = Trace(msgspec.structs.replace(trace.header, method=HOSTILE), trace.events)
    shown = chart(hostile, small_run()).to_json()
    for danger in ("<a", "\\u003ca", "href=\\u", "$", "%{", "\u202e", "\\u202e"):
        assert danger not in shown, danger


def test_unknown_theme_names_those_that_exist(traces):
    with pytest.raises(SettingError, match="'auto', 'light' or 'dark'"):
        charts.window_sizes(*traces, theme="pink")


def test_timeline_has_one_bar_trace_a_status_and_every_span(traces):
    figure = charts.device_timeline(*traces)
    bars = [t for t in figure.data if t.type == "bar"]
    assert len({t.name for t in bars}) == len(bars)
    shown = sum(sum(t.x) for t in bars)
    spans = [s for t in traces for side in ev.Side for s in t.spans(side)]
    assert shown == pytest.approx(sum(s.end - s.start for s in spans) / MS)
    (rollbacks,) = (t for t in figure.data if t.name == "rollback")
    assert len(rollbacks.x) == sum(measure(t).rollbacks for t in traces)


def test_timeline_sentences_tell_the_fate(traces):
    figure = charts.device_timeline(traces[2])
    (rejected,) = (t for t in figure.data if t.name == "drafts: rejected")
    assert len(rejected.x) == measure(traces[2]).rejected
    assert all("Its fate: rejected." in sentence for sentence in rejected.hovertext)
    assert "ms" in rejected.hovertext[0]


def test_lines_go_through_every_true_commit(traces):
    for line, trace in zip(charts.tokens_over_time(*traces).data, traces, strict=True):
        assert line.line.shape == "hv"
        assert line.y[-1] == len(trace.tokens)
        assert line.x[1:] == tuple(v.end / MS for v in trace.of(ev.Verified))
    assert len({line.line.dash for line in charts.tokens_over_time(*traces).data}) == 3


def test_acceptance_by_head_is_of_heads_only(traces):
    trace = small_run("amusd+speculator")
    *without, bars = charts.acceptance_by_head(*traces, trace).data
    assert not any(len(each.x) for each in without)
    heads = measure(trace).heads
    assert list(bars.x) == list(heads)
    assert bars.text[0] == str(heads[0].judged)
    assert bars.y[0] == pytest.approx(100 * heads[0].accepted / heads[0].judged)


def test_heads_work_in_the_targets_lane():
    trace = small_run("amusd+speculator")
    statuses = {bar.name for bar in charts.device_timeline(trace).data}
    assert any(name.startswith("a head steps in: ") for name in statuses)
    causes = {bar.name for bar in charts.time_by_cause(trace).data}
    assert "drafting by heads: accepted" in causes


def test_acceptance_by_position_counts_what_was_judged(traces):
    (bars,) = charts.acceptance_by_position(traces[1]).data
    m = measure(traces[1])
    judged = [int(n) for n in bars.text]
    accepted = sum(share / 100 * n for share, n in zip(bars.y, judged, strict=True))
    assert bars.x[0] == 1
    assert sum(judged) == m.accepted + m.rejected
    assert accepted == pytest.approx(m.accepted)


def test_window_sizes_count_every_verification(traces):
    for bars, trace in zip(charts.window_sizes(*traces).data, traces, strict=True):
        assert sum(bars.y) == measure(trace).verifications


def test_time_by_cause_adds_up_to_each_run(traces):
    totals: dict[str, float] = {}
    for bars in charts.time_by_cause(*traces).data:
        for lane, amount in zip(bars.y, bars.x, strict=True):
            totals[lane] = totals.get(lane, 0) + amount
    assert len(totals) == 5
    for name, trace in zip(["autoregressive", "synchronous", "AMUSD"], traces, strict=True):
        for lane, total in totals.items():
            if lane.startswith(name):
                assert total == pytest.approx(trace.duration / MS)


def test_busy_share_splits_drafting_into_useful_and_doomed(traces):
    shares = {bars.name: bars.x[0] for bars in charts.busy_share(traces[2]).data}
    draft = measure(traces[2]).draft
    assert draft is not None
    assert shares["drafting, doomed"] == pytest.approx(100 * draft.doomed)


def test_runs_without_commits_and_single_tokens_have_charts():
    for chart in ALL:
        chart(small_run("amusd", tokens=1))
        chart(Trace(small_run().header, []))


def test_tables_and_metrics_do_not_load_plotly():
    code = (
        "import sys, amusd_viz.views.tables, amusd_viz.views.charts, amusd_viz.metrics;"
        "print([m for m in ('plotly', 'pandas', 'torch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
