"""What a pair does on its devices, measured from recorded runs: the input of a prediction."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.paths import assets
from amusd_viz.simulate.agreement import agreement_of, known
from amusd_viz.simulate.checks import positive
from amusd_viz.simulate.spans import Steps
from amusd_viz.trace import Trace

Z95 = 1.959964
"""Half the width of a 95 % interval, in standard deviations."""


BESIDE = 0.8
"""The other device must work for this share of a step for it to count as one beside the other."""


class Estimate(msgspec.Struct, frozen=True):
    """A measured mean with its 95 % interval, from ``count`` observations."""

    value: float
    low: float
    high: float
    count: int


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in ns under one condition of the devices.

    Attributes:
        draft_step: from the start of a step to that of the next, bookkeeping included; ``None``
            where no step was seen.
        catching_up: what a step takes longer for each token that the draft has adopted since the
            last one and reads now, such as the bonus behind an accepted window.
        target_pass: the same for target passes, by rows (the window's proposals and one).
    """

    draft_step: Estimate | None = None
    catching_up: float = 0.0
    target_pass: dict[int, Estimate] = {}


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a pair does on its devices; :func:`calibrate` makes it, a small JSON file keeps it.

    Attributes:
        pair: name of the pair.
        draft_device, target_device: labels for people.
        acceptance: how often the draft agrees on a right prefix.
        turns: durations while only one side works (autoregressive and synchronous runs).
        together: durations of steps and passes beside which the other side works too (in AMUSD
            runs): devices may share memory or power.
        latency_to_target, latency_to_draft: how long messages travel (ns).
        draft_prefill, target_prefill: how long reading the prompts took on average (ns).
        rows: most rows of a target pass; 0 if unknown.
        source: ``measured``, or ``simulated`` if any of the runs was.
        runs, tokens: how much was measured.
    """

    pair: str
    draft_device: str
    target_device: str
    acceptance: Estimate
    turns: Costs
    together: Costs
    latency_to_target: float
    latency_to_draft: float
    draft_prefill: float
    target_prefill: float
    rows: int
    source: str
    runs: int
    tokens: int

    def save(self, path: str | Path) -> Path:
        """Writes the calibration as JSON and returns the path."""
        path = Path(path)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")
        return path

    def in_words(self) -> str:
        """A few lines for people, in ms."""
        a = self.acceptance
        lines = [
            f"{self.pair}: draft on {self.draft_device}, target on {self.target_device} "
            f"({self.source}, {self.runs} runs, {self.tokens} tokens)",
            f"  acceptance {a.value:.3f} (95 %: {a.low:.3f} to {a.high:.3f})",
        ]
        for when, costs in (("taking turns", self.turns), ("both at work", self.together)):
            step = f"draft step {costs.draft_step.value / 1e6:.2f}" if costs.draft_step else ""
            if round(costs.catching_up / 1e6, 2):
                step += f" (+{costs.catching_up / 1e6:.2f} for a token it has not read)"
            passes = ", ".join(
                f"{rows}: {e.value / 1e6:.2f}" for rows, e in costs.target_pass.items()
            )
            parts = [step, f"target pass by rows {passes}" if passes else ""]
            if any(parts):
                lines.append(f"  {when}: " + "; ".join(p for p in parts if p) + " ms")
        lines.append(
            f"  messages {self.latency_to_target / 1e6:.3f} ms to the target, "
            f"{self.latency_to_draft / 1e6:.3f} ms to the draft"
        )
        return "\n".join(lines)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Reads a calibration.

        Raises:
            SettingError: the file cannot be read or is no calibration.
        """
        try:
            return msgspec.json.decode(Path(path).read_bytes(), type=cls)
        except OSError as error:
            raise SettingError(
                f"{path}: cannot be read ({error.strerror}); give the path of a calibration"
            ) from None
        except msgspec.DecodeError as error:
            raise SettingError(
                f"{path}: is no calibration ({error}); make one with 'amusd-viz calibrate'"
            ) from None


def shipped_calibrations() -> list[Calibration]:
    """Those that come with the package: pairs of the default target, measured on two CPU cores."""
    return [Calibration.load(file) for file in sorted(assets("calibrations").glob("*.json"))]


def calibrate_traces(traces: Iterable[Trace]) -> Calibration:
    """Measures a pair from recorded runs of it, of any methods and prompts.

    Args:
        traces: runs of one pair on the same devices; at least one with a draft.

    Raises:
        SettingError: there is nothing to measure, or the runs are not of one pair.
    """
    traces = list(traces)
    drafted = [t for t in traces if t.header.draft]
    if not drafted:
        raise SettingError(
            "none of the runs has a draft, so there is no acceptance to measure; "
            "give a synchronous or an amusd run"
        )
    _check_one_pair(traces)
    agrees = [a for trace in drafted for a in known(agreement_of(trace))]
    if not agrees:
        raise SettingError("the runs hold no judged proposal; give longer runs")
    header = drafted[0].header
    both = [t for t in traces if t.header.method.startswith("amusd")]
    latencies = calibrate_latencies(drafted)
    return Calibration(
        pair=header.pair_name,
        draft_device=header.draft_device.label if header.draft_device else "",
        target_device=header.target_device.label,
        acceptance=proportion(sum(agrees), len(agrees)),
        turns=_costs([t for t in traces if not t.header.method.startswith("amusd")]),
        together=_costs_beside(both),
        latency_to_target=latencies[0],
        latency_to_draft=latencies[1],
        draft_prefill=_prefill(drafted, ev.Side.DRAFT),
        target_prefill=_prefill(traces, ev.Side.TARGET),
        rows=max((t.header.numerics.rows for t in traces if t.header.numerics), default=0),
        source="simulated" if any(t.header.source == "simulated" for t in traces) else "measured",
        runs=len(traces),
        tokens=sum(len(t.tokens) for t in traces),
    )


def _check_one_pair(traces: Sequence[Trace]) -> None:
    places = {(t.header.pair, t.header.target.name, t.header.target_device.name) for t in traces}
    if len(places) > 1:
        raise SettingError(
            f"the runs are of {len(places)} different pairs or devices; calibrate one at a time"
        )


# -- estimates -------------------------------------------------------------------------------


def proportion(hits: int, count: int) -> Estimate:
    """A rate with Wilson's interval, which stays within [0, 1] also near its ends."""
    share, z2 = hits / count, Z95 * Z95
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z95 / (1 + z2 / count)
    half *= math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), count)


def mean(values: Sequence[float]) -> Estimate:
    """A mean with its normal interval."""
    value = statistics.fmean(values)
    half = Z95 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Estimate(
        value, max(positive("a duration", value) * 0.01, value - half), value + half, len(values)
    )


# -- durations -------------------------------------------------------------------------------


def draft_durations(trace: Trace) -> list[int]:
    """How long each draft step took, until the next began where it followed at once (ns)."""
    return [ns for _, ns in _until_next(trace, ev.Side.DRAFT, ev.Proposed)]


def target_durations(trace: Trace) -> list[tuple[int, int]]:
    """Rows of each target pass behind the prefill, and how long it took (ns)."""
    return [
        (verified.proposals + 1, ns)
        for verified, ns in _until_next(trace, ev.Side.TARGET, ev.Verified)
        if verified.position > 0
    ]


def _until_next(trace: Trace, side: ev.Side, kind: type) -> list[tuple[ev.Span, int]]:
    spans = trace.spans(side)
    durations = [
        (span, (after.start if isinstance(after, kind) else span.end) - span.start)
        for span, after in pairwise([*spans, None])
        if isinstance(span, kind)
    ]
    return [(span, ns) for span, ns in durations if ns > 0]


def _costs(traces: Sequence[Trace]) -> Costs:
    steps = [step for trace in traces for step in _draft_steps(trace)]
    by_rows: dict[int, list[int]] = defaultdict(list)
    for trace in traces:
        for rows, ns in target_durations(trace):
            by_rows[rows].append(ns)
    return _costs_of(steps, by_rows)


def _costs_beside(traces: Sequence[Trace]) -> Costs:
    """Costs from those steps and passes beside which the other device worked."""
    steps: list[_DraftStep] = []
    by_rows: dict[int, list[int]] = defaultdict(list)
    for trace in traces:
        passes = _busy(trace, ev.Side.TARGET)
        drafting = _busy(trace, ev.Side.DRAFT)
        steps += [step for step in _draft_steps(trace) if _beside(passes, step.span)]
        for verified, ns in _until_next(trace, ev.Side.TARGET, ev.Verified):
            if verified.position > 0 and _beside(drafting, verified):
                by_rows[verified.proposals + 1].append(ns)
    if not steps or not by_rows:
        return _costs(traces)
    return _costs_of(steps, by_rows)


class _DraftStep(NamedTuple):
    span: ev.Span
    ns: int
    """Until the next step, where that followed at once."""
    unread: int
    """Tokens adopted since the step before, which this one reads before its own."""


def _draft_steps(trace: Trace) -> list[_DraftStep]:
    """All but the first, which is none: its token comes out of the prefill."""
    steps = _until_next(trace, ev.Side.DRAFT, ev.Proposed)
    adopted = [(e.t, len(e.adopted)) for e in trace.of(ev.FastForwarded)]
    return [
        _DraftStep(span, ns, sum(n for t, n in adopted if before.start < t <= span.start))
        for (before, _), (span, ns) in pairwise(steps)
    ]


def _costs_of(steps: Sequence[_DraftStep], by_rows: Mapping[int, Sequence[int]]) -> Costs:
    plain = [step.ns for step in steps if not step.unread] or [step.ns for step in steps]
    behind = [step for step in steps if step.unread]
    usual = mean(plain) if plain else None
    longer = sum(step.ns - usual.value for step in behind) if usual else 0.0
    return Costs(
        draft_step=usual,
        catching_up=max(0.0, longer / sum(step.unread for step in behind)) if behind else 0.0,
        target_pass={rows: mean(by_rows[rows]) for rows in sorted(by_rows)},
    )


def _busy(trace: Trace, side: ev.Side) -> Steps:
    return Steps([(s.start, s.end) for s in trace.spans(side) if not isinstance(s, ev.Waited)])


def _beside(other: Steps, span: ev.Span) -> bool:
    return other.overlap(span.start, span.end) >= BESIDE * (span.end - span.start)


def calibrate_latencies(traces: Sequence[Trace]) -> tuple[float, float]:
    """How long a proposal and a commit travel (ns)."""
    return _latency_to_target(traces), _latency_to_draft(traces)


def _latency_to_target(traces: Sequence[Trace]) -> float:
    delays = []
    for trace in traces:
        ends = {(p.branch, p.position): p.end for p in trace.of(ev.Proposed)}
        received = [e for e in trace.of(ev.Received) if e.side is ev.Side.TARGET]
        sent = [ends.get((e.branch, e.position)) for e in received]
        delays.append(_delays(trace, ev.Side.TARGET, received, sent))
    return _typical(delays)


def _latency_to_draft(traces: Sequence[Trace]) -> float:
    delays = []
    for trace in traces:
        ends = {v.position: v.end for v in trace.of(ev.Verified)}
        received = [e for e in trace.of(ev.Received) if e.side is ev.Side.DRAFT]
        delays.append(
            _delays(trace, ev.Side.DRAFT, received, [ends.get(e.position) for e in received])
        )
    return _typical(delays)


def _delays(
    trace: Trace, side: ev.Side, received: Sequence[ev.Received], sent: Sequence[int | None]
) -> tuple[list[int], list[int]]:
    """How long messages travelled: those that a side was waiting for, and all."""
    waits = iter([w.end for w in trace.spans(side) if isinstance(w, ev.Waited)])
    awaited, all_of_them = [], []
    woken = next(waits, None)
    for event, start in zip(received, sent, strict=True):
        if start is None:
            continue
        all_of_them.append(event.t - start)
        if woken is not None and event.t >= woken:
            awaited.append(event.t - start)
            while woken is not None and woken <= event.t:
                woken = next(waits, None)
    return awaited, all_of_them


def _typical(delays: Sequence[tuple[list[int], list[int]]]) -> float:
    """The median of what was waited for; else the shortest, which waited least in a mailbox."""
    awaited = [d for waited, _ in delays for d in waited]
    if awaited:
        return float(max(0.0, statistics.median(awaited)))
    return float(max(0, min((d for _, both in delays for d in both), default=0)))


def _prefill(traces: Sequence[Trace], side: ev.Side) -> float:
    spans = [p.end - p.start for t in traces for p in t.of(ev.Prefill) if p.side is side]
    return statistics.fmean(spans) if spans else 0.0
