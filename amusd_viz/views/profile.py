"""Where the time of a decode goes: forwards, choices, waiting and what is left, for each device.

From a trace alone, and within the decode: from the first commit to the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.simulate.calibration import calibrate_latencies
from amusd_viz.trace import Trace
from amusd_viz.views import style
from amusd_viz.views.style import Look, Theme
from amusd_viz.views.tables import UNDEFINED, Table
from amusd_viz.words import WAITS, labelled_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

FORWARD, CHOICE, STEP = "forward", "choice of tokens", "forward and choice"
BETWEEN, PREFILL, REST = "recording and messages", "prefill", "other"

_LOOKS = {
    PREFILL: style.PREFILL,
    FORWARD: Look(style.ORANGE),
    STEP: Look(style.ORANGE),
    CHOICE: Look(style.BLUE, "/", "#FFFFFF"),
    BETWEEN: Look("rgba(204,121,167,0.6)", "x", "#24292F"),
    REST: style.OTHER,
} | {WAITS[reason]: look for reason, look in style.WAITED.items()}

LONGEST_BETWEEN_NS = 20_000_000
"""A longer gap between two spans of a device is not bookkeeping."""


def time_by_part(trace: Trace, side: ev.Side) -> dict[str, int]:
    """What one device spent its decode on (ns); the parts add up to the decode.

    Recording and messages are what lies between a step and the next span of the same device.

    Raises:
        SettingError: the run holds no decode.
    """
    begin, end = _decode(trace)
    parts: Counter[str] = Counter()
    spans = trace.spans(side)
    for span in spans:
        for part, start, stop in _pieces(span):
            parts[part] += max(0, min(stop, end) - max(start, begin))
    for before, after in pairwise(spans):
        gap = max(0, min(after.start, end) - max(before.end, begin))
        if not isinstance(before, ev.Waited) and gap <= LONGEST_BETWEEN_NS:
            parts[BETWEEN] += gap
    parts[REST] = end - begin - sum(parts.values())
    return {part: ns for part, ns in parts.items() if ns > 0}


def _decode(trace: Trace) -> tuple[int, int]:
    commits = [v for v in trace.of(ev.Verified) if v.committed]
    if len(commits) < 2:
        raise SettingError("a run with fewer than two commits has no decode to look into")
    return commits[0].end, commits[-1].end


def _pieces(span: ev.Span) -> list[tuple[str, int, int]]:
    match span:
        case ev.Waited():
            return [(WAITS[span.reason], span.start, span.end)]
        case ev.Proposed() | ev.Verified() if span.computed is not None:
            return [(FORWARD, span.start, span.computed), (CHOICE, span.computed, span.end)]
        case ev.Proposed() | ev.Verified():
            return [(STEP, span.start, span.end)]
    return [(PREFILL, span.start, span.end)]


def profile_table(trace: Trace) -> Table:
    """Time of each device by what it was spent on: ms a committed token, and share of the decode."""
    begin, end = _decode(trace)
    tokens = max(1, len(trace.tokens) - 1)
    sides = [side for side in ev.Side if trace.spans(side)]
    times = {side: time_by_part(trace, side) for side in sides}
    names = [part for part in _LOOKS if any(part in parts for parts in times.values())]
    rows = [
        (
            part,
            *(
                cell
                for side in sides
                for cell in _cells(times[side].get(part), tokens, end - begin)
            ),
        )
        for part in names
    ]
    heading = ("part", *(h for side in sides for h in (f"{side} ms/token", f"{side} share")))
    return Table(heading, tuple(rows), tuple(_remarks(trace, (end - begin) / tokens)))


def _cells(ns: int | None, tokens: int, whole: int) -> tuple[str, str]:
    if ns is None:
        return UNDEFINED, UNDEFINED
    return f"{ns / tokens / 1e6:.2f}", f"{ns / whole:.1%}"


def _remarks(trace: Trace, ns_per_token: float) -> list[str]:
    remarks = [f"{ns_per_token / 1e6:.2f} ms a token in all ({trace.header.source})"]
    if trace.of(ev.Proposed):
        to_target, to_draft = calibrate_latencies([trace])
        remarks.append(
            f"a message that is waited for is read {to_target / 1e6:.2f} ms (proposals) and "
            f"{to_draft / 1e6:.2f} ms (commits) after it was sent"
        )
    return remarks


def time_profile(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """The same as a chart: one bar a device, ms a committed token, its parts stacked."""
    lanes: dict[str, dict[str, float]] = {}
    for name, trace in zip(labelled_names(traces), _some(traces), strict=True):
        tokens = max(1, len(trace.tokens) - 1)
        for side in ev.Side:
            if trace.spans(side):
                parts = time_by_part(trace, side)
                lanes[style.lane(name, side)] = {p: ns / tokens / 1e6 for p, ns in parts.items()}
    figure = style.new_figure(
        "Where the time of a decode goes", x="time per committed token (ms)", y="", theme=theme
    )
    for part, look in _LOOKS.items():
        shown = {lane: parts[part] for lane, parts in lanes.items() if part in parts}
        if shown:
            figure.add_bar(
                name=part,
                orientation="h",
                y=list(shown),
                x=list(shown.values()),
                marker=look.marker(theme),
                hovertext=[
                    f"{lane.replace('<br>', ', ')}: {ms:.2f} ms a token: {part}."
                    for lane, ms in shown.items()
                ],
                hoverinfo="text",
            )
    figure.update_layout(barmode="stack", bargap=0.3)
    style.fit_lanes(figure, list(lanes))
    return figure


def _some(traces: Sequence[Trace]) -> Sequence[Trace]:
    if not traces:
        raise SettingError("no run was given; pass one or more traces")
    return traces
