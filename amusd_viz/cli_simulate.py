"""The commands ``amusd-viz simulate`` and ``amusd-viz calibrate``."""

from __future__ import annotations

import json as json_
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amusd_viz.cli_models import Device, Draft, Dtype, Pair, Target, given
from amusd_viz.cli_output import check_writable
from amusd_viz.errors import SettingError

if TYPE_CHECKING:
    from amusd_viz.simulate.held_out import HeldOut, HeldOutComparison
    from amusd_viz.simulate.prediction import Prediction
    from amusd_viz.simulate.text import Acceptance
    from amusd_viz.simulate.timing import Timing

STATISTICS_TOKENS = 300_000
TRACE_TOKENS = 128
MOST_TRACE_TOKENS = 20_000
"""A longer recording is too large to look at."""


def simulate(
    acceptance: Annotated[float, typer.Option(help="How often the draft agrees, 0 to 1.")],
    ratio: Annotated[float, typer.Option(help="Draft step in units of a target step.")],
    method: Annotated[
        str, typer.Option(help="autoregressive, synchronous, speculator or amusd.")
    ] = "amusd",
    policy: Annotated[
        str, typer.Option(help="amusd: paper, eager, fixed(3), confidence(0.5), adaptive.")
    ] = "paper",
    lookahead: Annotated[
        int, typer.Option(help="synchronous, speculator: proposals drafted per round.")
    ] = 4,
    heads: Annotated[
        str | None,
        typer.Option(help="speculator: acceptance of each head, such as 0.55,0.5,0.4."),
    ] = None,
    latency: Annotated[
        float, typer.Option(help="Messages, both ways together, in target steps.")
    ] = 0.0,
    preemptible: Annotated[
        bool, typer.Option("--preemptible", help="The draft drops the step of a dead branch.")
    ] = False,
    tokens: Annotated[
        int | None,
        typer.Option(
            help=f"How many; by default {STATISTICS_TOKENS}, or {TRACE_TOKENS} with --trace."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the acceptance.")] = 0,
    trace: Annotated[Path | None, typer.Option(help="Write the run to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate a method with imaginary models: what would it gain? Times are in target steps."""
    from amusd_viz.simulate.statistics import simulate_statistics
    from amusd_viz.simulate.text import Iid, PerHead
    from amusd_viz.simulate.timing import in_target_steps

    rates = _rates(heads, method)
    lookahead = len(rates) or lookahead
    if tokens is None:
        tokens = TRACE_TOKENS if trace else STATISTICS_TOKENS
    model = PerHead(rates) if rates else Iid(acceptance)
    timing = in_target_steps(ratio, latency=latency)
    settings: dict[str, Any] = {
        "method": method,
        "policy": policy,
        "lookahead": lookahead,
        "preemptible": preemptible,
    }
    found = simulate_statistics(model, timing, tokens=tokens, seed=seed, **settings)
    if trace:
        _write_trace(trace, model, heads or f"{acceptance:g}", timing, tokens, seed, settings)
    report = {
        "simulated": True,
        "method": method,
        "acceptance": list(rates) or acceptance,
        "ratio": ratio,
        "latency": latency,
        "tokens": found.counts.tokens,
        "speedup": found.speedup,
        "speedup_theory": _theory(rates or acceptance, ratio, latency, method, policy, lookahead),
        "tokens_per_verification": found.tokens_per_verification,
        "busy": found.busy,
        "waste": found.waste,
    }
    typer.echo(json_.dumps(report) if json else _in_words(report))


def _rates(heads: str | None, method: str) -> tuple[float, ...]:
    """The acceptance of each head, from words such as ``0.55,0.5``; empty if none are given."""
    if heads is None:
        return ()
    if method != "speculator":
        raise SettingError(f"--heads is for the method speculator, not {method}; leave it out")
    try:
        return tuple(float(rate) for rate in heads.split(","))
    except ValueError:
        raise SettingError(
            f"--heads is {heads!r}; give a probability for each head, such as 0.55,0.5,0.4"
        ) from None


def _theory(
    acceptance: float | tuple[float, ...],
    ratio: float,
    latency: float,
    method: str,
    policy: str,
    lookahead: int,
) -> float | None:
    """The closed form for a pre-emptible draft; ``None`` where there is none for the policy."""
    from amusd_viz.protocol import Fixed, window_policy
    from amusd_viz.simulate import theory

    if method == "autoregressive":
        return 1.0
    if method == "speculator":
        each = acceptance if isinstance(acceptance, tuple) else (acceptance,) * lookahead
        return theory.speculator(each, ratio)
    assert isinstance(acceptance, float)
    if method == "synchronous":
        return theory.synchronous(acceptance, lookahead, ratio, latency)
    chosen = window_policy(policy)
    if not isinstance(chosen, Fixed):
        return None
    return theory.amusd(acceptance, chosen.proposals, ratio, latency)


def _write_trace(
    file: Path,
    acceptance: Acceptance,
    told: str,
    timing: Timing,
    tokens: int,
    seed: int,
    settings: dict[str, Any],
) -> None:
    from amusd_viz.simulate.driver import simulate as simulate_run
    from amusd_viz.simulate.scenery import SENTENCE
    from amusd_viz.simulate.text import agreement, text_of

    check_writable("--trace", file)
    if tokens > MOST_TRACE_TOKENS:
        raise SettingError(
            f"a recording of {tokens} tokens is too large to look at; "
            f"give --tokens up to {MOST_TRACE_TOKENS}, or leave out --trace"
        )
    text = text_of(agreement(acceptance, tokens, seed), SENTENCE, seed=seed)
    notes = {"acceptance": told, "seed": str(seed)}
    trace = simulate_run(
        text, timing, max_new_tokens=tokens, run_ahead=256, rows=257, notes=notes, **settings
    )
    trace.save(file)


def _in_words(report: dict[str, Any]) -> str:
    theory = report["speedup_theory"]
    busy = report["busy"]
    return "\n".join(
        [
            f"simulated {report['method']}, {report['tokens']} tokens",
            f"  {report['speedup']:.3f} times the speed of plain decoding"
            + (f" (closed form: {theory:.3f})" if theory is not None else ""),
            f"  {report['tokens_per_verification']:.2f} tokens per verification",
            f"  draft busy {busy['draft']:.0%}, target busy {busy['target']:.0%}",
            f"  {report['waste']:.0%} of the proposals were drafted in vain",
        ]
    )


def calibrate(
    traces: Annotated[
        list[Path] | None,
        typer.Argument(help="Recorded runs of one pair; none: decode and measure now."),
    ] = None,
    pair: Pair = None,
    draft: Draft = None,
    target: Target = None,
    draft_device: Device = None,
    target_device: Device = None,
    dtype: Dtype = None,
    rows: Annotated[
        int, typer.Option(help="Most rows of a target pass; sizes up to it are measured.")
    ] = 8,
    max_new_tokens: Annotated[int, typer.Option(help="Length of each run (tokens).")] = 48,
    output: Annotated[Path | None, typer.Option(help="Save the calibration to this file.")] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Decode other prompts too and compare with what was told."),
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Save what --verify found to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure what a pair does on its devices, and predict each method's speed from it."""
    import msgspec

    from amusd_viz.simulate.prediction import predict
    from amusd_viz.simulate.probe import calibrate as measure
    from amusd_viz.trace import Trace

    comparison: HeldOutComparison | None = None
    for option, file in (("--output", output), ("--keep", keep)):
        if file:
            check_writable(option, file)
    if keep and not verify:
        raise typer.BadParameter("--keep saves what --verify found; give both")
    if traces:
        if verify:
            raise typer.BadParameter("--verify decodes; leave it out with recorded runs")
        found = measure([Trace.load(path) for path in traces])
        predictions = predict(found)
    else:
        from amusd_viz.extras import need_engine
        from amusd_viz.simulate.held_out import compare_with_runs

        need_engine()
        from amusd_viz.engine import Session

        models = given(
            pair=pair,
            draft=draft,
            target=target,
            draft_device=draft_device,
            target_device=target_device,
            dtype=dtype,
        )
        how = {"max_new_tokens": max_new_tokens, "progress": _say}
        with Session(**models, rows=rows) as session:
            found = measure(session, **how)
            predictions = predict(found)
            if verify:
                of_length = predict(found, tokens=max_new_tokens)
                comparison = compare_with_runs(session, of_length, **how)
    if output:
        found.save(output)
    if comparison and keep:
        comparison.save(keep)
    if json:
        told = {"calibration": found, "predictions": predictions}
        if comparison:
            told["held_out"] = comparison.held_out
        typer.echo(msgspec.json.encode(told).decode())
    else:
        typer.echo(found.in_words())
        typer.echo(_table(predictions))
        for held in comparison.held_out if comparison else ():
            typer.echo(_held_out_line(held))


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _held_out_line(held: HeldOut) -> str:
    runs = ", ".join(f"{speed:.1f}" for speed in held.measured)
    name = f"{held.method} {held.setting}".strip()
    return f"{name:<28}predicted {held.predicted:.1f}, measured {runs} tokens/s ({held.off:+.0%})"


def _table(predictions: Sequence[Prediction]) -> str:
    lines = [f"{'method':<28}{'tokens/s':>9}{'95 %':>16}{'speed-up':>9}{'target waits':>14}"]
    for p in predictions:
        name = f"{p.method} {p.setting}".strip()
        interval = f"{p.low:.1f} to {p.high:.1f}"
        lines.append(
            f"{name:<28}{p.tokens_per_second:>9.1f}{interval:>16}{p.speedup:>9.2f}"
            f"{p.target_waits:>13.0%}"
        )
    return "\n".join(lines)
