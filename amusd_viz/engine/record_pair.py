"""Records what a pair would answer to any schedule, from a recorded run of it.

    python -m amusd_viz.engine.record_pair sky-amusd assets

writes ``FOLDER/by_hand/sky.json`` (for the hand-driven run: what the draft goes on with from every
committed length), ``FOLDER/measured/distributions.json`` (what both models find probable at some
positions) and ``FOLDER/measured/row_cost.json`` (what a target pass costs by its rows, here and now).
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import msgspec
import torch

from amusd_viz import events as ev
from amusd_viz.by_hand.pair import RUN_AHEAD, PairRecording, Word
from amusd_viz.command import run_command
from amusd_viz.errors import ModelError
from amusd_viz.lessons.recorded import Distributions, TwoDistributions
from amusd_viz.models.kernels import LanguageModel, load
from amusd_viz.models.pairs import resolve_pair
from amusd_viz.models.row_cost import measure_row_cost
from amusd_viz.models.tokens import Tokens
from amusd_viz.paths import recording
from amusd_viz.trace import Trace

KEPT = 40
"""Tokens kept of a distribution: top-k sampling with k = 40, at temperature 1."""
POSITIONS = (12, 30, 46, 60, 85, 88, 89, 91, 92, 93, 105, 106, 117, 118)
REPEATS = 8


def record(trace: Trace, folder: Path) -> None:
    """Writes the three files."""
    found = resolve_pair(trace.header.pair)
    tokens = Tokens(found.target.folder)
    dtype = trace.header.numerics.dtype if trace.header.numerics else None
    length = len(trace.header.prompt_ids) + len(trace.tokens) + RUN_AHEAD
    models = [load(source, dtype=dtype) for source in (found.draft, found.target)]
    draft, target = (model.with_cache(length) for model in models)
    prompt, output = list(trace.header.prompt_ids), list(trace.tokens)
    # One pass each over the whole text: row i is what stands to be chosen at position i.
    chances = {
        lm: lm.logits_after(prompt, output[:-1])[:, : tokens.vocabulary].float().softmax(-1)
        for lm in (draft, target)
    }
    chosen = [int(i) for i in chances[target].argmax(-1)]
    if chosen != output:
        raise ModelError("the target does not write the recorded text here; record the run anew")
    drafted = [int(i) for i in chances[draft].argmax(-1)]
    astray = {
        p: _continued(draft, tokens, prompt + output[:p], drafted[p])
        for p in range(1, len(output))
        if drafted[p] != output[p]
    }
    PairRecording(
        pair=trace.header.pair,
        prompt=trace.header.prompt,
        prompt_ids=trace.header.prompt_ids,
        end_tokens=tuple(sorted(tokens.end_tokens)),
        draft_model=found.draft.described(models[0].parameters),
        target_model=found.target.described(models[1].parameters),
        target=_words(tokens, output, chances[target]),
        draft=_words(tokens, drafted, chances[draft]),
        astray=astray,
        draft_ns=_median(trace.of(ev.Proposed)),
        target_ns=_median(trace.of(ev.Verified)[1:]),
        measured=f"median steps of a run on {_place(trace)}, {trace.header.created[:10]}",
    ).save(folder / "by_hand" / "sky.json")
    pairs = [
        TwoDistributions(
            position=p,
            before="".join(trace.texts[:p]),
            target=_best(tokens, chances[target][p]),
            draft=_best(tokens, chances[draft][p]),
        )
        for p in POSITIONS
    ]
    _write(
        folder / "measured" / "distributions.json",
        Distributions(pair=trace.header.pair, at=tuple(pairs)),
    )
    _write(folder / "measured" / "row_cost.json", measure_row_cost(dtype=dtype, repeats=REPEATS))


def _continued(
    draft: LanguageModel, tokens: Tokens, read: list[int], wrong: int
) -> tuple[Word, ...]:
    """How the draft goes on behind its own wrong token, up to the run-ahead limit."""
    words: list[Word] = []
    prefix = [*read, wrong]
    for _ in range(RUN_AHEAD - 1):
        row = draft.logits_after(prefix)[0][: tokens.vocabulary].float().softmax(-1)
        token = int(row.argmax())
        words.append(Word(token, tokens.token_text(token), round(float(row[token]), 5)))
        prefix.append(token)
        if token in tokens.end_tokens:
            break
    return tuple(words)


def _words(tokens: Tokens, ids: list[int], chances: torch.Tensor) -> tuple[Word, ...]:
    return tuple(
        Word(token, tokens.token_text(token), round(float(row[token]), 5))
        for token, row in zip(ids, chances, strict=True)
    )


def _best(tokens: Tokens, row: torch.Tensor) -> tuple[Word, ...]:
    best = row.topk(KEPT)
    total = float(best.values.sum())
    return tuple(
        Word(int(i), tokens.token_text(int(i)), round(float(p) / total, 7))
        for i, p in zip(best.indices, best.values, strict=True)
    )


def _median(spans: list[ev.Span]) -> int:
    return round(statistics.median(span.end - span.start for span in spans))


def _place(trace: Trace) -> str:
    devices = (trace.header.draft_device, trace.header.target_device)
    return " and ".join(device.label for device in devices if device)


def _write(path: Path, record: msgspec.Struct) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(record) + b"\n")


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: python -m amusd_viz.engine.record_pair RECORDING FOLDER", file=sys.stderr)
        return 2
    run_command("record_pair", lambda: record(recording(sys.argv[1]), Path(sys.argv[2])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
