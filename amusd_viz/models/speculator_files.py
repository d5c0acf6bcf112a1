"""Speculators on disk, in the layout that published checkpoints have.

A folder with ``config.json`` and the weights: ``*.safetensors``, or ``*.bin`` read without running code
in them, in one file or in shards. Tensors are named ``speculator.emb.0.weight`` and so on, with or
without the prefix; a tied checkpoint may list its shared tensors once or under an alias for each head.
Reading is strict: a tensor that is missing, unknown or of another shape is refused by its name, since a
speculator of wrong weights runs without complaint and is never right.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from amusd_viz.errors import ModelError
from amusd_viz.models.loading import DTYPES
from amusd_viz.models.speculator import Speculator, SpeculatorConfig

PREFIX = "speculator."
MODEL_TYPE = "mlp_speculator"
_UNLISTED = -0.1
"""Weights of words outside the short list: what heads read is positive, so these never win."""


def load_speculator(folder: str | Path, dtype: torch.dtype = torch.float32) -> Speculator:
    """Reads a speculator for inference.

    Args:
        folder: holds ``config.json`` and the weights.
        dtype: of the result.

    Raises:
        ModelError: there is none, or not all of it, or more than that.
    """
    folder = Path(folder).expanduser()
    config = read_config(folder)
    weights = _without_aliases(_read_weights(folder), config, folder)
    with torch.device("meta"):
        speculator = Speculator(config)
    _check_names_and_shapes(weights, speculator, config, folder)
    if config.short_list is not None:
        rows = torch.tensor(config.short_list)
        for name in [n for n in weights if n.startswith("head.")]:
            if len(weights[name]) == config.vocab_size:
                weights[name] = weights[name][rows]
    speculator.load_state_dict({n: w.to(dtype) for n, w in weights.items()}, assign=True)
    speculator.short_list = (
        None if config.short_list is None else torch.tensor(config.short_list, dtype=torch.long)
    )
    return speculator.eval().requires_grad_(False)


def save_speculator(speculator: Speculator, folder: str | Path, dtype: str = "fp16") -> Path:
    """Writes a speculator so that any loader of the format can read it; returns the folder.

    Tied tensors are written once, every key of the configuration is explicit, and output layers have
    a row for every word (those outside a short list can never win).

    Args:
        dtype: of the file: ``"fp16"``, ``"bf16"`` or ``"fp32"``.
    """
    folder = Path(folder).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    stored = DTYPES[dtype]
    weights = {
        PREFIX + name: weight.detach().to("cpu", stored).contiguous()
        for name, weight in _whole_vocabulary(speculator).items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    content = json.dumps(config_to_json(speculator.config, stored), indent=2) + "\n"
    (folder / "config.json").write_text(content, encoding="utf-8")
    return folder


# -- the configuration -----------------------------------------------------------------------


def read_config(folder: Path) -> SpeculatorConfig:
    """The shape of the speculator in ``folder``.

    Raises:
        ModelError: no configuration, one of something else, or one that makes no sense.
    """
    file = folder / "config.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise ModelError(f"{folder} holds no config.json, so it is no speculator") from None
    except ValueError as error:
        raise ModelError(f"{file} is no JSON ({error})") from None
    if not isinstance(content, dict) or content.get("model_type") != MODEL_TYPE:
        kind = content.get("model_type") if isinstance(content, dict) else None
        raise ModelError(
            f"{file} has model_type {kind!r}; a token/embedding speculator has {MODEL_TYPE!r}"
        )
    return config_from_json(content, str(file))


def config_from_json(content: Mapping[str, Any], name: str) -> SpeculatorConfig:
    """The configuration in the parsed ``config.json`` called ``name``."""

    def whole(key: str, default: int | None = None) -> int:
        value = content.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ModelError(f"{name}: {key} is {value!r}; it must be a whole number")
        return value

    def numbers(key: str) -> tuple[int, ...]:
        value = content.get(key) or []
        if not isinstance(value, list) or not all(type(v) is int for v in value):
            raise ModelError(f"{name}: {key} must be a list of whole numbers")
        return tuple(value)

    try:
        return SpeculatorConfig(
            emb_dim=whole("emb_dim"),
            inner_dim=whole("inner_dim", 0),
            vocab_size=whole("vocab_size"),
            n_predict=whole("n_predict"),
            tie_weights=bool(content.get("tie_weights", False)),
            scale_input=bool(content.get("scale_input", False)),
            top_k_tokens_per_head=numbers("top_k_tokens_per_head"),
            n_candidates=whole("n_candidates", 5),
            short_list=numbers("short_list") or None,
            base_model=str(content.get("base_model_name_or_path") or ""),
            state_layer=None if content.get("state_layer") is None else whole("state_layer"),
        )
    except ModelError as error:
        raise ModelError(
            str(error) if str(error).startswith(name) else f"{name}: {error}"
        ) from None


def config_to_json(config: SpeculatorConfig, stored: torch.dtype) -> dict[str, Any]:
    """What ``config.json`` says; ``short_list`` and ``state_layer`` are ours.

    Other loaders pass over them. One that fed such a speculator would have to make both halves of the
    state itself, each normalised.
    """
    content = {
        "architectures": ["MLPSpeculatorPreTrainedModel"],
        "model_type": MODEL_TYPE,
        "emb_dim": config.emb_dim,
        "inner_dim": config.inner_dim,
        "vocab_size": config.vocab_size,
        "n_predict": config.n_predict,
        "top_k_tokens_per_head": list(config.top_k_tokens_per_head),
        "n_candidates": config.n_candidates,
        "tie_weights": config.tie_weights,
        "scale_input": config.scale_input,
        "base_model_name_or_path": config.base_model,
        "torch_dtype": str(stored).removeprefix("torch."),
        "transformers_version": version("transformers"),
    }
    if config.short_list is not None:
        content["short_list"] = list(config.short_list)
    if config.state_layer is not None:
        content["state_layer"] = config.state_layer
    return content


# -- the weights -----------------------------------------------------------------------------


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of the checkpoint, without the prefix of their names."""
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not files:
        raise ModelError(f"{folder} holds neither *.safetensors nor *.bin, so it has no weights")
    _check_shards(folder, {file.name for file in files})
    found: dict[str, torch.Tensor] = {}
    for file in files:
        for name, weight in _read_file(file).items():
            short = name.removeprefix(PREFIX)
            if short in found:
                raise ModelError(f"{file}: tensor {name} is there twice")
            found[short] = weight
    return found


def _read_file(file: Path) -> dict[str, torch.Tensor]:
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        content = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, RuntimeError, OSError, EOFError, pickle.UnpicklingError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{file} cannot be read as weights: {reason[:200]}") from None
    # Checkpoints of a training run keep the weights beside the number of steps.
    content = content.get("model_state", content) if isinstance(content, dict) else content
    if not isinstance(content, dict) or not all(
        isinstance(w, torch.Tensor) for w in content.values()
    ):
        raise ModelError(f"{file} holds something else than named tensors")
    return content


def _check_shards(folder: Path, there: set[str]) -> None:
    for index in folder.glob("*.index.json"):
        try:
            listed = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, AttributeError):
            raise ModelError(f"{index} is no index of shards") from None
        stem = ".safetensors" if ".safetensors." in index.name else ".bin"
        ours = {name for name in there if name.endswith(stem)}
        if ours and (missing := sorted(listed - ours)):
            raise ModelError(f"{folder} lacks the shard {missing[0]} that {index.name} lists")


def _without_aliases(
    weights: dict[str, torch.Tensor], config: SpeculatorConfig, folder: Path
) -> dict[str, torch.Tensor]:
    """Drops the further names of shared tensors, once they are seen to be the same."""
    if not config.tie_weights:
        return weights
    kept: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        shared = _name_if_tied(name, config.n_predict)
        if shared == name or shared not in weights:
            kept[name] = weight
        elif not torch.equal(weights[shared], weight):
            raise ModelError(
                f"{folder}: {name} differs from {shared}, though the configuration ties them"
            )
    return kept


def _name_if_tied(name: str, heads: int) -> str:
    match = re.fullmatch(r"(emb|proj|ln|head)\.(\d+)\.(weight|bias)", name)
    if not match or int(match[2]) >= heads:
        return name
    index = min(int(match[2]), 1 if match[1] == "proj" else 0)
    return f"{match[1]}.{index}.{match[3]}"


def _check_names_and_shapes(
    weights: Mapping[str, torch.Tensor],
    speculator: Speculator,
    config: SpeculatorConfig,
    folder: Path,
) -> None:
    wanted = {name: tuple(p.shape) for name, p in speculator.named_parameters()}
    if missing := sorted(wanted.keys() - weights.keys()):
        raise ModelError(f"{folder} lacks {_listed(missing)}")
    if unknown := sorted(weights.keys() - wanted.keys()):
        raise ModelError(f"{folder} holds {_listed(unknown)}, which no such speculator has")
    for name, shape in wanted.items():
        whole = (config.vocab_size, *shape[1:]) if name.startswith("head.") else shape
        if tuple(weights[name].shape) not in (shape, whole):
            raise ModelError(
                f"{folder}: tensor {name} has shape {tuple(weights[name].shape)}, "
                f"the configuration asks for {whole}"
            )


def _listed(names: list[str]) -> str:
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    noun = "tensor" if len(names) == 1 else "tensors"
    return f"the {noun} {', '.join(names[:5])}{rest}"


def _whole_vocabulary(speculator: Speculator) -> dict[str, torch.Tensor]:
    """The weights, with a row in every output layer for every word."""
    weights = speculator.state_dict()
    listed = speculator.config.short_list
    if listed is None:
        return weights
    for name in [n for n in weights if n.startswith("head.")]:
        short = weights[name]
        whole = short.new_full((speculator.config.vocab_size, short.shape[1]), _UNLISTED)
        whole[torch.tensor(listed, device=short.device)] = short
        weights[name] = whole
    return weights
