"""Charts over traces, one function each; every one returns a plotly ``go.Figure``.

They read traces only, so they show recorded, simulated and measured runs alike, side by side. Runs
share a clock that starts with each run. ``theme`` is ``"auto"`` (reads on light and dark pages),
``"light"`` or ``"dark"``. The device timeline has a module of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from amusd_viz import events as ev
from amusd_viz.metrics import DeviceTime, Metrics, measure
from amusd_viz.protocol.messages import Fate
from amusd_viz.protocol.target import Extra
from amusd_viz.trace import Trace
from amusd_viz.views import style
from amusd_viz.views.style import Look, Theme, markup
from amusd_viz.views.timeline import device_timeline
from amusd_viz.words import FATES, WAITS, counted, labelled_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "acceptance_by_head",
    "acceptance_by_position",
    "busy_share",
    "device_timeline",
    "time_by_cause",
    "tokens_over_time",
    "window_sizes",
]

_MS = 1e6


# -- over time -------------------------------------------------------------------------------


def tokens_over_time(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """Committed tokens against time (ms): a step at every true commit, one line style a run."""
    figure = style.new_figure(
        "Committed tokens over time",
        x="time since the start of the run (ms)",
        y="committed tokens",
        theme=theme,
    )
    for index, (name, trace) in enumerate(zip(labelled_names(traces), traces, strict=True)):
        commits = [v for v in trace.of(ev.Verified) if v.committed]
        totals = [v.position + len(v.committed) for v in commits]
        sentences = [_commit_sentence(name, v, n) for v, n in zip(commits, totals, strict=True)]
        figure.add_scatter(
            name=markup(name),
            x=[0, *(v.end / _MS for v in commits)],
            y=[0, *totals],
            mode="lines",
            line={
                "shape": "hv",
                "width": 2.2,
                "color": style.ink(theme),
                "dash": style.DASHES[index % len(style.DASHES)],
            },
            hovertext=[f"{markup(name)}: the run starts.", *sentences],
            hoverinfo="text",
        )
    _label_ends(figure, traces)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    return figure


def _commit_sentence(name: str, verdict: ev.Verified, total: int) -> str:
    extras = {Extra.CORRECTION: " and a correction", Extra.BONUS: " and a bonus"}
    what = (
        f"{verdict.accepted} of {counted(verdict.proposals, 'proposal')}{extras.get(verdict.extra, '')}"
        if verdict.proposals
        else "one token of its own"
    )
    return (
        f"{markup(name)}: at {verdict.end / _MS:.1f} ms the target committed {what};<br>"
        f"{total} in all."
    )


def _label_ends(figure: go.Figure, traces: Sequence[Trace]) -> None:
    """Names at the ends of the lines, one above the other so that none covers another."""
    ends = [
        (trace.committed_at[-1] / _MS, len(trace.tokens), name)
        for name, trace in zip(labelled_names(traces), traces, strict=True)
        if trace.tokens
    ]
    for height, (x, y, name) in enumerate(sorted(ends)):
        figure.add_annotation(
            x=x,
            y=y,
            text=markup(name, 32),
            xanchor="right",
            yanchor="bottom",
            yshift=4 + 16 * (len(ends) - 1 - height),
            showarrow=False,
        )


# -- windows ---------------------------------------------------------------------------------


def acceptance_by_position(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """Share of accepted proposals by their place in the window (1 is the first).

    Of those judged there: a place behind a mismatch was not judged. Numbers over the bars say how
    many were.
    """
    figure = style.new_figure(
        "Acceptance by place in the window",
        x="place in the window",
        y="accepted, of those judged (%)",
        theme=theme,
    )
    for name, look, trace in _with_looks(traces):
        judged, accepted = _judged_by_place(trace)
        places = sorted(judged)
        shares = [100 * accepted[p] / judged[p] for p in places]
        figure.add_bar(
            name=markup(name),
            x=places,
            y=shares,
            marker=look.marker(theme),
            text=[str(judged[p]) for p in places],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"{markup(name)}: of {counted(judged[p], 'proposal')} judged at place {p}<br>"
                f"of a window the target accepted {accepted[p]} ({share:.0f} %)."
                for p, share in zip(places, shares, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(dtick=1)
    figure.update_yaxes(range=[0, 112], tickvals=[0, 25, 50, 75, 100])
    return figure


def acceptance_by_head(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """Share of accepted proposals by the head of a speculator that made them (0 is the first).

    Of those judged on a right prefix, whether the heads draft alone or step in for a draft; of a tree
    the main chain. Numbers over the bars say how many were judged.
    """
    figure = style.new_figure(
        "Acceptance by head", x="head", y="accepted, of those judged (%)", theme=theme
    )
    for name, look, trace in _with_looks(traces):
        heads = measure(trace).heads
        figure.add_bar(
            name=markup(name),
            x=list(heads),
            y=[100 * record.acceptance for record in heads.values()],
            marker=look.marker(theme),
            text=[str(record.judged) for record in heads.values()],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"{markup(name)}: of {counted(record.judged, 'proposal')} of head {head} that were "
                f"judged<br>the target accepted {record.accepted} ({record.acceptance:.0%})."
                for head, record in heads.items()
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(dtick=1)
    figure.update_yaxes(range=[0, 112], tickvals=[0, 25, 50, 75, 100])
    return figure


def _judged_by_place(trace: Trace) -> tuple[Counter[int], Counter[int]]:
    judged: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for verdict in trace.of(ev.Verified):
        right = verdict.accepted
        accepted.update(range(1, right + 1))
        wrong = 1 if verdict.extra is Extra.CORRECTION else 0
        judged.update(range(1, right + wrong + 1))
    return judged, accepted


def window_sizes(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """How many verifications had a window of each size (proposals)."""
    figure = style.new_figure(
        "Sizes of the windows",
        x="proposals in the window",
        y="verifications",
        theme=theme,
    )
    for name, look, trace in _with_looks(traces):
        windows = measure(trace).windows
        figure.add_bar(
            name=markup(name),
            x=list(windows),
            y=list(windows.values()),
            marker=look.marker(theme),
            text=[str(n) for n in windows.values()],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"{markup(name)}: {counted(count, 'verification')} "
                f"with a window of {counted(size, 'proposal')}."
                for size, count in windows.items()
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(dtick=1)
    return figure


def _with_looks(traces: Sequence[Trace]) -> Iterable[tuple[str, Look, Trace]]:
    for index, (name, trace) in enumerate(zip(labelled_names(traces), traces, strict=True)):
        yield name, style.RUN_LOOKS[index % len(style.RUN_LOOKS)], trace


# -- where the time went ---------------------------------------------------------------------

_Part = tuple[str, Look, float]
"""Cause, look, amount."""


def time_by_cause(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """Where the time of each device went (ms): drafting by fate, verifying, waiting by reason."""
    parts: dict[str, list[_Part]] = {}
    for name, trace in zip(labelled_names(traces), traces, strict=True):
        for side in (ev.Side.DRAFT, ev.Side.TARGET):
            if trace.spans(side):
                parts[style.lane(name, side)] = _causes(trace, side)
    return _stacked(
        parts,
        title="Time and waste by cause",
        axis="time (ms)",
        sentence="{lane}: {amount:.1f} ms, {share:.0f} % of the run: {cause}.",
        theme=theme,
    )


def _causes(trace: Trace, side: ev.Side) -> list[_Part]:
    """Time of one device in ms, by cause; the parts add up to the run."""
    time: Counter[tuple[str, Look]] = Counter()
    for span in trace.spans(side):
        time[_cause(trace, span)] += span.end - span.start
    rest = trace.duration - sum(time.values())
    time["other", style.OTHER] = max(0, rest)
    return [(cause, look, ns / _MS) for (cause, look), ns in time.items() if ns]


def _cause(trace: Trace, span: ev.Span) -> tuple[str, Look]:
    match span:
        case ev.Proposed():
            fate = trace.fates[span.key]
            heads = " by heads" if span.side is ev.Side.TARGET else ""
            return f"drafting{heads}: {FATES[fate]}", style.DRAFTED[fate]
        case ev.Waited():
            return WAITS[span.reason], style.WAITED[span.reason]
        case ev.Verified(proposals=0):
            return "decoding without proposals", style.PLAIN_STEP
        case ev.Verified():
            return "verifying", style.VERIFIED
    return "prefill", style.PREFILL


def busy_share(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """How much of the decode each device was busy, useful and doomed apart (%)."""
    parts: dict[str, list[_Part]] = {}
    for name, trace in zip(labelled_names(traces), traces, strict=True):
        metrics = measure(trace)
        for side, device in _devices(metrics):
            parts[style.lane(name, side)] = _shares(side, device)
    return _stacked(
        parts,
        title="A busy device is not always useful",
        axis="share of the decode (%)",
        sentence="{lane}: {amount:.0f} % of the decode: {cause}.",
        theme=theme,
    )


def _devices(metrics: Metrics) -> Iterable[tuple[ev.Side, DeviceTime]]:
    for side, device in ((ev.Side.DRAFT, metrics.draft), (ev.Side.TARGET, metrics.target)):
        if device:
            yield side, device


def _shares(side: ev.Side, device: DeviceTime) -> list[_Part]:
    useful = {
        ev.Side.DRAFT: ("drafting, useful", style.DRAFTED[Fate.ACCEPTED]),
        ev.Side.TARGET: ("verifying", style.VERIFIED),
    }
    parts = [
        (*useful[side], device.busy - device.doomed),
        ("drafting, doomed", style.DRAFTED[Fate.AFTER_MISMATCH], device.doomed),
        *((WAITS[reason], style.WAITED[reason], share) for reason, share in device.waits.items()),
        ("other", style.OTHER, device.other),
    ]
    return [(cause, look, 100 * share) for cause, look, share in parts if share > 5e-4]


def _stacked(
    parts: dict[str, list[_Part]], *, title: str, axis: str, sentence: str, theme: Theme
) -> go.Figure:
    """One horizontal bar a device, its parts stacked; one trace a cause."""
    figure = style.new_figure(title, x=axis, y="", theme=theme)
    causes = dict.fromkeys((cause, look) for lane in parts.values() for cause, look, _ in lane)
    for cause, look in sorted(causes, key=lambda key: _cause_order(key[0])):
        lanes, amounts, hover = [], [], []
        for lane, found in parts.items():
            whole = sum(amount for _, _, amount in found)
            for _, _, amount in (p for p in found if p[:2] == (cause, look)):
                lanes.append(lane)
                amounts.append(amount)
                share = 100 * amount / whole
                hover.append(
                    sentence.format(
                        lane=lane.replace("<br>", ", "), amount=amount, share=share, cause=cause
                    )
                )
        figure.add_bar(
            name=cause,
            orientation="h",
            y=lanes,
            x=amounts,
            marker=look.marker(theme),
            hovertext=hover,
            hoverinfo="text",
        )
    figure.update_layout(barmode="stack", bargap=0.3)
    style.fit_lanes(figure, list(parts))
    return figure


def _cause_order(cause: str) -> tuple[int, str]:
    """Useful work first, then waste, then waiting."""
    first = (
        "prefill",
        "drafting: accepted",
        "drafting: overtaken",
        "drafting, useful",
        "verifying",
    )
    if cause in first:
        return first.index(cause), cause
    places = {"decoding": 10, "drafting": 11, "waits": 12}
    return places.get(cause.split(":")[0].split(",")[0].split(" ")[0], 13), cause
