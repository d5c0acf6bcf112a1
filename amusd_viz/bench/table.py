"""A benchmark's report as tables on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from amusd_viz.bench.report import MethodReport, Report

UNDEFINED = "–"


def tables(report: Report) -> RenderableType:
    """Figures, ratios, and what must be said about them; all names are shown as they are."""
    title = f"{report.pair}: {report.prompts} prompts x {report.max_new_tokens} new tokens"
    return Group(
        Text(title + (" (interrupted)" if report.partial else ""), style="bold"),
        _methods(report),
        _ratios(report),
        *(Text(line) for line in remarks(report)),
    )


HEADINGS = (
    "tokens/s",
    "95 %",
    "accepted",
    "tokens\na pass",
    "draft\nbusy",
    "target\nbusy",
    "waste",
)


def _methods(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("method", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, method in report.methods.items():
        table.add_row(Text(_broken(name, 28)), *map(Text, _figures(method)))
    return table


def _broken(name: str, room: int) -> str:
    """On two lines if it is longer than ``room``: broken before a policy or what it is compared with."""
    at = max(name.rfind(":"), name.rfind("/"))
    return name if len(name) <= room or at < 0 else f"{name[:at]}\n  {name[at:]}"


def _figures(method: MethodReport) -> tuple[str, ...]:
    interval = UNDEFINED
    if method.tokens_per_second_low is not None:
        interval = f"{method.tokens_per_second_low:.0f}-{method.tokens_per_second_high:.0f}"
    return (
        _number(method.tokens_per_second, 1),
        interval,
        _percent(method.acceptance_rate),
        _number(method.tokens_per_verification, 2),
        _percent(method.busy["draft"]),
        _percent(method.busy["target"]),
        _percent(method.waste),
    )


def _ratios(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("times as fast", overflow="fold")
    for heading in ("median", "95 %", "least"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, ratio in report.ratios.items():
        if not name.startswith(("autoregressive", "assisted")):
            interval = f"{ratio.low:.2f}-{ratio.high:.2f}"
            told = Text(_broken(name, 52))
            table.add_row(told, f"{ratio.median:.2f}", interval, f"{ratio.least:.2f}")
    return table


def remarks(report: Report) -> list[str]:
    """Sentences below the tables."""
    lines = []
    if report.identical is not None:
        lines.append(
            "all runs of one numerics key wrote the same tokens"
            if report.identical
            else "NOT IDENTICAL: a run left the output of plain decoding of its own numerics key"
        )
    for name, method in report.methods.items():
        if lookahead := method.settings.get("lookahead"):
            lines.append(f"{name}: lookahead {lookahead} was the fastest on other prompts")
        left = [d for d in method.divergences if d is not None]
        if left:
            lines.append(
                f"{name} wrote another text for {len(left)} of {len(method.divergences)} prompts, "
                f"from token {min(left)} on at the earliest"
            )
    if report.bottleneck:
        lines.append(report.bottleneck)
    for side, floor in report.floors.items():
        lines.append(
            f"{side}: {floor.step_ms:.1f} ms a step, {floor.ratio:.2f} times the {floor.floor_ms:.1f} "
            f"ms that reading {floor.weight_bytes / 1e6:.0f} MB at {floor.bandwidth / 1e9:.1f} GB/s takes"
        )
    lines += [f"{name} did not run: {why}" for name, why in report.skipped.items()]
    return lines


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.0%}"
