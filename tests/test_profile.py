"""Where a decode's time goes: every part is counted once, and the parts add up."""

from __future__ import annotations

import msgspec
import pytest

from amusd_viz import events as ev
from amusd_viz import recording
from amusd_viz.errors import SettingError
from amusd_viz.metrics import measure
from amusd_viz.trace import Trace
from amusd_viz.views import style
from amusd_viz.views.profile import (
    BETWEEN,
    CHOICE,
    FORWARD,
    STEP,
    profile_table,
    time_by_part,
    time_profile,
)
from amusd_viz.words import WAITS, labelled_names


@pytest.mark.parametrize("name", ["sky-amusd", "sky-synchronous", "sky-autoregressive"])
def test_the_parts_add_up_to_the_decode_and_agree_with_the_metrics(name: str) -> None:
    trace = recording(name)
    figures = measure(trace)
    for side, device in ((ev.Side.DRAFT, figures.draft), (ev.Side.TARGET, figures.target)):
        if device is None:
            continue
        parts = time_by_part(trace, side)
        decode = figures.decode_seconds * 1e9
        assert sum(parts.values()) == pytest.approx(decode, rel=1e-9)
        waits = sum(ns for part, ns in parts.items() if part in WAITS.values())
        assert waits == pytest.approx(device.idle * decode, rel=1e-6, abs=1)
        assert parts[BETWEEN] <= device.other * decode * (1 + 1e-9)


def split(trace: Trace) -> Trace:
    """The same run, its forwards done after three quarters of each step."""

    def with_computed(event: ev.Event) -> ev.Event:
        if isinstance(event, ev.Proposed | ev.Verified):
            done = event.start + (event.end - event.start) * 3 // 4
            return msgspec.structs.replace(event, computed=done)
        return event

    return Trace(trace.header, [with_computed(event) for event in trace.events])


def test_forward_and_choice_are_told_apart_where_they_were_recorded(simulated_amusd: Trace) -> None:
    whole = time_by_part(simulated_amusd, ev.Side.TARGET)
    parts = time_by_part(split(simulated_amusd), ev.Side.TARGET)
    assert FORWARD not in whole
    assert parts[FORWARD] + parts[CHOICE] == whole[STEP]
    assert parts[FORWARD] == pytest.approx(3 * parts[CHOICE], rel=1e-6)


def test_the_table_has_a_row_for_each_part_and_a_pair_of_columns_for_each_device(
    simulated_amusd: Trace,
) -> None:
    table = profile_table(split(simulated_amusd))
    assert table.heading[1:] == (
        *("draft ms/token", "draft share"),
        *("target ms/token", "target share"),
    )
    assert {FORWARD, CHOICE} <= {row[0] for row in table.rows}
    assert "simulated" in table.remarks[0]
    alone = profile_table(recording("sky-autoregressive"))
    assert len(alone.heading) == 3


def test_the_chart_shows_the_same_times(simulated_amusd: Trace) -> None:
    runs = simulated_amusd, recording("sky-amusd")
    figure = time_profile(*runs)
    assert len({lane for bar in figure.data for lane in bar.y}) == 4
    tokens = len(simulated_amusd.tokens) - 1
    decode = measure(simulated_amusd).decode_seconds * 1e3
    lane = style.lane(labelled_names(runs)[0], ev.Side.TARGET)
    shown = sum(x for bar in figure.data for y, x in zip(bar.y, bar.x, strict=True) if y == lane)
    assert shown == pytest.approx(decode / tokens)


def test_a_run_without_a_decode_is_refused(simulated_amusd: Trace) -> None:
    prefill_only = Trace(simulated_amusd.header, simulated_amusd.events[:1])
    with pytest.raises(SettingError, match="no decode"):
        profile_table(prefill_only)
    with pytest.raises(SettingError, match="no run"):
        time_profile()
