"""A lesson of two minutes: what the target's hidden state is worth to a speculator.

Two small speculators learn from a sample of the default target's own text that comes with the package.
One of them is shown zeros in place of the states, so all it has is the tokens.

    python -m amusd_viz.training.speculator_lesson      # draws the sample anew from generated text
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open

from amusd_viz.command import run_command
from amusd_viz.errors import ModelError
from amusd_viz.models.default_target import NAME, default_target
from amusd_viz.paths import assets
from amusd_viz.training.generate import held_out_folder, text_folder
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.shards import Text, read_shard, write_texts
from amusd_viz.training.speculator import texts_in
from amusd_viz.training.speculator_course import Course, Judgement, Plan
from amusd_viz.training.speculator_rows import Rows
from amusd_viz.training.speculator_scores import ngram_scores
from amusd_viz.training.speculator_start import fresh_speculator

LEARN, HELD_OUT = 6000, 1500
"""Tokens of the sample."""
PLAN = Plan(
    heads=3,
    words=1024,
    stage_1=120,
    stage_2=0,
    batch=128,
    learning_rate=2e-3,
    soft=0.9,
    judgements=6,
)


@dataclass(frozen=True)
class Lesson:
    """What came of it: accuracies on held-out text.

    Attributes:
        with_state, without_state: the curves of the two speculators.
        ngram: share of right tokens of a table of what followed the last tokens in the same text.
    """

    with_state: tuple[Judgement, ...]
    without_state: tuple[Judgement, ...]
    ngram: float


def what_a_state_is_worth(plan: Plan = PLAN) -> Lesson:
    """Trains both speculators, with a progress bar each; a minute or two on one core.

    Raises:
        ModelError: the default target or the sample cannot be had.
    """
    learn, held_out = sample()
    embedding = target_embedding()
    curves = [_curve(learn, held_out, embedding, plan, sees_states=sees) for sees in (True, False)]
    floor = ngram_scores(NgramTable(learn), held_out, plan.heads).right
    return Lesson(curves[0], curves[1], floor)


def _curve(
    learn: Sequence[Text],
    held_out: Sequence[Text],
    embedding: torch.Tensor,
    plan: Plan,
    *,
    sees_states: bool,
) -> tuple[Judgement, ...]:
    rows, judged = Rows(learn), Rows(held_out)
    if not sees_states:
        rows.states.zero_()
        judged.states.zero_()
    speculator = fresh_speculator(embedding, plan, rows.frequent_tokens(plan.words), NAME)
    course = Course(speculator, (rows, None), judged, plan)
    course.run()
    return tuple(course.curve)


def sample() -> tuple[list[Text], list[Text]]:
    """The sample: texts to learn from, and greedy held-out ones."""
    files = [sample_file(name) for name in ("learn", "held-out")]
    if not all(file.is_file() for file in files):
        raise ModelError(f"{files[0].parent} holds no sample of text; reinstall the package")
    learn, held_out = (list(read_shard(file)) for file in files)
    return learn, held_out


def sample_file(name: str) -> Path:
    return assets("speculator", f"{name}.safetensors")


def target_embedding() -> torch.Tensor:
    """The default target's input embedding, fp32 of shape ``(vocabulary, width)``."""
    with safe_open(default_target() / "model.safetensors", "pt") as weights:
        return weights.get_tensor("model.embed_tokens.weight").float()


def draw_sample(folder: Path, most: int, seed: int = 0) -> list[Text]:
    """Texts of a folder in a drawn order, until they hold ``most`` tokens."""
    texts = texts_in(folder)
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    drawn: list[Text] = []
    for i in order:
        if sum(len(text.tokens) for text in drawn) >= most:
            break
        drawn.append(texts[i])
    return drawn


def main() -> None:
    sample_file("learn").parent.mkdir(parents=True, exist_ok=True)
    for name, folder, most in (
        ("learn", text_folder(NAME), LEARN),
        ("held-out", held_out_folder(NAME), HELD_OUT),
    ):
        print(write_texts(sample_file(name), draw_sample(folder, most)))


if __name__ == "__main__":
    run_command("speculator_lesson", main)
