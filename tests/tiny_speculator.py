"""A tiny target's own text, and a speculator trained on it in seconds."""

from __future__ import annotations

from pathlib import Path

import torch
from tiny_models import WORDS, save_tiny_pair
from transformers import AutoModelForCausalLM

from amusd_viz.models.pairs import ModelSource
from amusd_viz.training import speculator as command
from amusd_viz.training.generate import Generation, held_out_folder, text_folder

TRAIN = ("--words", "200", "--passes", "8", "--batch", "256")
HOW = ("--learning-rate", "0.005", "--soft", "0.9")


def save_tiny_target(folder: Path) -> ModelSource:
    """Saves a draft and a target that looks little at what is far back; returns the target.

    What an untrained target writes is noise, and nobody could learn it from a few thousand tokens.
    It has so many layers that the states before the last one are kept while text is generated.
    """
    target = save_tiny_pair(folder, layers=3)[1]
    model = AutoModelForCausalLM.from_pretrained(target)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.data.mul_(0.1)
    model.save_pretrained(target)
    return ModelSource("target", target)


def generate_tiny_text(target: ModelSource, texts: int = 160) -> None:
    """Greedy and sampled answers, and greedy held-out ones, in the cache of the moment."""
    rng = torch.Generator().manual_seed(1)
    words = torch.randint(2, WORDS, (texts + 24, 3), generator=rng).tolist()
    with torch.random.fork_rng():
        made = Generation(target, text_folder(target.name), slots=16, max_new_tokens=32)
        made.run(((n, w, 0.7 * (n % 2)) for n, w in enumerate(words[:texts])), "part")
        kept = Generation(target, held_out_folder(target.name), slots=16, max_new_tokens=32)
        kept.run(((n, w, 0.0) for n, w in enumerate(words[texts:])), "held-out")


def train_tiny_speculator(target: ModelSource, folder: Path, *more: str) -> Path:
    """Runs the training command on the generated text; returns the folder."""
    where = ("--target", str(target.folder), "--folder", str(folder))
    command.main([*where, *TRAIN, *HOW, *more])
    return folder
