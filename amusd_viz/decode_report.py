"""A run in words and in numbers, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from amusd_viz import events as ev
from amusd_viz.metrics import Metrics, measure
from amusd_viz.stop_strings import surely_shown
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.engine import Run


def committed_text(run: Run) -> Iterator[str]:
    """The text of a run piece by piece as it is committed; together they are ``run.text``."""
    ids: list[int] = []
    shown = ""
    for event in run:
        if isinstance(event, ev.Verified):
            ids += event.committed
            # A character may be spread over several tokens: half of it waits for the rest.
            text = run.text_of(ids).rstrip("\N{REPLACEMENT CHARACTER}")
            text = surely_shown(text, run.header.stop)
            yield text[len(shown) :]
            shown = max(shown, text, key=len)
    yield run.text_of(ids)[len(shown) :]


def report(trace: Trace, text: str) -> bytes:
    """What ``decode --json`` prints: one JSON object, UTF-8.

    Times are seconds. A figure the run does not define is ``null``.
    """
    header, metrics = trace.header, measure(trace)
    draft, target = header.draft, header.target
    return msgspec.json.encode(
        {
            "text": text,
            "token_ids": trace.tokens,
            "method": header.method,
            "new_tokens": metrics.new_tokens,
            "seconds": metrics.seconds,
            "prefill_seconds": metrics.prefill_seconds,
            "decode_seconds": metrics.decode_seconds,
            "tokens_per_second": metrics.tokens_per_second,
            "verifications": metrics.verifications,
            "proposed": metrics.proposed,
            "accepted": metrics.accepted,
            "acceptance_rate": metrics.acceptance_rate,
            "rollbacks": metrics.rollbacks,
            "finish_reason": trace.finish.reason if trace.finish else None,
            "failures": [f"{failure.side}: {failure.what}" for failure in trace.of(ev.Failed)],
            "pair": header.pair,
            "models": {"draft": draft and draft.name, "target": target.name},
            "devices": {"draft": header.draft_device, "target": header.target_device},
            "policy": header.policy,
            "run_ahead": header.run_ahead,
            "sampling": header.sampling,
            "stop": header.stop,
            "numerics": header.numerics,
            "source": header.source,
        }
    )


def summary(trace: Trace) -> str:
    """One line: how long it took and what became of the proposals."""
    metrics = measure(trace)
    parts = [f"{metrics.new_tokens} tokens in {metrics.seconds:.2f} s"]
    if metrics.tokens_per_second:
        parts.append(f"{metrics.tokens_per_second:.1f} tokens/s after the first")
    parts.append(f"{metrics.verifications} verifications")
    parts += _draft_words(metrics)
    if trace.finish:
        parts.append(f"ended by {trace.finish.reason}")
    return f"[{trace.header.method}] " + ", ".join(parts)


def failures(trace: Trace) -> list[str]:
    """One line for each side that failed during the run."""
    return [f"failed   {one.side}: {_shortened(one.what, 200)}" for one in trace.of(ev.Failed)]


def facts(trace: Trace) -> list[str]:
    """What ``check`` prints: a few lines on a valid trace."""
    header = trace.header
    lines = [
        f"valid trace, schema {header.schema}, {header.source}, {len(trace.events)} events",
        f"target   {header.target.name} on {header.target_device.label}",
    ]
    if header.draft and header.draft_device:
        lines.append(f"draft    {header.draft.name} on {header.draft_device.label}")
    if header.prompt:
        lines.append(f"prompt   {_shortened(header.prompt)}")
    lines.append(f"run      {summary(trace)}")
    lines += failures(trace)
    if header.created:
        lines.append(f"created  {header.created}")
    return lines


def _draft_words(metrics: Metrics) -> list[str]:
    if not metrics.proposed:
        return []
    judged = metrics.accepted + metrics.rejected
    return [
        f"{metrics.proposed} proposals",
        f"{metrics.accepted} of {judged} judged ones accepted",
        f"{metrics.rollbacks} rollbacks",
    ]


def _shortened(text: str, limit: int = 70) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
