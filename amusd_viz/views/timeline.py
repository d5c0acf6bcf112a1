"""What each device did and when: two lanes a run on one clock, one bar trace a status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amusd_viz import events as ev
from amusd_viz.protocol.messages import Fate
from amusd_viz.protocol.target import Extra
from amusd_viz.trace import Trace
from amusd_viz.views import style
from amusd_viz.views.style import Look, Theme, markup
from amusd_viz.words import FATES, WAITS, counted, labelled_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MS = 1e6


@dataclass
class _Bars:
    """The bars of one status in all lanes: parallel lists, times in ms."""

    look: Look
    lanes: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def add(self, lane: str, span: ev.Span, sentence: str) -> None:
        self.lanes.append(lane)
        self.starts.append(round(span.start / _MS, 4))
        self.lengths.append(round((span.end - span.start) / _MS, 4))
        self.sentences.append(sentence)


def device_timeline(*traces: Trace, theme: Theme = "auto") -> go.Figure:
    """Lanes of draft and target of every run on one clock (ms), with every rollback marked.

    Bars are drafting by fate, verifying by outcome, and waiting by reason. It is the view from
    after the run: fates are shown from the moment a token was drafted, long before anyone knew.
    """
    figure = style.new_figure(
        "What each device did",
        x="time since the start of the run (ms)",
        y="",
        theme=theme,
    )
    statuses: dict[str, _Bars] = {}
    lanes: list[str] = []
    for name, trace in zip(labelled_names(traces), traces, strict=True):
        for side in (ev.Side.DRAFT, ev.Side.TARGET):
            spans = [s for s in trace.spans(side) if s.end > s.start]
            if spans:
                lanes.append(style.lane(name, side))
                _sort_spans(trace, lanes[-1], spans, statuses)
    for status, bars in sorted(statuses.items(), key=lambda item: _order(item[0])):
        figure.add_bar(
            name=status,
            orientation="h",
            y=bars.lanes,
            base=bars.starts,
            x=bars.lengths,
            marker=bars.look.marker(theme),
            hovertext=bars.sentences,
            hoverinfo="text",
        )
    _mark_rollbacks(figure, traces, theme)
    figure.update_layout(barmode="overlay", bargap=0.25)
    style.fit_lanes(figure, lanes)
    figure.update_xaxes(rangemode="tozero")
    return figure


def _sort_spans(
    trace: Trace, lane: str, spans: Sequence[ev.Span], statuses: dict[str, _Bars]
) -> None:
    for span in spans:
        status, look, sentence = _describe(trace, span)
        statuses.setdefault(status, _Bars(look)).add(lane, span, sentence)


def _describe(trace: Trace, span: ev.Span) -> tuple[str, Look, str]:
    """Status, look and sentence of one span."""
    when = f"from {span.start / _MS:.1f} to {span.end / _MS:.1f} ms"
    took = f"{(span.end - span.start) / _MS:.1f} ms"
    match span:
        case ev.Proposed():
            fate = trace.fates[span.key]
            who, where, does = "The draft", f", branch {span.branch}", "drafts"
            if span.side is ev.Side.TARGET:
                who, where, does = f"Head {span.head}", "", "a head steps in"
            sentence = (
                f"{who} took {took} for “{markup(span.text)}” at position {span.position}"
                f"{where},<br>{when}. Its fate: {FATES[fate]}."
            )
            return f"{does}: {FATES[fate]}", style.DRAFTED[fate], sentence
        case ev.Verified():
            status, look = _outcome(span)
            return status, look, _verdict_sentence(span, took, when)
        case ev.Waited():
            words = WAITS[span.reason]
            return (
                words,
                style.WAITED[span.reason],
                f"The {span.side} {words} for {took},<br>{when}.",
            )
        case ev.Prefill():
            sentence = (
                f"The {span.side} read {counted(span.tokens, 'prompt token')} in {took},<br>{when}."
            )
            return "prefill", style.PREFILL, sentence
    raise AssertionError(f"a span of kind {type(span)} has no look")


def _outcome(verdict: ev.Verified) -> tuple[str, Look]:
    if not verdict.proposals:
        return "decodes one token (empty window)", style.PLAIN_STEP
    if verdict.extra is Extra.CORRECTION:
        return "verifies: ends in a correction", style.VERIFIED_CORRECTION
    return "verifies: all accepted", style.VERIFIED


def _verdict_sentence(verdict: ev.Verified, took: str, when: str) -> str:
    texts = markup("".join(verdict.texts))
    committed = f"committed {counted(len(verdict.committed), 'token')}, “{texts}”,"
    if not verdict.proposals:
        return f"The target {committed} without a proposal, in {took},<br>{when}."
    extra = "" if verdict.extra is Extra.NONE else f", the last one a {verdict.extra}"
    return (
        f"The target judged {counted(verdict.proposals, 'proposal')} in {took}, {when}:<br>"
        f"it accepted {verdict.accepted} and {committed} "
        f"from position {verdict.position} on{extra}."
    )


def _mark_rollbacks(figure: go.Figure, traces: Sequence[Trace], theme: Theme) -> None:
    marks: dict[str, list] = defaultdict(list)
    for name, trace in zip(labelled_names(traces), traces, strict=True):
        for event in trace.of(ev.RolledBack):
            marks["x"].append(event.t / _MS)
            marks["y"].append(style.lane(name, ev.Side.DRAFT))
            marks["hovertext"].append(
                f"At {event.t / _MS:.1f} ms the draft rolled back to position {event.position}:<br>"
                f"it discarded {counted(len(event.discarded), 'token')} and began branch {event.branch}."
            )
    if marks:
        figure.add_scatter(
            **marks,
            name="rollback",
            mode="markers",
            hoverinfo="text",
            marker={
                "symbol": "triangle-left",
                "size": 11,
                "color": style.ink(theme),
                "line": {"color": "#FFFFFF", "width": 1},
            },
        )


_ORDER: list[Callable[[str], bool]] = [
    lambda status: status == "prefill",
    lambda status: status == f"drafts: {FATES[Fate.ACCEPTED]}",
    lambda status: status.startswith("drafts"),
    lambda status: status.startswith(("verifies", "decodes")),
]


def _order(status: str) -> tuple[int, str]:
    """Place in the legend: prefill, drafting, verifying, waiting."""
    return next((i for i, test in enumerate(_ORDER) if test(status)), len(_ORDER)), status
