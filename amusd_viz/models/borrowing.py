"""A draft that borrows from its target: a small file of its own last layers, in few bits, and the rest.

The file holds the trained layers and the last norm. Embeddings, the first layers and the output layer
are the target's. Put together once, in the user's cache, they are an ordinary model folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from amusd_viz.errors import ModelError
from amusd_viz.models.pairs import ModelSource
from amusd_viz.models.twin import quantise_4bit, weights_of_4bit
from amusd_viz.paths import cache, cached

_SCALE, _GRID = ".scale", ".grid"


def write_draft(
    file: Path,
    trained: dict[str, torch.Tensor],
    *,
    target: str,
    borrowed: int,
    layers: int,
    bits: int = 8,
) -> Path:
    """Writes the trained part of a draft.

    Args:
        file: where to.
        trained: weights by name, ``layers.0...`` the first trained layer and ``norm.weight``.
        target: name of the model that the rest is borrowed from.
        borrowed: how many of the target's first layers come before the trained ones.
        layers: how many are trained.
        bits: of a matrix's weights: 8 with a scale for each row, or 4 with a scale and an offset for
            each 32 columns, which is right for weights that were trained on that grid.
    """
    if bits not in (4, 8):
        raise ModelError(f"a draft is written in 4 or 8 bits, not in {bits}")
    tensors: dict[str, torch.Tensor] = {}
    for name, weight in trained.items():
        weight = weight.detach().float()
        if weight.dim() != 2:
            tensors[name] = weight.contiguous()
            continue
        if bits == 4:
            levels, pairs = quantise_4bit(weight)
            tensors[name] = (levels[:, ::2] | levels[:, 1::2] << 4).to(torch.uint8)
            tensors[name + _GRID] = pairs.bfloat16()
            continue
        scale = (weight.abs().amax(dim=1) / 127).clamp_min(1e-8)
        tensors[name] = (weight / scale[:, None]).round().to(torch.int8)
        tensors[name + _SCALE] = scale
    about = {
        "target": target,
        "borrowed": str(borrowed),
        "trained": str(layers),
        "bits": str(bits),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(".part")
    save_file(tensors, scratch, metadata=about)
    os.replace(scratch, file)
    return file


def read_about(file: Path) -> dict[str, str]:
    """What a draft's file says about itself: ``target``, ``borrowed``, ``trained``, ``bits``.

    Raises:
        ModelError: it is no such file.
    """
    return _read(file, weights=False)[1]


def read_draft(file: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The trained weights of a file, fp32, and what it says about itself.

    Raises:
        ModelError: it is no such file.
    """
    tensors, about = _read(file)
    try:
        return _decoded(tensors), about
    except (KeyError, RuntimeError) as error:
        raise ModelError(f"the draft {file} is damaged: its weights do not fit ({error})") from None


def _decoded(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    weights = {name: t for name, t in tensors.items() if not name.endswith((_SCALE, _GRID))}
    for name, weight in weights.items():
        if weight.dtype == torch.int8:
            weights[name] = weight.float() * tensors[name + _SCALE][:, None]
        elif weight.dtype == torch.uint8:
            levels = torch.stack([weight & 15, weight >> 4], dim=-1).flatten(1).int()
            weights[name] = weights_of_4bit(levels, tensors[name + _GRID])
    return weights


def _read(file: Path, *, weights: bool = True) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    try:
        with safe_open(file, "pt") as stored:
            about = dict(stored.metadata() or {})
            names = list(stored.keys()) if weights else []
            tensors = {name: stored.get_tensor(name) for name in names}
    except Exception as error:
        raise ModelError(f"the draft {file} cannot be read ({error})") from None
    if not {"target", "borrowed", "trained"} <= about.keys():
        raise ModelError(
            f"{file} is no draft that borrows from a target; 'python -m amusd_viz.training.distill' "
            "writes such files"
        )
    about = {"bits": "8"} | about
    counts = about["borrowed"], about["trained"]
    if about["bits"] not in ("4", "8") or not all(count.isdigit() for count in counts):
        raise ModelError(
            f"the draft {file} says {about['bits']} bits, {counts[0]} borrowed and {counts[1]} layers of "
            "its own; 4 or 8 bits and whole numbers are known here"
        )
    return tensors, about


def borrowing_draft(
    name: str, file: Path, target: ModelSource, description: str = ""
) -> ModelSource:
    """A draft as it runs: what it borrows is on the target file's 4-bit grid; what was trained runs in
    the bits it is stored in.

    Args:
        name: for people.
        file: the trained part.
        target: what the rest is borrowed from.
        description: for people.
    """
    about = read_about(file)
    return ModelSource(
        name,
        assembled_draft(file, target.folder, target.name),
        bits=4,
        last_in_8_bits=int(about["trained"]) if about["bits"] == "8" else 0,
        description=description,
    )


def assembled_draft(file: Path, target: Path, target_name: str) -> Path:
    """The folder of the whole draft, an ordinary saved model; put together if it is not there yet.

    Args:
        file: the trained part.
        target: folder of the target it was made for.
        target_name: that target's name.

    Raises:
        ModelError: the file is damaged, or was made for another target.
    """
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    place = ("drafts", f"{file.stem}-{digest}")
    if there := cached(*place, "config.json"):
        return there.parent
    weights, about = read_draft(file)
    if about["target"] != target_name:
        raise ModelError(
            f"the draft {file.name} borrows from {about['target']} and cannot draft for {target_name}; "
            "distil one: python -m amusd_viz.training.distill --help"
        )
    folder = cache(*place)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            _assemble(weights, int(about["borrowed"]), int(about["trained"]), target, whole)
            if not folder.exists():
                whole.rename(folder)
    except OSError as error:
        raise ModelError(
            f"the draft cannot be put together in {folder.parent} ({error}); "
            "set AMUSD_VIZ_CACHE to a folder you can write to"
        ) from None
    return folder


def _assemble(
    trained: dict[str, torch.Tensor], borrowed: int, layers: int, target: Path, folder: Path
) -> None:
    whole = {}
    for file in sorted(target.glob("*.safetensors")):
        with safe_open(file, "pt") as stored:
            for name in stored.keys():  # noqa: SIM118
                if _is_borrowed(name, borrowed):
                    whole[name] = stored.get_tensor(name)
    for name, weight in trained.items():
        if name.startswith("layers."):
            _, number, rest = name.split(".", 2)
            name = f"layers.{int(number) + borrowed}.{rest}"
        whole[f"model.{name}"] = weight
    save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["num_hidden_layers"] = borrowed + layers
    if config.get("layer_types"):
        config["layer_types"] = config["layer_types"][: borrowed + layers]
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    for other in target.iterdir():
        if other.suffix in (".json", ".jinja", ".txt") and not (folder / other.name).exists():
            shutil.copy(other, folder)


def _is_borrowed(name: str, borrowed: int) -> bool:
    """Embeddings, the output layer and the first layers; not the last norm, which is trained."""
    if name.startswith("model.layers."):
        return int(name.split(".")[2]) < borrowed
    return name != "model.norm.weight"
