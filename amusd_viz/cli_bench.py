"""The command ``amusd-viz bench``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amusd_viz.cli_models import Device, Draft, Dtype, Pair, Target, given
from amusd_viz.cli_output import check_writable
from amusd_viz.errors import SettingError

if TYPE_CHECKING:
    from amusd_viz.bench import Benchmark, Prompt


def bench(
    pair: Pair = None,
    draft: Draft = None,
    target: Target = None,
    draft_device: Device = None,
    target_device: Device = None,
    dtype: Dtype = None,
    rows: Annotated[int | None, typer.Option(help="Rows of every target pass.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Some of the methods, with commas; amusd:POLICY for more policies."),
    ] = None,
    policy: Annotated[str, typer.Option(help="Of amusd, unless it names its own.")] = "adaptive",
    prompts: Annotated[
        Path | None, typer.Option(help='JSON lines with "prompt" or "messages".')
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="humaneval, mt-bench, gsm8k, refactorchat, or owner/name on the hub."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many prompts.")] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Length limit of each run (tokens).")] = 128,
    temperature: Annotated[float, typer.Option(help="0 takes the most probable token.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of sampling.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    output: Annotated[Path | None, typer.Option(help="Save the JSON object to this file.")] = None,
) -> None:
    """Measure every way of decoding side by side; an interrupt prints what is done so far."""
    from amusd_viz.extras import need_engine

    need_engine("A benchmark")
    from amusd_viz.bench.run import Benchmark
    from amusd_viz.bench.ways import DEFAULT, parse_ways
    from amusd_viz.engine.session import ROWS
    from amusd_viz.engine.settings import RunSettings
    from amusd_viz.events import Sampling

    models = given(
        pair=pair,
        draft=draft,
        target=target,
        draft_device=draft_device,
        target_device=target_device,
        dtype=dtype,
    )
    if output:
        check_writable("--output", output)
    names = [name.strip() for name in methods.split(",")] if methods else list(DEFAULT)
    ways = parse_ways(names, policy)
    sampling = {"temperature": temperature, "seed": seed}
    for way in ways:  # Nonsense is refused before models are loaded.
        RunSettings(
            sampling=Sampling(**sampling),
            max_new_tokens=max_new_tokens,
            **({"method": way.method} if way.method else {}),
            **way.settings,
        )
    benchmark = Benchmark(
        ways,
        _prompts(prompts, dataset, limit),
        models=models,
        rows=rows or ROWS,
        max_new_tokens=max_new_tokens,
        sampling=sampling,
    )
    interrupted = _follow(benchmark)
    _tell(benchmark, as_json=json, output=output)
    if interrupted:
        raise typer.Exit(130)


def _prompts(file: Path | None, dataset: str | None, limit: int | None) -> list[Prompt]:
    from amusd_viz.bench.datasets import load_dataset
    from amusd_viz.bench.prompts import load_prompts

    if file and dataset:
        raise typer.BadParameter(
            "--prompts and --dataset both say what to decode; give one of them"
        )
    return load_dataset(dataset, limit=limit) if dataset else load_prompts(file, limit=limit)


def _follow(benchmark: Benchmark) -> bool:
    """Runs it behind a progress bar; whether it was interrupted."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=benchmark.runs)
        benchmark.progress = _described(bar, task)
        try:
            for sample in benchmark.run():
                total = len(benchmark.ways) * len(benchmark.prompts)
                what = f"prompt {sample.prompt + 1} of {len(benchmark.prompts)}: {sample.method}"
                bar.update(task, advance=1, total=total, description=what)
        except KeyboardInterrupt:
            return True
    return False


def _described(bar: Any, task: Any) -> Callable[[str], None]:
    return lambda line: bar.update(task, description=line)


def _tell(benchmark: Benchmark, *, as_json: bool, output: Path | None) -> None:
    from rich.console import Console

    from amusd_viz.bench.table import tables

    if not any(benchmark.samples.values()):
        raise SettingError("interrupted before anything was measured")
    report = benchmark.report()
    if output:
        output.write_text(report.to_json() + "\n", encoding="utf-8")
    if as_json:
        typer.echo(report.to_json())
    else:
        Console().print(tables(report))
