"""What a run measured: speeds, acceptance, waste and waiting, each computed from its events.

One definition for tables, charts, lessons and the benchmark. Times are seconds and shares are
between 0 and 1. A figure that the run does not define (nothing was judged, say) is ``None``, never
zero.

The *decode* is the time from the first commit, which the prefill makes, to the last one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from amusd_viz import events as ev
from amusd_viz.protocol.messages import Fate
from amusd_viz.protocol.target import Extra
from amusd_viz.trace import Trace

USEFUL_FATES = frozenset({Fate.ACCEPTED, Fate.OVERTAKEN})
"""Fates of proposals that stand in the output; drafting any other one did not help."""

_SECOND = 1e9
_Interval = tuple[int, int]


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """How one side's device spent the decode; ``busy``, ``idle``, ``other`` add up to 1."""

    busy: float
    """Share spent computing: drafting or verifying (or still in its prefill)."""
    doomed: float = 0.0
    """The part of ``busy`` spent drafting what does not stand in the output; 0 for the target."""
    waits: dict[ev.Wait, float]
    """Share spent waiting, by reason."""
    other: float
    """The rest: messages, bookkeeping, a step the end of the run cut off."""

    @property
    def idle(self) -> float:
        """Share spent waiting, for whatever reason."""
        return sum(self.waits.values())


class HeadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How one head of a speculator fared, where the target judged it on a right prefix."""

    judged: int
    accepted: int

    @property
    def acceptance(self) -> float:
        return self.accepted / self.judged


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run. Made by :func:`measure`."""

    new_tokens: int
    """Committed tokens, an end token included."""
    seconds: float
    """Length of the run, prefill included (s)."""
    prefill_seconds: float | None
    """From the start to the first commit (s); the time to the first token."""
    decode_seconds: float | None
    """From the first commit to the last (s)."""
    tokens_per_second: float | None
    """Speed of the decode: the tokens after the first commit by ``decode_seconds``."""

    verifications: int
    """Windows judged after the prefill's commit, empty ones included."""
    tokens_per_verification: float | None
    """Tokens committed by one of them, on average."""
    windows: dict[int, int]
    """Number of verifications by size of their window (proposals)."""
    corrections: int
    """Verdicts that put the target's token in place of a rejected proposal."""
    bonuses: int
    """Verdicts that added the target's token to a fully accepted window."""

    proposed: int
    """Proposals the draft made."""
    fates: dict[Fate, int]
    """Number of proposals by what became of them; only fates that occurred."""
    accepted: int
    rejected: int
    acceptance_rate: float | None
    """accepted / (accepted + rejected): how often the target, where it judged a proposal on a right
    prefix, chose the same token. Proposals that died unjudged do not count."""
    heads: dict[int, HeadRecord]
    """By the number of the head, 0 the first; of a tree the main chain. Empty without a speculator."""
    rollbacks: int

    draft: DeviceTime | None
    """``None`` where the run has no draft, or no decode."""
    target: DeviceTime | None
    overlap: float | None
    """Share of the decode in which both sides are busy at once; ``None`` without a draft."""
    useful_seconds: float
    """Time of the whole run spent drafting proposals that stand in the output (s)."""
    doomed_seconds: float
    """Time spent drafting the others (s): dead branches, and what the end of the run cut off."""

    def to_dict(self) -> dict[str, object]:
        """Plain dicts and numbers, ready for JSON (whose keys are text) or a DataFrame."""
        return msgspec.to_builtins(self)


def measure(trace: Trace) -> Metrics:
    """Computes all figures of a run, complete or partial. Linear in the number of events."""
    commits = [v for v in trace.of(ev.Verified) if v.committed]
    verdicts = commits[1:]
    decode = (commits[0].end, commits[-1].end) if commits else None
    extras = Counter(v.extra for v in verdicts)
    fates = Counter(trace.fates.values())
    accepted, rejected = fates[Fate.ACCEPTED], fates[Fate.REJECTED]
    useful, doomed = (_total(part) / _SECOND for part in _drafting(trace))
    return Metrics(
        new_tokens=len(trace.tokens),
        seconds=trace.duration / _SECOND,
        prefill_seconds=decode[0] / _SECOND if decode else None,
        decode_seconds=_length(decode) / _SECOND if decode else None,
        tokens_per_second=_speed(commits),
        verifications=len(verdicts),
        tokens_per_verification=_ratio(sum(len(v.committed) for v in verdicts), len(verdicts)),
        windows=dict(sorted(Counter(v.proposals for v in verdicts).items())),
        corrections=extras[Extra.CORRECTION],
        bonuses=extras[Extra.BONUS],
        proposed=len(trace.of(ev.Proposed)),
        fates={fate: fates[fate] for fate in Fate if fates[fate]},
        accepted=accepted,
        rejected=rejected,
        acceptance_rate=_ratio(accepted, accepted + rejected),
        heads=_heads(trace),
        rollbacks=len(trace.of(ev.RolledBack)),
        draft=_device_time(trace, ev.Side.DRAFT, decode),
        target=_device_time(trace, ev.Side.TARGET, decode),
        overlap=_overlap(trace, decode),
        useful_seconds=useful,
        doomed_seconds=doomed,
    )


def _speed(commits: Sequence[ev.Verified]) -> float | None:
    if not commits:
        return None
    after_first = sum(len(v.committed) for v in commits[1:])
    return _ratio(after_first, (commits[-1].end - commits[0].end) / _SECOND)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _heads(trace: Trace) -> dict[int, HeadRecord]:
    judged, accepted = Counter[int](), Counter[int]()
    for proposal in trace.of(ev.Proposed):
        fate = trace.fates[proposal.key]
        if proposal.head is None or proposal.candidate:
            continue
        judged[proposal.head] += fate in (Fate.ACCEPTED, Fate.REJECTED)
        accepted[proposal.head] += fate is Fate.ACCEPTED
    return {
        head: HeadRecord(judged=judged[head], accepted=accepted[head])
        for head in sorted(judged)
        if judged[head]
    }


def _drafting(
    trace: Trace, sides: Sequence[ev.Side] = tuple(ev.Side)
) -> tuple[list[_Interval], list[_Interval]]:
    """When proposals were made on these sides that stand in the output, and when others."""
    useful: list[_Interval] = []
    doomed: list[_Interval] = []
    for proposal in trace.of(ev.Proposed):
        if proposal.side not in sides:
            continue
        stands = trace.fates[proposal.key] in USEFUL_FATES
        (useful if stands else doomed).append((proposal.start, proposal.end))
    return useful, doomed


# -- devices ---------------------------------------------------------------------------------


def _device_time(trace: Trace, side: ev.Side, decode: _Interval | None) -> DeviceTime | None:
    spans = trace.spans(side)
    if not decode or not _length(decode) or not spans:
        return None
    whole = _length(decode)
    busy = _total(_clip(_busy(spans), decode))
    doomed = _drafting(trace, (side,))[1] if side is ev.Side.DRAFT else []
    waits: Counter[ev.Wait] = Counter()
    for span in spans:
        if isinstance(span, ev.Waited):
            waits[span.reason] += _total(_clip([(span.start, span.end)], decode))
    return DeviceTime(
        busy=busy / whole,
        doomed=_total(_clip(doomed, decode)) / whole,
        waits={reason: ns / whole for reason, ns in sorted(waits.items()) if ns},
        other=(whole - busy - sum(waits.values())) / whole,
    )


def _overlap(trace: Trace, decode: _Interval | None) -> float | None:
    draft, target = (trace.spans(side) for side in (ev.Side.DRAFT, ev.Side.TARGET))
    if not decode or not _length(decode) or not draft:
        return None
    both = _intersect(_clip(_busy(draft), decode), _clip(_busy(target), decode))
    return _total(both) / _length(decode)


def _busy(spans: Iterable[ev.Span]) -> list[_Interval]:
    return [(s.start, s.end) for s in spans if not isinstance(s, ev.Waited)]


def _length(interval: _Interval) -> int:
    return interval[1] - interval[0]


def _total(intervals: Iterable[_Interval]) -> int:
    return sum(map(_length, intervals))


def _clip(intervals: Iterable[_Interval], to: _Interval) -> list[_Interval]:
    """The parts inside ``to`` (ns); intervals are in order and do not overlap."""
    cut = [(max(start, to[0]), min(end, to[1])) for start, end in intervals]
    return [(start, end) for start, end in cut if end > start]


def _intersect(left: Sequence[_Interval], right: Sequence[_Interval]) -> list[_Interval]:
    """What two ordered lists of intervals have in common."""
    common, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        start, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if end > start:
            common.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common
