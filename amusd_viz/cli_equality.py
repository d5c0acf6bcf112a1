"""The command ``amusd-viz equality``."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amusd_viz.cli_models import Draft, Dtype, Pair, Speculator, Target, given
from amusd_viz.errors import SettingError

if TYPE_CHECKING:
    from rich.table import Table

    from amusd_viz.bench.equality import Equality

WAYS = "speculator,speculator-tree,synchronous,amusd,amusd+speculator"


def equality(
    pair: Pair = None,
    draft: Draft = None,
    target: Target = None,
    speculator: Speculator = None,
    dtype: Dtype = None,
    rows: Annotated[int | None, typer.Option(help="Rows of every target pass.")] = None,
    methods: Annotated[str, typer.Option(help="Some of the methods, with commas.")] = WAYS,
    temperatures: Annotated[str, typer.Option(help="With commas; 0 is greedy.")] = "0,0.8",
    seed: Annotated[int, typer.Option(help="Of sampling.")] = 0,
    prompts: Annotated[
        Path | None, typer.Option(help='JSON lines with "prompt" or "messages".')
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many prompts.")] = 40,
    max_new_tokens: Annotated[int, typer.Option(help="Length limit of each run (tokens).")] = 64,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Check that every method writes what the target alone writes; fails if one does not."""
    import msgspec

    from amusd_viz.extras import need_engine

    need_engine("A comparison of outputs")
    from rich.console import Console

    from amusd_viz.bench.equality import check_ways, compare_outputs
    from amusd_viz.bench.prompts import load_prompts
    from amusd_viz.bench.ways import parse_ways
    from amusd_viz.engine import Session
    from amusd_viz.engine.session import ROWS

    models = given(pair=pair, draft=draft, target=target, speculator=speculator, dtype=dtype)
    ways = parse_ways([name.strip() for name in methods.split(",")], "adaptive")
    check_ways(ways)
    samplings = _samplings(temperatures, seed)
    asked = load_prompts(prompts, limit=limit)
    total = len(asked) * len(ways) * len(samplings)
    with Session(**models, rows=rows or ROWS) as session:
        runs = compare_outputs(session, ways, asked, samplings, max_new_tokens=max_new_tokens)
        (found,) = deque(_with_bar(runs, total), maxlen=1)
    if json:
        told = msgspec.to_builtins(found) | {"identical": found.identical}
        typer.echo(msgspec.json.encode(told).decode())
    else:
        console = Console()
        console.print(_table(found))
        for line in _divergences(found):
            console.print(line, markup=False)
    if not found.identical:
        raise typer.Exit(1)


def _samplings(temperatures: str, seed: int) -> dict[str, dict[str, Any]]:
    try:
        degrees = [float(part) for part in temperatures.split(",")]
    except ValueError:
        raise SettingError(
            f"--temperatures is {temperatures!r}; give numbers with commas, such as 0,0.8"
        ) from None
    return {
        f"T {t:g}" if t else "greedy": {"temperature": t, "seed": seed} if t else {}
        for t in degrees
    }


def _with_bar(runs: Any, total: int) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("decoding", total=total)
        for found in runs:
            bar.update(task, advance=1, description=f"prompt {found.prompts}")
            yield found


def _table(found: Equality) -> Table:
    from rich.table import Table

    key = found.numerics
    table = Table(
        title="Outputs equal to autoregressive decoding, of all prompts",
        caption=f"{key.kernel} kernel, {key.dtype}, {key.rows} rows, {key.device}",
    )
    table.add_column("method")
    for sampling in next(iter(found.same.values())):
        table.add_column(sampling, justify="right")
    for way, by_sampling in found.same.items():
        cells = [
            f"{count} of {found.prompts} ({found.tokens[way][sampling]} tokens)"
            for sampling, count in by_sampling.items()
        ]
        table.add_row(way, *cells)
    return table


def _divergences(found: Equality) -> list[str]:
    if found.identical:
        return ["every run wrote exactly the tokens of autoregressive decoding"]
    return [
        f"{d.way}, {d.sampling}: prompt {d.prompt} differs from token {d.position} on"
        + (f", where the target's best two were {d.margin:.4f} apart" if d.margin else "")
        for d in found.divergences
    ]
