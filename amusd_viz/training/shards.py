"""Generated text on disk: shards of finished answers, in the user's cache.

One safetensors file holds some hundred answers end to end; ``offsets`` say where each begins. The
prompts that a folder has answers for are read from the shards themselves: there is no other state.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from amusd_viz.errors import ModelError
from amusd_viz.training.batch_decoder import Answer


@dataclass(frozen=True)
class Text:
    """One answer as read back; shapes as in :class:`~amusd_viz.training.batch_decoder.Answer`."""

    index: int
    temperature: float
    prompt: torch.Tensor
    tokens: torch.Tensor
    top_ids: torch.Tensor
    top_logprobs: torch.Tensor
    final: torch.Tensor
    tap: torch.Tensor | None = None
    """States after the layers that were asked for, one for each token fed."""


def write_shard(folder: Path, part: str, answers: Sequence[Answer]) -> Path:
    """Writes finished answers under the next free name of ``part``; whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + max(
        (int(f.stem.split("-")[-1]) for f in folder.glob(f"{part}-*.safetensors")), default=-1
    )
    file = folder / f"{part}-{number:05d}.safetensors"
    tensors = {
        "index": torch.tensor([a.index for a in answers]),
        "temperature": torch.tensor([a.temperature for a in answers]),
        "prompt_offsets": _offsets([len(a.prompt) for a in answers]),
        "offsets": _offsets([len(a.tokens) for a in answers]),
        "prompt": torch.tensor([t for a in answers for t in a.prompt], dtype=torch.int32),
        "tokens": torch.tensor([t for a in answers for t in a.tokens], dtype=torch.int32),
        "top_ids": torch.cat([a.top_ids.tensor for a in answers]),
        "top_logprobs": torch.cat([a.top_logprobs.tensor for a in answers]),
        "final": torch.cat([a.final.tensor for a in answers]),
    }
    for tap in answers[0].taps:
        tensors[f"tap.{tap}"] = torch.cat([a.taps[tap].tensor for a in answers])
    scratch = file.with_suffix(".part")
    save_file(tensors, scratch)
    os.replace(scratch, file)
    return file


def _offsets(lengths: Sequence[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


def write_texts(file: Path, texts: Sequence[Text]) -> Path:
    """Writes texts as one shard, without the states inside the target."""
    whole = {
        "index": torch.tensor([t.index for t in texts]),
        "temperature": torch.tensor([t.temperature for t in texts]),
        "prompt_offsets": _offsets([len(t.prompt) for t in texts]),
        "offsets": _offsets([len(t.tokens) for t in texts]),
    }
    names = ("prompt", "tokens", "top_ids", "top_logprobs", "final")
    save_file(whole | {n: torch.cat([getattr(t, n) for t in texts]) for n in names}, file)
    return file


def shard_files(folder: Path) -> list[Path]:
    """The shards of a folder, in the order of their names."""
    return sorted(folder.glob("*.safetensors"))


def finished_prompts(folder: Path) -> set[int]:
    """Numbers of the prompts that have an answer."""
    done: set[int] = set()
    for file in shard_files(folder):
        with safe_open(file, "pt") as shard:
            done |= set(shard.get_tensor("index").tolist())
    return done


def count_tokens(folder: Path) -> int:
    """How many tokens were generated."""
    total = 0
    for file in shard_files(folder):
        with safe_open(file, "pt") as shard:
            total += shard.get_slice("tokens").get_shape()[0]
    return total


def stored_taps(files: Sequence[Path]) -> set[int]:
    """After how many layers every one of the shards holds states."""
    held = []
    for file in files:
        with safe_open(file, "pt") as shard:
            held.append(_taps(shard))
    return set.intersection(*held) if held else set()


def _taps(shard: Any) -> set[int]:
    return {int(name[4:]) for name in shard.keys() if name.startswith("tap.")}  # noqa: SIM118


def read_shard(file: Path, tap: int | None = None) -> Iterator[Text]:
    """The answers of a shard.

    Args:
        file: the shard.
        tap: after how many layers the states are wanted; ``None`` for none.

    Raises:
        ModelError: the shard holds no states after so many layers.
    """
    with safe_open(file, "pt") as shard:
        taps = sorted(_taps(shard))
        if tap is not None and tap not in taps:
            raise ModelError(
                f"{file.name} holds states after {', '.join(map(str, taps)) or 'no'} layers, not after "
                f"{tap}; generate again with --taps {tap}"
            )
        names = ("index", "temperature", "prompt_offsets", "offsets", "prompt", "tokens", "top_ids")
        read = {n: shard.get_tensor(n) for n in (*names, "top_logprobs", "final")}
        states = None if tap is None else shard.get_tensor(f"tap.{tap}")
    for row, (index, temperature) in enumerate(
        zip(read["index"].tolist(), read["temperature"].tolist(), strict=True)
    ):
        p, q = read["prompt_offsets"][row : row + 2].tolist()
        a, b = read["offsets"][row : row + 2].tolist()
        # Every token but an answer's last one was fed.
        start, end = p + a - row, q + b - row - 1
        yield Text(
            index=index,
            temperature=temperature,
            prompt=read["prompt"][p:q],
            tokens=read["tokens"][a:b],
            top_ids=read["top_ids"][a:b],
            top_logprobs=read["top_logprobs"][a:b],
            final=read["final"][a:b],
            tap=None if states is None else states[start:end],
        )
