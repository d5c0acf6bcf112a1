"""A run as data: header and events. Save, load, check, and ask what happened.

On disk a trace is JSON lines: the header first, then the events in the order they became known.
Loading refuses a file whose events contradict each other, with the line number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from amusd_viz import events as ev
from amusd_viz.errors import BrokenTraceError, CutTraceError, NewerTraceError, NotATraceError
from amusd_viz.invariants import check_events
from amusd_viz.protocol.messages import Fate
from amusd_viz.trace_file import HOW_TO_SEE_IT, read_trace_file, write_trace_file

if TYPE_CHECKING:
    import pandas as pd

    from amusd_viz.metrics import Metrics

_KNOWN_KINDS = {t.__struct_config__.tag for t in ev.EVENT_TYPES}
_decode_header = msgspec.json.Decoder(ev.Header).decode
_decode_event = msgspec.json.Decoder(ev.Event).decode
_encode = msgspec.json.Encoder().encode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a damaged line raises; the last for brackets nested without end."""


class _Kind(msgspec.Struct):
    kind: str = ""
    schema: int = 0


_decode_kind = msgspec.json.Decoder(_Kind).decode


class Trace:
    """One run, complete or still growing at its maker's; never changed by readers.

    Args:
        header: what the run was.
        events: what happened; sorted here by the time they became known.
    """

    def __init__(self, header: ev.Header, events: Iterable[ev.Event | ev.Unknown]) -> None:
        self.header = header
        self.events: tuple[ev.Event | ev.Unknown, ...] = in_order(events)

    def __repr__(self) -> str:
        h = self.header
        return (
            f"Trace({h.method}, {h.source}, {len(self.tokens)} tokens, {len(self.events)} events)"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return (self.header, self.events) == (other.header, other.events)

    __hash__ = None  # type: ignore[assignment]

    # -- files -------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, *, partial: bool = False) -> Trace:
        """Reads a trace file (``.jsonl``, or gzipped ``.jsonl.gz``).

        Args:
            path: the file.
            partial: accept a file that ends before its run does.

        Raises:
            NotATraceError, NewerTraceError, CutTraceError, BrokenTraceError: see their docstrings.
        """
        return cls.loads(read_trace_file(path, partial=partial), name=str(path), partial=partial)

    @classmethod
    def loads(cls, data: bytes | str, *, name: str = "trace", partial: bool = False) -> Trace:
        """Reads a trace from the contents of a file; see :meth:`load`."""
        if isinstance(data, str):
            data = data.encode(errors="surrogatepass")
        lines = data.split(b"\n")
        header = _read_header(lines[0], name)
        numbers, events = _read_events(lines, name, partial=partial)
        check_events(header, events, lines=numbers)
        if not partial and not ends_a_run(events):
            raise CutTraceError(
                f"{name}: ends before its run does (no 'finished' event); {HOW_TO_SEE_IT}"
            )
        return cls(header, events)

    def dumps(self) -> bytes:
        """The contents of a trace file: JSON lines, UTF-8."""
        records = (self.header, *self.events)
        return b"".join(
            (bytes(r.raw) if isinstance(r, ev.Unknown) else _encode(r)) + b"\n" for r in records
        )

    def save(self, path: str | Path) -> Path:
        """Writes the trace (gzipped if the name ends in ``.gz``) and returns the path."""
        return write_trace_file(path, self.dumps())

    def check(self) -> Trace:
        """Raises :class:`BrokenTraceError` if the events contradict each other; returns the trace."""
        check_events(self.header, self.events)
        return self

    # -- questions ---------------------------------------------------------------------------

    def of(self, *kinds: type) -> list:
        """All events of the given types, in order: ``trace.of(Verified)``."""
        return [e for e in self.events if isinstance(e, kinds)]

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """Ids of the output, end token included."""
        return tuple(t for v in self.of(ev.Verified) for t in v.committed)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Text of each output token, end token included."""
        return tuple(t for v in self.of(ev.Verified) for t in v.texts)

    @cached_property
    def committed_at(self) -> tuple[int, ...]:
        """When each output token was committed (ns)."""
        return tuple(v.end for v in self.of(ev.Verified) for _ in v.committed)

    @cached_property
    def finish(self) -> ev.Finished | None:
        return next(iter(self.of(ev.Finished)), None)

    @property
    def duration(self) -> int:
        """Length of the run in ns: until it finished, or until the last event."""
        return self.finish.t if self.finish else max((e.at for e in self.events), default=0)

    @cached_property
    def fates(self) -> dict[ev.ProposalKey, Fate]:
        """The fate of every proposal, by its :attr:`~amusd_viz.events.Proposed.key`; exactly one each.

        In a chain the key is (branch, position).
        """
        fates = {p.key: Fate.UNFINISHED for p in self.of(ev.Proposed)}
        for event in self.events:
            if isinstance(event, ev.Verified):
                fates.update(dict.fromkeys(event.accepted_keys(), Fate.ACCEPTED))
            elif isinstance(event, ev.Dropped):
                fates[event.key] = event.fate
        return fates

    def spans(self, side: ev.Side) -> list[ev.Span]:
        """What one device did, in order; spans of one device never overlap."""
        found = [e for e in self.events if isinstance(e, ev.Span) and e.side is side]
        return sorted(found, key=lambda s: (s.start, s.end))

    @cached_property
    def metrics(self) -> Metrics:
        """The figures of the run: speeds, acceptance, waste, waiting; see :mod:`amusd_viz.metrics`."""
        from amusd_viz.metrics import measure

        return measure(self)

    def to_dataframe(self) -> pd.DataFrame:
        """The events as a pandas DataFrame, one row each; see :mod:`amusd_viz.export.events`."""
        from amusd_viz.export.events import to_dataframe

        return to_dataframe(self)


def in_order(events: Iterable[ev.Event | ev.Unknown]) -> tuple[ev.Event | ev.Unknown, ...]:
    """Sorts events by the time they became known; each side's own order is kept.

    Events of a kind this version does not know keep their place behind their predecessor.
    """
    keyed, last = [], 0
    for event in events:
        last = last if isinstance(event, ev.Unknown) else event.at
        keyed.append((last, event))
    return tuple(e for _, e in sorted(keyed, key=lambda pair: pair[0]))


def ends_a_run(events: Sequence[ev.Event | ev.Unknown]) -> bool:
    """Whether the run is over: finished, or its target failed."""
    return any(
        isinstance(e, ev.Finished) or (isinstance(e, ev.Failed) and e.side is ev.Side.TARGET)
        for e in events
    )


def _read_header(line: bytes, name: str) -> ev.Header:
    try:
        kind = _decode_kind(line)
    except _UNREADABLE as error:
        half = not isinstance(error, msgspec.ValidationError)
        if half and line.startswith(b'{"kind":"header"'):
            raise CutTraceError(
                f"{name}: ends inside its header, so there is nothing to show"
            ) from None
        raise NotATraceError(
            f"{name}: is not a trace (line 1 is not a header); traces are made by "
            "'amusd-viz decode --trace'"
        ) from None
    if kind.kind != "header":
        raise NotATraceError(
            f"{name}: is not a trace (line 1 has kind {kind.kind!r:.40}, not 'header')"
        )
    if kind.schema > ev.SCHEMA_VERSION:
        raise NewerTraceError(
            f"{name}: has schema {kind.schema}, this version reads up to {ev.SCHEMA_VERSION}; "
            "upgrade amusd-viz to open it"
        )
    try:
        return _decode_header(line)
    except _UNREADABLE as error:
        raise NotATraceError(f"{name}: line 1 is no header of a trace: {error}") from None


def _read_events(
    lines: list[bytes], name: str, *, partial: bool
) -> tuple[list[int], list[ev.Event | ev.Unknown]]:
    """The events and the lines they stand on; blank lines are skipped."""
    numbers: list[int] = []
    events: list[ev.Event | ev.Unknown] = []
    last = max((i for i, line in enumerate(lines, start=1) if line.strip()), default=0)
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        try:
            events.append(_decode_line(line))
        except _UNREADABLE as error:
            # Half an object is no JSON; JSON of the wrong shape was not made by cutting.
            cut = number == last and not isinstance(error, msgspec.ValidationError)
            if cut and partial:
                break
            if cut:
                raise CutTraceError(f"{name}: line {number} is cut; {HOW_TO_SEE_IT}") from None
            raise BrokenTraceError(number, f"is no event: {error}") from None
        numbers.append(number)
    return numbers, events


def _decode_line(line: bytes) -> ev.Event | ev.Unknown:
    kind = _decode_kind(line).kind
    if kind in _KNOWN_KINDS:
        return _decode_event(line)
    if kind in ("", "header"):
        raise msgspec.ValidationError("a second header" if kind else "it has no kind")
    return ev.Unknown(raw=msgspec.Raw(line), kind=kind)
