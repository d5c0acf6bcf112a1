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

from amusd_viz.errors import ModelError
from amusd_viz.models.agreement import wilson_interval
from amusd_viz.models.borrowing import assembled_draft
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.draft_card import Candidate, Counts, DraftCard, Judgement, card_beside, rate
from amusd_viz.models.loading import load_model
from amusd_viz.models.packed import can_pack, pack_linears
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.paths import assets
from amusd_viz.simulate.expected import expected
from amusd_viz.simulate.timing import Timing
from amusd_viz.training.course import CURVE_FILE, Plan
from amusd_viz.training.distill import PLAN_FILE, drafts_folder, read_texts
from amusd_viz.training.generate import held_out_folder, text_folder
from amusd_viz.training.judge import agreement_by_kind
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.shards import Text, read_shard

ROWS = 8
"""Of the target's pass that a draft's step is compared with."""


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
def judged(folder: Path, texts: Sequence[Text]) -> Counts:
    """How often a saved model agrees with greedy texts, by kind."""
    model = load_model(ModelSource(folder.name, folder), "cpu", "fp32")

    def guess(text: Text) -> torch.Tensor:
        fed = torch.cat([text.prompt, text.tokens])[None, :-1].long()
        return model(fed).logits[0, len(text.prompt) - 1 :].argmax(dim=-1)

    return agreement_by_kind(texts, guess)


def step_share(draft: Path, target: ModelSource, rounds: int = 25) -> float:
    """A draft's one-row pass as a share of the target's pass over :data:`ROWS` rows, in turns."""
    ours = _ready(load_model(ModelSource(draft.name, draft), "cpu", "fp32"), 1)
    theirs = _ready(load_model(target, "cpu", "fp32"), ROWS)
    prompt = list(range(1000, 1100))
    for lm in (ours, theirs):
        lm.prefill(prompt)
    shares = []
    for number in range(rounds):
        times = []
        for lm in (ours, theirs):
            start = time.perf_counter()
            lm.logits_after([*prompt, *range(2000, 2001 + number)])
            times.append(time.perf_counter() - start)
        shares.append(times[0] / times[1])
    return statistics.median(shares)


def _ready(model: torch.nn.Module, rows: int) -> CausalLM:
    if can_pack(model):
        model = pack_linears(model, rows)
    return CausalLM(model, cache_length=512, rows=rows)


def candidate(
    name: str, target: ModelSource, texts: Sequence[Text], *, measure: bool
) -> tuple[Candidate, Plan, list[Judgement]]:
    """One finished distillation as a line of the table, with its plan and curve."""
    folder = drafts_folder(target.name, name)
    whole = assembled_draft(result_file(target.name, name), target.folder, target.name)
    plan = msgspec.json.decode((folder / PLAN_FILE).read_bytes(), type=Plan)
    curve = msgspec.json.decode((folder / CURVE_FILE).read_bytes(), type=list[Judgement])
    agreed = judged(whole, texts)
    step = predicted = None
    if measure:
        step = round(step_share(whole, target), 3)
        timing = Timing(draft=round(step * 1_000_000), target=lambda k: 1_000_000)
        predicted = round(expected(rate(agreed), timing, rows=ROWS, run_ahead=16).speedup, 2)
    found = Candidate(
        name=name,
        borrowed=plan.borrowed,
        trained=plan.trained,
        bridge=plan.bridge,
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
    learnt = [t for s in plan.shards for t in read_shard(text_folder(target.name) / s)]
    card = DraftCard(
        name=name,
        target=target.name,
        borrowed=plan.borrowed,
        trained=plan.trained,
        bridge=plan.bridge,
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
    main()
