"""A speculator as it is shipped: what can be taken from its target is left out.

The folder holds ``speculator.json`` (its shape, and its card) and ``speculator.safetensors``: rows of a
short list in the embedding and the output layer, projections and norm, in 16 bits. With 8,192 of 49,152
words, 576 wide, that is about 21 MB instead of 115. :func:`export_full` writes the published layout.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from amusd_viz.errors import ModelError
from amusd_viz.models.listed_embedding import ListedEmbedding, check_widths
from amusd_viz.models.speculator import Speculator, SpeculatorConfig
from amusd_viz.models.speculator_files import (
    config_from_json,
    config_to_json,
    load_speculator,
    save_speculator,
)

WEIGHTS, SHAPE = "speculator.safetensors", "speculator.json"


def listed_speculator(config: SpeculatorConfig, target: torch.Tensor) -> Speculator:
    """A tied speculator with a short list, whose embedding begins as ``target``'s rows, scaled.

    Its other weights are not initialised.

    Args:
        config: its shape; tied, with a short list.
        target: the target's embedding, ``(vocab_size, target_width)``.

    Raises:
        ModelError: a shape that cannot share rows with the target.
    """
    check_widths(config.target_width, config.inner_dim)
    if config.short_list is None or not config.tie_weights:
        raise ModelError("only a tied speculator with a short list has a compact form")
    if tuple(target.shape) != (config.vocab_size, config.target_width):
        raise ModelError(
            f"the target's embedding has shape {tuple(target.shape)}, this speculator was made for "
            f"({config.vocab_size}, {config.target_width})"
        )
    with torch.device("meta"):
        speculator = Speculator(config)
    speculator.emb = nn.ModuleList([ListedEmbedding(config.short_list, target)])
    for part in (speculator.proj, speculator.ln, speculator.head):
        part.to_empty(device="cpu")
    speculator.short_list = torch.tensor(config.short_list)
    return speculator


def with_more_words(
    speculator: Speculator, listed: tuple[int, ...], target: torch.Tensor
) -> Speculator:
    """The same speculator with a longer short list.

    A new word's row in the embedding begins as the target's, scaled, which is what it was read as before;
    in the output layer as what the rows of the known words say of theirs, by least squares.

    Args:
        speculator: made by :func:`listed_speculator`.
        listed: the words, ascending, all of the old ones among them.
        target: the target's embedding, ``(vocab_size, target_width)``.
    """
    before = speculator.config.short_list
    longer = listed_speculator(replace(speculator.config, short_list=listed), target)
    known, rows = target[torch.tensor(before)].float(), target[torch.tensor(listed)].float()
    spread = known.T @ known
    # A twentieth of it on the diagonal: the few thousand known words are not all there are.
    spread += 0.05 * spread.diagonal().mean() * torch.eye(len(spread))
    fitted = torch.linalg.solve(spread, known.T @ speculator.head[0].weight)
    old = torch.isin(torch.tensor(listed), torch.tensor(before))
    with torch.no_grad():
        longer.emb[0].scale = speculator.emb[0].scale
        longer.emb[0].rows.copy_(rows * speculator.emb[0].scale)
        longer.emb[0].rows[old] = speculator.emb[0].rows
        longer.head[0].weight.copy_(rows @ fitted)
        longer.head[0].weight[old] = speculator.head[0].weight
    for ours, theirs in ((longer.proj, speculator.proj), (longer.ln, speculator.ln)):
        ours.load_state_dict(theirs.state_dict())
    return longer


def save_compact(speculator: Speculator, folder: str | Path, card: dict[str, Any]) -> Path:
    """Writes a speculator made by :func:`listed_speculator`, in 16 bits, and its card."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {n: w.detach().to("cpu", torch.float16) for n, w in speculator.named_parameters()}
    save_file(weights, folder / WEIGHTS)
    shape = config_to_json(speculator.config, torch.float16)
    # One number a line would make the file unreadable.
    shape["short_list"] = " ".join(map(str, shape["short_list"]))
    content = json.dumps({"shape": shape, "card": card}, indent=1, ensure_ascii=False)
    (folder / SHAPE).write_text(content + "\n", encoding="utf-8")
    return folder


def load_compact(folder: str | Path, target: torch.Tensor) -> Speculator:
    """Reads what :func:`save_compact` wrote.

    Args:
        folder: of the speculator.
        target: the embedding of the target it was trained for.

    Raises:
        ModelError: files that are missing or do not fit each other or the target.
    """
    folder = Path(folder)
    config = compact_config(folder)
    speculator = listed_speculator(config, target)
    try:
        weights = load_file(folder / WEIGHTS)
        # The scale of the other rows comes from the target; the listed rows are overwritten.
        speculator.load_state_dict({n: w.float() for n, w in weights.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{folder / WEIGHTS} cannot be read: {reason[:200]}") from None
    return speculator.eval().requires_grad_(False)


def compact_config(folder: Path) -> SpeculatorConfig:
    """The shape of a shipped speculator."""
    shape = dict(_content(folder).get("shape", {}))
    listed = str(shape.get("short_list", "")).split()
    try:
        shape["short_list"] = [int(token) for token in listed]
    except ValueError:
        raise ModelError(f"{folder / SHAPE}: short_list holds something else than ids") from None
    return config_from_json(shape, str(folder / SHAPE))


def card_of(folder: Path) -> dict[str, Any]:
    """What was measured when it was trained; empty for a published checkpoint."""
    return dict(_content(folder).get("card", {})) if (folder / SHAPE).is_file() else {}


def _content(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / SHAPE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / SHAPE} cannot be read: {error}") from None
    return content if isinstance(content, dict) else {}


def is_compact(folder: Path) -> bool:
    return (folder / SHAPE).is_file()


def open_speculator(folder: str | Path, target: torch.Tensor) -> Speculator:
    """A speculator in either form, for inference in fp32; ``target`` is the target's embedding.

    Raises:
        ModelError: none that can be read, or one for a target of another width or vocabulary.
    """
    folder = Path(folder).expanduser()
    if is_compact(folder):
        return load_compact(folder, target)
    speculator = load_speculator(folder)
    config = speculator.config
    if config.target_width != target.shape[1] or config.vocab_size > len(target):
        raise ModelError(
            f"{folder} is for a target of width {config.target_width} with {config.vocab_size} words; "
            f"this one has width {target.shape[1]} and {len(target)} words"
        )
    return speculator


def export_full(speculator: Speculator, folder: str | Path, dtype: str = "fp16") -> Path:
    """Writes a compact speculator in the published layout, with a row for every word."""
    embedding = speculator.emb[0]
    if not isinstance(embedding, ListedEmbedding):
        return save_speculator(speculator, folder, dtype)
    with torch.device("meta"):
        full = Speculator(replace(speculator.config))
    weights = {n: w for n, w in speculator.state_dict().items() if not n.startswith("emb.")}
    weights["emb.0.weight"] = embedding.whole()
    full.load_state_dict(weights, assign=True)
    full.short_list = speculator.short_list
    return save_speculator(full, folder, dtype)
