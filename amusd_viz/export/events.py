"""A trace as a table, one row an event: for pandas, for CSV, for any spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from amusd_viz import events as ev
from amusd_viz.errors import MissingExtraError
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "kind",
    "side",
    "start_ns",
    "end_ns",
    "branch",
    "position",
    "token",
    "text",
    "probability",
    "fate",
    "proposals",
    "accepted",
    "committed",
    "discarded",
    "extra",
    "reason",
    "known",
)
"""Columns of the table. Times in ns; ``start_ns`` equals ``end_ns`` for what takes no time.
``proposals``, ``accepted``, ``committed`` and ``discarded`` are numbers of tokens; ``text`` of a
verdict is all it committed. A column that an event does not have is empty."""


def rows(trace: Trace) -> list[dict[str, Any]]:
    """The events in order, each a dict with the keys of :data:`COLUMNS`; absent values are ``None``.

    Events of a kind this version does not know are left out.
    """
    known = (e for e in trace.events if not isinstance(e, ev.Unknown))
    return [dict.fromkeys(COLUMNS) | _row(trace, event) for event in known]


def _row(trace: Trace, event: ev.Event) -> dict[str, Any]:
    span = isinstance(event, ev.Span)
    row: dict[str, Any] = {
        "kind": type(event).__struct_config__.tag,
        "side": str(event.side),
        "start_ns": event.start if span else event.t,
        "end_ns": event.at,
    }
    plain = ("branch", "position", "token", "text", "probability", "proposals", "accepted", "known")
    row |= {name: getattr(event, name) for name in plain if hasattr(event, name)}
    match event:
        case ev.Proposed():
            row["fate"] = str(trace.fates[event.key])
        case ev.Dropped():
            row["fate"] = str(event.fate)
        case ev.VerifyStarted():
            row["proposals"] = len(event.tokens)
        case ev.Verified():
            row |= {"committed": len(event.committed), "extra": str(event.extra)}
            row["text"] = "".join(event.texts)
        case ev.RolledBack():
            row |= {"discarded": len(event.discarded), "committed": len(event.adopted)}
        case ev.FastForwarded():
            row["committed"] = len(event.adopted)
        case ev.Waited() | ev.Finished():
            row["reason"] = str(event.reason)
        case ev.Failed():
            row["reason"] = event.what
    return row


def to_dataframe(trace: Trace) -> pd.DataFrame:
    """The events as a pandas DataFrame, one row each; numbers that may be absent are nullable.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a DataFrame of a trace", "export", "pandas") from None
    frame = pd.DataFrame(rows(trace), columns=list(COLUMNS))
    texts = {"kind", "side", "text", "fate", "extra", "reason"}
    types = {c: "string" if c in texts else "Int64" for c in COLUMNS} | {"probability": "Float64"}
    return frame.astype(types)


def to_csv(trace: Trace) -> str:
    """The same table as CSV with a heading line, ready to be written as UTF-8.

    ``text`` and ``reason`` are JSON strings, in quotes: spaces and line ends stay visible, and no
    spreadsheet takes a token for a formula.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows(trace):
        quoted = {k: _quoted(row[k]) for k in ("text", "reason") if row[k] is not None}
        writer.writerow(row | quoted)
    return out.getvalue()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
