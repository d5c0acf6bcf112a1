"""Writes the card of a distilled draft: its curve, the candidates beside it, the floor.

    python -m amusd_viz.training.report mine --candidates other another --measure

With ``--ship NAME`` the draft's file and its card go to the package's assets under that name.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
import torch

from amusd_viz.command import run_command
from amusd_viz.errors import ModelError
from amusd_viz.models.agreement import wilson_interval
from amusd_viz.models.borrowing import borrowing_draft
from amusd_viz.models.draft_card import Candidate, Counts, DraftCard, Judgement, card_beside, rate
from amusd_viz.models.kernels import load
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.paths import assets
from amusd_viz.simulate.expected import expected
from amusd_viz.simulate.timing import Table, Timing
from amusd_viz.training.course import CURVE_FILE, Plan
from amusd_viz.training.distill import PLAN_FILE, drafts_folder, read_texts
from amusd_viz.training.generate import held_out_folder, text_folder
from amusd_viz.training.judge import agreement_by_kind
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.shards import Text

ROWS = (1, 2, 3, 4, 6, 8)
"""Of the target's passes that a draft's step is compared with."""
POLICIES = ("eager", "fixed(1)", "paper", "fixed(3)")
"""The best of them counts."""


def result_file(target: str, name: str) -> Path:
    """The file of a finished distillation.

    Raises:
        ModelError: there is none of that name, or it is not finished.
    """
    file = drafts_folder(target, name) / f"{name}.safetensors"
    if not file.is_file():
        raise ModelError(
            f"there is no finished draft {name!r}; run: python -m amusd_viz.training.distill "
            f"--name {name}"
        )
    return file


@torch.inference_mode()
def judged(draft: ModelSource, texts: Sequence[Text]) -> Counts:
    """How often a draft, as it runs, agrees with greedy texts, by kind."""
    lm = load(draft).with_cache(1 + max(len(text.prompt) + len(text.tokens) for text in texts))

    def guess(text: Text) -> torch.Tensor:
        lm.reset()
        return lm.logits_after(text.prompt.tolist(), text.tokens[:-1].tolist()).argmax(dim=-1)

    return agreement_by_kind(texts, guess)


@torch.inference_mode()
def measured_timing(draft: ModelSource, target: ModelSource, rounds: int = 15) -> Timing:
    """A draft's step and the target's passes by rows, in turns on one core (medians)."""
    ours, theirs = load(draft).with_cache(512), load(target, rows=max(ROWS)).with_cache(512)
    prompt = list(range(1000, 1100))
    for lm in (ours, theirs):
        lm.prefill(prompt)
    times: dict[int, list[int]] = {rows: [] for rows in (0, *ROWS)}
    for _ in range(rounds):
        for rows, found in times.items():
            lm = theirs if rows else ours
            start = time.perf_counter_ns()
            lm.logits_after([*prompt, 2000], range(2001, 2000 + rows))
            found.append(time.perf_counter_ns() - start)
    step, *passes = (round(statistics.median(found)) for found in times.values())
    return Timing(draft=step, target=Table.of(dict(zip(ROWS, passes, strict=True))))


def predicted_speedup(acceptance: float, timing: Timing) -> float:
    """Of AMUSD over plain decoding, with the best of a few policies."""
    return max(
        expected(acceptance, timing, policy=policy, rows=max(ROWS), run_ahead=16).speedup
        for policy in POLICIES
    )


def candidate(
    name: str, target: ModelSource, texts: Sequence[Text], *, measure: bool
) -> tuple[Candidate, Plan, list[Judgement]]:
    """One finished distillation as a line of the table, with its plan and curve."""
    folder = drafts_folder(target.name, name)
    draft = borrowing_draft(name, result_file(target.name, name), target)
    plan = msgspec.json.decode((folder / PLAN_FILE).read_bytes(), type=Plan)
    curve = msgspec.json.decode((folder / CURVE_FILE).read_bytes(), type=list[Judgement])
    agreed = judged(draft, texts)
    step = predicted = None
    if measure:
        timing = measured_timing(draft, target)
        step = round(timing.draft_step() / timing.target(0), 3)
        predicted = round(predicted_speedup(rate(agreed), timing), 2)
    found = Candidate(
        name=name,
        borrowed=plan.borrowed,
        trained=plan.trained,
        bridge=plan.bridge,
        bits=4 if plan.four_bits_from is not None else 8,
        tokens=curve[-1].tokens,
        agreed=agreed,
        step=step,
        predicted=predicted,
    )
    return found, plan, curve


def write_report(
    name: str, others: Sequence[str], target: ModelSource, *, measure: bool = False
) -> DraftCard:
    """Judges a draft and other candidates, and writes the card beside the draft's file."""
    held_out = read_texts(sorted(held_out_folder(target.name).glob("*.safetensors")), tap=None)
    ours, plan, curve = candidate(name, target, held_out, measure=measure)
    tried = [ours, *(candidate(o, target, held_out, measure=measure)[0] for o in others)]
    files = [text_folder(target.name) / shard for shard in plan.shards]
    learnt = read_texts(files, None, plan.most_tokens)
    card = DraftCard(
        name=name,
        target=target.name,
        borrowed=plan.borrowed,
        trained=plan.trained,
        bridge=plan.bridge,
        bits=ours.bits,
        generated=sum(len(text.tokens) for text in learnt),
        texts=len(learnt),
        prompts=len(held_out),
        agreed=ours.agreed,
        floor=agreement_by_kind(held_out, NgramTable(learnt).guess),
        curve=curve,
        candidates=tried,
        torch=version("torch"),
        measured=datetime.now(UTC).date().isoformat(),
    )
    file = card_beside(result_file(target.name, name))
    file.write_bytes(msgspec.json.format(msgspec.json.encode(card)) + b"\n")
    return card


def ship(name: str, target: str, as_name: str) -> Path:
    """Copies a draft's file and card to the package's assets."""
    file = result_file(target, name)
    shipped = assets("drafts", f"{as_name}.safetensors")
    shipped.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, shipped)
    shutil.copy(card_beside(file), card_beside(shipped))
    return shipped


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="of a finished distillation")
    parser.add_argument("--candidates", nargs="*", default=[], help="others for the table")
    parser.add_argument("--target", help="a folder or name; the default target if left out")
    parser.add_argument("--measure", action="store_true", help="time the steps, too")
    parser.add_argument("--ship", metavar="NAME", help="put it into the package under this name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    target = resolve_pair(draft="twin", target=options.target).target
    card = write_report(options.name, options.candidates, target, measure=options.measure)
    low, high = wilson_interval(*card.agreed["all"])
    print(f"agrees {rate(card.agreed):.1%} (95 % interval {low:.1%} to {high:.1%})")
    for label, text in card.lines():
        print(f"{label:<8} {text}")
    if options.ship:
        print(ship(options.name, target.name, options.ship))


if __name__ == "__main__":
    run_command("report", main)
