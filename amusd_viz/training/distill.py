"""Distils a draft out of the target: its first layers borrowed, a few more trained on its own text.

    python -m amusd_viz.training.distill --name mine --tokens 300000

Text that is missing is generated first (``amusd_viz.training.generate`` does only that). Run it again
after an interruption: it goes on where it was and ends with the same weights. The result is a
file, to be named with ``--draft``; its path is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
from rich.progress import track

from amusd_viz.command import run_command
from amusd_viz.errors import ModelError, SettingError
from amusd_viz.models.borrowing import assembled_draft, write_draft
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.paths import cache
from amusd_viz.training.bridge import fit_bridge
from amusd_viz.training.course import STATE_FILE, Course, Plan
from amusd_viz.training.four_bits import check_fits, check_share
from amusd_viz.training.generate import (
    check_tokens,
    generate_missing,
    held_out_folder,
    text_folder,
)
from amusd_viz.training.interrupts import stopping
from amusd_viz.training.shards import Text, read_shard, shard_files
from amusd_viz.training.tail import Tail, last_layers

PLAN_FILE = "plan.json"


def drafts_folder(target: str, name: str) -> Path:
    """Where a distillation keeps its state and its result.

    Raises:
        SettingError: the name is no name of a folder.
    """
    if name in ("", ".", "..") or Path(name).name != name:
        raise SettingError(f"--name {name!r} cannot be a folder's name; use letters and digits")
    return cache("training", target, "drafts", name)


def read_texts(files: list[Path], tap: int | None, most_tokens: int | None = None) -> list[Text]:
    """The texts of some shards, up to so many tokens, with the states after ``tap`` layers."""
    texts: list[Text] = []
    total = 0
    for file in track(files, description="Reading text", transient=True):
        for text in read_shard(file, tap):
            if most_tokens is not None and total >= most_tokens:
                return texts
            texts.append(text)
            total += len(text.tokens)
    return texts


def planned(folder: Path, wanted: Plan, shards: list[Path]) -> tuple[Plan, list[Path]]:
    """The plan of a distillation under way, else the wanted one with the shards that are there.

    Raises:
        ModelError: there is no text, some of it is gone, or the plan under way is another.
    """
    file = folder / PLAN_FILE
    if not file.is_file():
        if not shards:
            raise ModelError(
                "there is no text to learn from; run: python -m amusd_viz.training.generate"
            )
        plan = msgspec.structs.replace(wanted, shards=tuple(shard.name for shard in shards))
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
        return plan, shards
    plan = msgspec.json.decode(file.read_bytes(), type=Plan)
    if msgspec.structs.replace(plan, shards=()) != wanted:
        raise ModelError(
            f"{folder.name} was begun with other settings ({file}); go on with those, or choose "
            "another --name"
        )
    by_name = {shard.name: shard for shard in shards}
    gone = [name for name in plan.shards if name not in by_name]
    if gone:
        raise ModelError(f"{folder.name} was begun with text that is gone: {gone[0]}")
    return plan, [by_name[name] for name in plan.shards]


def distil(
    target: ModelSource,
    folder: Path,
    wanted: Plan,
    *,
    text: Path | None = None,
    held_out: Path | None = None,
    until_step: int | None = None,
    end_after: int | None = None,
) -> Course:
    """Trains until the plan is done, or to a step; goes on from what ``folder`` holds.

    Args:
        target: what is distilled.
        folder: where state, curve and result are kept.
        wanted: how; of a distillation under way the same as before.
        text: shards to learn from; by default those of the target in the user's cache.
        held_out: shards to be judged by, likewise.
        until_step: where to stop; the state is kept.
        end_after: shorten it: end after so many more steps, with a falling rate.

    An interrupt or termination stops it likewise.
    """
    check_share(wanted.four_bits_from)
    whole = load_model(target, "cpu", "fp32")
    shape = last_layers(whole, wanted.borrowed, wanted.trained, bridge=wanted.bridge)
    tail = Tail(whole, shape)
    if wanted.four_bits_from is not None:
        check_fits(tail)
    shards = shard_files(text or text_folder(target.name))
    plan, files = planned(folder, wanted, shards)
    texts = read_texts(files, plan.borrowed, plan.most_tokens)
    judged = read_texts(shard_files(held_out or held_out_folder(target.name)), plan.borrowed)
    if plan.bridge and not (folder / STATE_FILE).is_file():
        fit_bridge(tail, whole, [text.tap for text in texts])
    head = whole.get_output_embeddings().weight.detach()
    course = Course(tail, head, texts, judged, plan, folder)
    del whole
    course.resume()
    if end_after is not None:
        course.end_after(end_after)
    with stopping(course.stop):
        course.run(until_step)
    return course


def write_result(course: Course, target: ModelSource, folder: Path, name: str) -> Path:
    """Writes the trained part in the bits it is to run in; returns the file."""
    return write_draft(
        folder / f"{name}.safetensors",
        course.tail.decoder.state_dict(),
        target=target.name,
        borrowed=course.plan.borrowed,
        layers=len(course.tail.shape.own),
        bits=8 if course.plan.four_bits_from is None else 4,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Plan()
    parser.add_argument("--name", default="mine", help="of the draft")
    parser.add_argument("--target", help="a folder or name; the default target if left out")
    parser.add_argument("--borrowed", type=int, default=default.borrowed, help="layers unchanged")
    parser.add_argument("--trained", type=int, default=default.trained, help="layers trained")
    parser.add_argument(
        "--no-bridge", dest="bridge", action="store_false", help="no fitted layer between them"
    )
    parser.add_argument(
        "--four-bits-from",
        type=float,
        metavar="SHARE",
        help="of the way, from which on it learns on the 4-bit grid, to run on it; left out: in 8 bits",
    )
    parser.add_argument("--passes", type=float, default=default.passes, help="over the text")
    parser.add_argument(
        "--tokens", type=int, default=300_000, help="to generate, if fewer are there"
    )
    parser.add_argument("--most-tokens", type=int, help="learn from this much of the text only")
    parser.add_argument(
        "--end-after", type=int, help="shorten it: end after so many more steps, the rate falling"
    )
    parser.add_argument("--learning-rate", type=float, default=default.learning_rate)
    parser.add_argument("--state-weight", type=float, default=default.state_weight)
    options = parser.parse_args()
    check_tokens(options.tokens)
    check_share(options.four_bits_from)
    target = resolve_pair(draft="twin", target=options.target).target
    folder = drafts_folder(target.name, options.name)
    wanted = Plan(
        borrowed=options.borrowed,
        trained=options.trained,
        bridge=options.bridge,
        passes=options.passes,
        four_bits_from=options.four_bits_from,
        most_tokens=options.most_tokens,
        learning_rate=options.learning_rate,
        state_weight=options.state_weight,
    )
    if not (folder / PLAN_FILE).is_file() and not generate_missing(target, options.tokens):
        print("stopped while generating text; run it again to go on")
        return
    course = distil(target, folder, wanted, end_after=options.end_after)
    if not course.done:
        print(f"stopped at step {course.step} of {course.steps}; run it again to go on")
        return
    file = write_result(course, target, folder, options.name)
    assembled_draft(file, target.folder, target.name)  # now, so that its first use is quick
    print(f"the trained part: {file.stat().st_size / 1e6:.1f} MB")
    print(f"use it with: --draft {file}")


if __name__ == "__main__":
    run_command("distill", main)
