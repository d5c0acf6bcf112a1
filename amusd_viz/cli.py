"""The command ``amusd-viz``.

Exit codes: 0 all went well; 1 a named error, told in one sentence on stderr; 2 wrong usage;
130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amusd_viz.cli_bench import bench
from amusd_viz.cli_equality import equality
from amusd_viz.cli_models import Device, Draft, Dtype, Pair, Speculator, Target, given
from amusd_viz.cli_output import check_writable
from amusd_viz.cli_simulate import calibrate, simulate
from amusd_viz.command import run_command
from amusd_viz.terminal import printable

if TYPE_CHECKING:
    from amusd_viz.engine import Run
    from amusd_viz.trace import Trace

app = typer.Typer(
    name="amusd-viz",
    help="See, step through and measure asynchronous speculative decoding (AMUSD).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point of the command: runs it and turns named errors into one sentence."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    run_command("amusd-viz", app)


@app.command()
def decode(
    prompt: Annotated[str, typer.Argument(help="What to answer or continue; '-' reads stdin.")],
    method: Annotated[
        str,
        typer.Option(help="autoregressive, synchronous, speculator, amusd or amusd+speculator."),
    ] = "amusd",
    max_new_tokens: Annotated[int, typer.Option(help="Length limit of the output (tokens).")] = 64,
    temperature: Annotated[float, typer.Option(help="0 takes the most probable token.")] = 0.0,
    top_p: Annotated[
        float, typer.Option(help="Sample from this much probability; 1 is off.")
    ] = 1.0,
    top_k: Annotated[int, typer.Option(help="Sample from so many tokens; 0 is off.")] = 0,
    min_p: Annotated[
        float,
        typer.Option(help="Sample from tokens this many times as likely as the best; 0 is off."),
    ] = 0.0,
    repetition_penalty: Annotated[
        float, typer.Option(help="Above 1 what was written before gets less likely.")
    ] = 1.0,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the output before this string; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of sampling; the same seed, the same text.")] = 0,
    policy: Annotated[
        str | None,
        typer.Option(
            help="amusd: when to verify: paper, eager, fixed(3), confidence(0.5), adaptive."
        ),
    ] = None,
    lookahead: Annotated[
        int | None, typer.Option(help="synchronous, speculator: proposals drafted per round.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="speculator: candidates judged at once; 1 is a chain.")
    ] = None,
    prompt_lookup: Annotated[
        bool | None,
        typer.Option(
            "--prompt-lookup",
            help="speculator: where the text repeats itself, propose what followed there.",
        ),
    ] = None,
    run_ahead: Annotated[
        int | None, typer.Option(help="amusd: how far the draft may be past the last commit.")
    ] = None,
    pair: Pair = None,
    draft: Draft = None,
    target: Target = None,
    speculator: Speculator = None,
    draft_device: Device = None,
    target_device: Device = None,
    dtype: Dtype = None,
    chat: Annotated[
        bool | None,
        typer.Option("--chat/--no-chat", help="Put the prompt into the chat template or not."),
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Record the run to this file.")] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Say where the time of the decode went.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Decode a prompt, showing the text as it is committed."""
    from amusd_viz.decode_report import failures, report, summary
    from amusd_viz.events import Sampling
    from amusd_viz.extras import need_engine

    models = given(
        pair=pair,
        draft=draft,
        target=target,
        speculator=speculator,
        draft_device=draft_device,
        target_device=target_device,
        dtype=dtype,
    )
    if trace:
        check_writable("--trace", trace)
    prompt = sys.stdin.read() if prompt == "-" else prompt
    need_engine()
    from amusd_viz.engine import Session
    from amusd_viz.engine.settings import RunSettings

    sampling = {"temperature": temperature, "top_p": top_p, "top_k": top_k, "seed": seed}
    sampling |= {"min_p": min_p, "repetition_penalty": repetition_penalty}
    how = {"method": method, "max_new_tokens": max_new_tokens}
    how |= given(policy=policy, lookahead=lookahead, candidates=candidates)
    how |= given(prompt_lookup=prompt_lookup, run_ahead=run_ahead, stop=stop)
    RunSettings(sampling=Sampling(**sampling), **how)  # refuses nonsense before models are loaded
    if sys.stderr.isatty() and not json:
        typer.echo("Loading the models ...", err=True)
    with Session(**models) as warm:
        run = warm.decode(prompt, **how, **sampling, **given(chat=chat))
        interrupted = _follow(run, quiet=json)
    if trace:
        run.trace.save(trace)
    if json:
        typer.echo(report(run.trace, run.text))
    else:
        for line in (summary(run.trace), *failures(run.trace)):
            typer.echo(printable(line), err=True)
    if profile:
        _show_profile(run.trace, err=json)
    if interrupted:
        raise typer.Exit(130)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A trace: .jsonl or .jsonl.gz")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a file that ends early.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Say where the time of the decode went.")
    ] = False,
) -> None:
    """Validate a trace and say what it holds."""
    from amusd_viz.decode_report import facts
    from amusd_viz.trace import Trace

    trace = Trace.load(file, partial=partial)
    for line in facts(trace):
        typer.echo(printable(line))
    if profile:
        _show_profile(trace)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace: .jsonl or .jsonl.gz")],
    to: Annotated[str, typer.Option(help="perfetto, html, svg, png, gif or csv.")],
    output: Annotated[Path, typer.Option(help="The file to write.")],
    at: Annotated[
        str | None,
        typer.Option(help="Which moment a picture or page shows: 'rollback 1', '192 ms', 'end'."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a file that ends early.")
    ] = False,
) -> None:
    """Write a trace in another format: for Perfetto, a browser, slides, a paper, a spreadsheet."""
    from amusd_viz.export.formats import export_trace
    from amusd_viz.trace import Trace

    written = export_trace(Trace.load(file, partial=partial), to, output, at=at)
    typer.echo(printable(f"{written} ({written.stat().st_size / 1000:.0f} kB)"))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook; further arguments go to 'jupyter lab'."""
    from amusd_viz.jupyter_lab import open_lab

    raise typer.Exit(open_lab(context.args))


@app.command()
def notebooks(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put them.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite changed files.")] = False,
) -> None:
    """Copy the course's notebooks, and the pictures they show, to DIR."""
    from amusd_viz.notebook_copy import copy_notebooks

    written = copy_notebooks(folder, force=force)
    typer.echo(f"{len(written)} files copied to {folder}" if written else f"{folder} is up to date")


@app.command()
def card(
    name: Annotated[
        str | None, typer.Argument(metavar="PAIR", help="Name of a pair; 'twin' if left out.")
    ] = None,
    pair: Pair = None,
) -> None:
    """Say what the two models of a pair are, what they need and how well they agree."""
    from amusd_viz.extras import need_engine

    if name and pair:
        raise typer.BadParameter(f"{name} and --pair {pair} are two pairs; name one")
    need_engine("Looking at a pair")
    from amusd_viz.models.card import Card
    from amusd_viz.models.pairs import resolve_pair

    typer.echo(printable(repr(Card(resolve_pair(name or pair or "twin")))))


@app.command()
def pairs() -> None:
    """List the pairs that have a name, and what each needs; nothing is fetched."""
    from amusd_viz.models.hub_pairs import HUB_PAIRS
    from amusd_viz.models.pairs import pair_names

    for name in pair_names():
        typer.echo(
            f"{name:<14} the default target and a draft made of it ('amusd-viz card {name}')"
        )
    for name, pair in HUB_PAIRS.items():
        typer.echo(f"{name:<14} {pair.draft} and {pair.target}")
        typer.echo(f"{'':<14} {pair.weights_gb:g} GB to fetch; {pair.needs}")


@app.command()
def doctor() -> None:
    """Say what is installed and found here, and what to do about what is not."""
    from amusd_viz.doctor import diagnose

    for finding in diagnose():
        typer.echo(printable(str(finding)))


app.command()(bench)
app.command()(equality)
app.command()(simulate)
app.command()(calibrate)


def _show_profile(trace: Trace, *, err: bool = False) -> None:
    from amusd_viz.views.profile import profile_table

    for line in repr(profile_table(trace)).splitlines():
        typer.echo(printable(line), err=err)


def _follow(run: Run, *, quiet: bool) -> bool:
    """Waits for the end of a run, writing its text as it is committed; whether it was interrupted."""
    from amusd_viz.decode_report import committed_text

    try:
        for text in committed_text(run):
            if not quiet:
                typer.echo(printable(text), nl=False)
    except KeyboardInterrupt:
        run.stop()
        run.wait()
        return True
    finally:
        if not quiet:
            typer.echo()
    return False


if __name__ == "__main__":
    main()
