"""Figures of runs side by side, and whether their texts are the same: as text and as HTML.

Both forms come from the same cells. The text is deterministic, so that it can be tested in a
notebook; the HTML is escaped, since a trace may say anything about itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.metrics import Metrics, measure
from amusd_viz.trace import Trace
from amusd_viz.words import run_names, visible

UNDEFINED = "–"
"""Shown where a run does not define a figure."""


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of text under a heading; the first column is left-aligned, the others right.

    Attributes:
        heading: one cell a column.
        rows: as many cells each.
        remarks: sentences below the table.
    """

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.heading, *self.rows, strict=True)]
        rule = tuple("-" * width for width in widths)
        lines = [_text_line(cells, widths) for cells in (self.heading, rule, *self.rows)]
        return "\n".join([*lines, *self.remarks])

    def _repr_html_(self) -> str:
        heading = "".join(f"<th>{escape(cell)}</th>" for cell in self.heading)
        rows = "".join(f"<tr>{_html_cells(row)}</tr>" for row in self.rows)
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return (
            '<div class="amusd-viz-table"><table>'
            f"<thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table>{remarks}</div>"
        )


def _text_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])


def _html_cells(row: Sequence[str]) -> str:
    style = "text-align:right;font-variant-numeric:tabular-nums"
    first = f'<th style="text-align:left">{escape(row[0])}</th>'
    return first + "".join(f'<td style="{style}">{escape(cell)}</td>' for cell in row[1:])


# -- figures ---------------------------------------------------------------------------------


def summary_table(*traces: Trace) -> Table:
    """One row a run: tokens, speed of the decode, acceptance, rollbacks, idle share of each device.

    Below it stands whether the runs wrote the same tokens (see :func:`same_text`), and which of
    them are simulated.
    """
    heading = (
        "run",
        "source",
        "tokens",
        "tokens/s",
        "acceptance",
        "tokens/verification",
        "rollbacks",
        "draft idle",
        "target idle",
    )
    measured = [measure(trace) for trace in _at_least_one(traces)]
    rows = [
        (name, trace.header.source, *_figures(metrics))
        for name, trace, metrics in zip(run_names(traces), traces, measured, strict=True)
    ]
    return Table(heading, tuple(rows), (same_text(*traces),) if len(traces) > 1 else ())


def _figures(metrics: Metrics) -> tuple[str, ...]:
    return (
        str(metrics.new_tokens),
        _number(metrics.tokens_per_second),
        _percent(metrics.acceptance_rate),
        _number(metrics.tokens_per_verification, 2),
        str(metrics.rollbacks),
        _percent(metrics.draft.idle if metrics.draft else None),
        _percent(metrics.target.idle if metrics.target else None),
    )


def _number(value: float | None, digits: int = 1) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.0%}"


def _at_least_one(traces: Sequence[Trace]) -> Sequence[Trace]:
    if not traces:
        raise SettingError("no run was given; pass one or more traces")
    return traces


# -- the same text? --------------------------------------------------------------------------


def same_text(*traces: Trace) -> str:
    """Says in one line whether all runs committed the same token ids.

    "Identical" is claimed only where it is promised: between runs with one prompt, one sampling
    and one numerics key. Otherwise equal ids are reported as found, and a difference with its first
    position, the two tokens and, where it was recorded, the margin between the target's two best.
    """
    names = run_names(_at_least_one(traces))
    if len(traces) == 1:
        return f"One run ({names[0]}): nothing to compare."
    first = traces[0]
    for name, trace in zip(names[1:], traces[1:], strict=True):
        if same_question(trace) != same_question(first):
            return f"Not comparable: {names[0]} and {name} differ in {_difference(first, trace)}."
        position = first_divergence(first, trace)
        if position is not None:
            return _describe_divergence(names[0], first, name, trace, position)
    tokens = len(first.tokens)
    if all(_promised(first, trace) for trace in traces[1:]):
        return f"Token ids: identical, all {tokens} of them, in all {len(traces)} runs."
    return (
        f"Token ids: equal in these {len(traces)} runs, all {tokens} of them; their numerics keys "
        "differ, so another prompt may diverge."
    )


def first_divergence(left: Trace, right: Trace) -> int | None:
    """First output position at which two runs differ, or at which only one has a token."""
    for position, (a, b) in enumerate(zip(left.tokens, right.tokens, strict=False)):
        if a != b:
            return position
    shorter = min(len(left.tokens), len(right.tokens))
    return None if len(left.tokens) == len(right.tokens) else shorter


def same_question(trace: Trace) -> tuple:
    """What two runs must share for their texts to be worth comparing: equal for such runs."""
    h = trace.header
    return (h.prompt_ids, h.prompt, h.target, h.sampling)


def _difference(left: Trace, right: Trace) -> str:
    names = ("prompt tokens", "prompt", "target model", "sampling")
    pairs = zip(names, same_question(left), same_question(right), strict=True)
    return " and ".join(name for name, a, b in pairs if a != b)


def _promised(left: Trace, right: Trace) -> bool:
    """Whether equal output is promised: one numerics key, or both simulated."""
    return (left.header.source, left.header.numerics) == (
        right.header.source,
        right.header.numerics,
    )


def _describe_divergence(
    left_name: str, left: Trace, right_name: str, right: Trace, position: int
) -> str:
    if position in (len(left.tokens), len(right.tokens)):
        names = (left_name, right_name)
        shorter, longer = names if position == len(left.tokens) else names[::-1]
        return f"Token ids: equal for {position} tokens; there {shorter} ends and {longer} goes on."
    expected = (
        " although their numerics keys are equal: this must not happen"
        if _promised(left, right)
        else "; their numerics keys differ, so this may happen"
    )
    return (
        f"Token ids: first divergence at position {position}, {_token(left, position)} in "
        f"{left_name} and {_token(right, position)} in {right_name}{expected}."
        f"{_margin(left, right, position)}"
    )


def _token(trace: Trace, position: int) -> str:
    text = trace.texts[position] if position < len(trace.texts) else ""
    return f'"{visible(text)}" ({trace.tokens[position]})'


def _margin(left: Trace, right: Trace, position: int) -> str:
    for trace in (left, right):
        best = _best_candidates(trace, position)
        if len(best) > 1:
            margin = best[0].probability - best[1].probability
            return f" The target's two best differ by {margin:.2g} in probability there."
    return ""


def _best_candidates(trace: Trace, position: int) -> tuple[ev.Candidate, ...]:
    for verdict in trace.of(ev.Verified):
        offset = position - verdict.position
        if 0 <= offset < len(verdict.alternatives):
            return verdict.alternatives[offset]
    return ()
