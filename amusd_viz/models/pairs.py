"""Which two models decode together: by the name of a pair, or any two by name or path."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amusd_viz import events as ev
from amusd_viz.errors import ModelError, PairError, SettingError
from amusd_viz.models import default_target
from amusd_viz.models.hub_pairs import HUB_PAIRS
from amusd_viz.paths import assets, shipped_draft

DEFAULT_PAIR = "twin"

TWINS = {"twin": 4, "twin8": 8}
"""Drafts made of the target's own weights, and their bits."""

SMALL = "small"
"""The distilled draft of the default target."""


def pair_names() -> tuple[str, ...]:
    """The pairs of the default target that have a name here."""
    return (*TWINS, SMALL) if shipped_draft(SMALL) else tuple(TWINS)


@dataclass(frozen=True)
class ModelSource:
    """A model that can be loaded: its folder, and whether it is rounded to a few bits."""

    name: str
    folder: Path
    bits: int | None = None
    description: str = ""
    last_in_8_bits: int = 0
    """So many of its last layers stay in 8 bits where the others are rounded to 4."""

    def described(self, parameters: int) -> ev.Model:
        return ev.Model(name=self.name, description=self.description, parameters=parameters)


@dataclass(frozen=True)
class Pair:
    """A draft and a target that share a tokenizer."""

    name: str
    draft: ModelSource
    target: ModelSource

    def bytes_needed(self, target_itemsize: int) -> int:
        """Rough memory of both workers in bytes: weights and what torch itself takes."""
        weights = weight_bytes(self.target.folder)
        stored = _stored_itemsize(self.target.folder)
        target = weights * target_itemsize // stored
        if self.draft.bits:
            draft = weights // stored * 2
        else:
            draft = (
                weight_bytes(self.draft.folder)
                * target_itemsize
                // _stored_itemsize(self.draft.folder)
            )
        return target + draft + 2 * 350_000_000


def resolve_pair(
    pair: str | None = None,
    *,
    draft: str | None = None,
    target: str | None = None,
    fetch: Callable[[str], Path] | None = None,
) -> Pair:
    """Finds the folders of both models; fetches what is not on this machine.

    Args:
        pair: ``"twin"`` (4 bits), ``"twin8"``, or ``"small"`` (distilled): the default target and a
            draft made of it; or one of :data:`~amusd_viz.models.hub_pairs.HUB_PAIRS`.
        draft: instead of a pair: a folder, a Hugging Face name, ``"twin"`` / ``"twin8"``, or the file
            that a distillation ended with.
        target: a folder, a Hugging Face name, or ``None`` for the default target.
        fetch: how to get the folder of a named model; for tests.

    Raises:
        SettingError: a pair and single models at once, or an unknown pair.
        ModelError: a model that cannot be had.
        PairError: two models that cannot work together.
    """
    if pair and (draft or target):
        raise SettingError(
            f"pair {pair!r} already names both models; give either a pair, or draft and target"
        )
    if pair in HUB_PAIRS:
        draft, target = HUB_PAIRS[pair].draft, HUB_PAIRS[pair].target
    elif not draft and not target:
        pair = pair or DEFAULT_PAIR
        if pair not in pair_names():
            known = ", ".join((*pair_names(), *HUB_PAIRS))
            raise SettingError(
                f"there is no pair named {pair!r}; pairs are {known}; "
                "or name two models (draft and target)"
            )
        draft = pair
    find = fetch or model_folder
    target_source = _target_source(target, find)
    draft_source = _draft_source(draft or "twin", target_source, find)
    name = pair or f"{draft_source.name} / {target_source.name}"
    resolved = Pair(name, draft_source, target_source)
    if draft_source.bits is None:
        check_same_tokenizer(resolved)
    return resolved


def speculator_folder(target: ModelSource, chosen: str | Path | None = None) -> Path | None:
    """The folder of a target's token/embedding speculator: the chosen one, or the one that is shipped.

    Raises:
        ModelError: there is no such folder.
    """
    if chosen is not None:
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise ModelError(f"there is no folder {chosen}; give the folder of a speculator")
        if not any((folder / name).is_file() for name in ("speculator.json", "config.json")):
            raise ModelError(
                f"{chosen} holds neither speculator.json nor config.json, so it is no speculator"
            )
        return folder
    shipped = assets("speculator", target.name)
    return shipped if shipped.is_dir() and target.name == default_target.NAME else None


def _target_source(name: str | None, find: Callable[[str], Path]) -> ModelSource:
    if name in pair_names():
        raise PairError(
            f"{name!r} is made of a target and cannot be one; name a model as the target"
        )
    if name is None or name == default_target.NAME:
        return ModelSource(
            default_target.NAME,
            default_target.default_target(),
            description="SmolLM2-135M-Instruct, the weights of its Q4_1 release",
        )
    return ModelSource(_short(name), find(name), description=name)


def _draft_source(name: str, target: ModelSource, find: Callable[[str], Path]) -> ModelSource:
    if name in TWINS:
        bits = TWINS[name]
        how = "in 4 bits (output layer 8)" if bits == 4 else "in 8 bits"
        return ModelSource(
            f"{bits}-bit twin",
            target.folder,
            bits=bits,
            description=f"the target's own weights {how}: faster, and alone it would write a "
            "slightly different text",
        )
    file = shipped_draft(name)
    if name == SMALL and file is not None:
        from amusd_viz.models.borrowing import borrowing_draft

        what = "some of the target's layers and distilled ones, in 4 bits: weaker and cheaper than the twin"
        return borrowing_draft(SMALL, file, target, what)
    if Path(name).suffix == ".safetensors":
        from amusd_viz.models.borrowing import borrowing_draft

        return borrowing_draft(Path(name).stem, Path(name).expanduser(), target, name)
    return ModelSource(_short(name), find(name), description=name)


def _short(name: str) -> str:
    return Path(name).name if Path(name).is_dir() else name


def model_folder(name: str) -> Path:
    """The folder of a model: the path itself, or a snapshot from the Hugging Face hub.

    Raises:
        ModelError: neither a folder with a model nor a name the hub gives us.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{name} is a folder without a config.json, so it holds no model")
        return path
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(
            f"there is no folder {name}; give the folder of a saved model, or a hub name"
        )
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    wanted = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except GatedRepoError:
        raise ModelError(
            f"{name} is gated: accept its licence on its hub page, then run 'hf auth login'"
        ) from None
    except (RepositoryNotFoundError, HFValidationError):
        raise ModelError(
            f"there is no model {name!r}, neither as a folder here nor on the hub; check the spelling"
        ) from None
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"{name!r} is no folder here and could not be fetched from the hub ({reason[:200]}); "
            "check the network, or give the path of a saved model"
        ) from None


def check_same_tokenizer(pair: Pair) -> None:
    """Refuses two models whose token ids mean different things.

    Padded output layers of different width are fine: only the real ids are used.

    Raises:
        PairError: the vocabularies differ; the message shows one id that does.
    """
    ours, theirs = _vocabulary(pair.draft.folder), _vocabulary(pair.target.folder)
    if ours == theirs:
        return
    different = sorted(i for i in ours.keys() | theirs.keys() if ours.get(i) != theirs.get(i))
    example = different[0]
    raise PairError(
        f"{pair.draft.name} and {pair.target.name} cannot work together: their tokenizers differ in "
        f"{len(different)} ids (id {example} is {ours.get(example)!r} and {theirs.get(example)!r}); "
        "choose two models of one family, or draft 'twin'"
    )


def _vocabulary(folder: Path) -> dict[int, str]:
    """Every token id and its text, special tokens included."""
    file = folder / "tokenizer.json"
    if file.is_file():
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        vocabulary = content.get("model", {}).get("vocab", {})
        entries = vocabulary.items() if isinstance(vocabulary, dict) else ()
        ids = {i: text for text, i in entries}
        ids |= {entry["id"]: entry["content"] for entry in content.get("added_tokens", [])}
        if ids:
            return ids
    from amusd_viz.models.tokens import load_tokenizer

    return {i: text for text, i in load_tokenizer(folder).get_vocab().items()}


def weight_bytes(folder: Path) -> int:
    """Bytes of the weights on disk."""
    return sum(f.stat().st_size for f in folder.glob("*.safetensors")) or 1


def _stored_itemsize(folder: Path) -> int:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return 4 if "32" in stored else 2
