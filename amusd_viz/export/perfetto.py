"""Traces as Chrome/Perfetto JSON, for ui.perfetto.dev or chrome://tracing.

Every run is a process with two named tracks, draft and target. Spans are slices; an arrow leads from
each verdict that contradicts the draft to the rollback it causes; three counters show how far the
target has committed, how much of it the draft knows, and how far ahead the draft is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from amusd_viz import events as ev
from amusd_viz.progress import progress
from amusd_viz.trace import Trace
from amusd_viz.words import FATES, WAITS, labelled_names

_TRACK = {ev.Side.DRAFT: 1, ev.Side.TARGET: 2}
_US = 1000
"""Nanoseconds in a microsecond, the unit of the format; fractions keep the nanoseconds."""

_Json = dict[str, Any]


def to_perfetto(*traces: Trace) -> str:
    """The runs as one JSON document, each on a clock that starts with it."""
    events: list[_Json] = []
    for process, (name, trace) in enumerate(
        zip(labelled_names(traces), traces, strict=True), start=1
    ):
        events += _names(process, name, trace)
        timed = [*_arrows(process, trace), *_instants(trace), *_slices(trace), *_counters(trace)]
        events += [e | {"pid": process} for e in sorted(timed, key=lambda e: e["ts"])]
    document = {"displayTimeUnit": "ms", "traceEvents": events}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _names(process: int, name: str, trace: Trace) -> list[_Json]:
    header = trace.header
    tracks = [
        (ev.Side.DRAFT, header.draft, header.draft_device),
        (ev.Side.TARGET, header.target, header.target_device),
    ]
    named = [{"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}]
    for side, model, device in tracks:
        label = ": ".join([str(side), model.name]) if model else str(side)
        label += f" on {device.label}" if device else ""
        track = {"ph": "M", "pid": process, "tid": _TRACK[side]}
        named.append(track | {"name": "thread_name", "args": {"name": label}})
        named.append(track | {"name": "thread_sort_index", "args": {"sort_index": _TRACK[side]}})
    return named


# -- slices and instants ---------------------------------------------------------------------


def _slices(trace: Trace) -> Iterable[_Json]:
    for side in ev.Side:
        for span in trace.spans(side):
            name, category, details = _describe(trace, span)
            yield {
                "ph": "X",
                "tid": _TRACK[side],
                "ts": span.start / _US,
                "dur": (span.end - span.start) / _US,
                "name": name,
                "cat": category,
                "args": details,
            }


def _describe(trace: Trace, span: ev.Span) -> tuple[str, str, _Json]:
    """Name, category and arguments of a slice."""
    match span:
        case ev.Proposed():
            fate = trace.fates[span.key]
            details = _details(span, "branch", "position", "token", "text", "probability")
            name = f"draft {span.position}" if span.head is None else f"head {span.head}"
            return name, "proposed", details | {"fate": FATES[fate]}
        case ev.Verified():
            positions = range(span.position, span.position + span.proposals)
            name = f"verify {positions[0]}-{positions[-1]}" if positions else "decode one token"
            details = _details(
                span, "branch", "position", "proposals", "accepted", "committed", "extra"
            )
            return name, "verified", details | {"text": "".join(span.texts)}
        case ev.Waited():
            return WAITS[span.reason], "waited", _details(span, "reason")
    return "prefill", "prefill", _details(span, "tokens")


def _details(event: ev.Event, *names: str) -> _Json:
    return {name: msgspec.to_builtins(getattr(event, name)) for name in names}


def _instants(trace: Trace) -> Iterable[_Json]:
    for event in trace.of(ev.RolledBack, ev.FastForwarded, ev.Dropped, ev.Failed, ev.Finished):
        kind = type(event).__struct_config__.tag
        match event:
            case ev.RolledBack():
                name = f"roll back to {event.position}"
                details = _details(event, "branch", "position", "adopted", "discarded")
            case ev.FastForwarded():
                name, details = "fast forward", _details(event, "position", "adopted")
            case ev.Dropped():
                name = f"{event.position} dropped: {FATES[event.fate]}"
                details = _details(event, "branch", "position", "fate")
            case ev.Failed():
                name, details = "failed", _details(event, "what")
            case _:
                name, details = "finished", _details(event, "reason", "tokens")
        place = {"ph": "i", "s": "t", "tid": _TRACK[event.side], "ts": event.t / _US}
        yield place | {"name": name, "cat": kind, "args": details}


# -- arrows and counters ---------------------------------------------------------------------


def _arrows(process: int, trace: Trace) -> Iterable[_Json]:
    """From inside the verdict's slice to the rollback; ids are unique over all runs of a file.

    An arrow binds to the slice open at its tail and to the next one at its head, so heads are
    written before the rollbacks they point at.
    """
    verdicts = {
        position: v
        for v in trace.of(ev.Verified)
        for position in range(v.position, v.position + len(v.committed))
    }
    for number, event in enumerate(trace.of(ev.RolledBack)):
        cause = verdicts.get(event.position)
        if cause is None:
            continue
        arrow = {"name": "rollback", "cat": "rollback", "id": f"{process}.{number}"}
        last_moment = max(0, cause.end - 1)
        yield arrow | {"ph": "s", "tid": _TRACK[ev.Side.TARGET], "ts": last_moment / _US}
        yield arrow | {"ph": "f", "tid": _TRACK[ev.Side.DRAFT], "ts": event.t / _US}


def _counters(trace: Trace) -> Iterable[_Json]:
    for now in progress(trace):
        values = {"committed": now.committed, "known": now.known, "run-ahead": now.run_ahead}
        for name, value in values.items():
            counter = {"ph": "C", "ts": now.t / _US, "name": f"{name} (tokens)"}
            yield counter | {"args": {"tokens": value}}
