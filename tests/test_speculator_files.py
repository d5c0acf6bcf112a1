"""Speculators written and read: the published layout, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file, save_file

from amusd_viz.errors import ModelError
from amusd_viz.models.speculator import Speculator, SpeculatorConfig
from amusd_viz.models.speculator_files import load_speculator, save_speculator


def made(**shape: object) -> Speculator:
    sizes = {"emb_dim": 6, "inner_dim": 4, "vocab_size": 9, "n_predict": 3}
    config = SpeculatorConfig(**{**sizes, "base_model": "some/target", **shape})
    return Speculator(config).initialise(torch.Generator().manual_seed(1)).requires_grad_(False)


def same(a: Speculator, b: Speculator) -> bool:
    ours, theirs = a.state_dict(), b.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def rewrite(folder: Path, change: object) -> None:
    """Applies ``change`` to the tensors of a written checkpoint."""
    weights = load_file(folder / "model.safetensors")
    change(weights)  # type: ignore[operator]
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_written_and_read(tmp_path: Path, tied: bool, scaled: bool, dtype: str) -> None:
    stored = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]
    speculator = made(tie_weights=tied, scale_input=scaled).to(stored)
    save_speculator(speculator, tmp_path, dtype)
    read = load_speculator(tmp_path, stored)
    assert read.config == speculator.config
    assert same(read, speculator)
    assert not any(p.requires_grad for p in read.parameters())


def test_the_layer_that_is_read_besides_is_written(tmp_path: Path) -> None:
    speculator = made(tie_weights=True, scale_input=True, state_layer=5)
    save_speculator(speculator, tmp_path, "fp32")
    assert json.loads((tmp_path / "config.json").read_text())["state_layer"] == 5
    read = load_speculator(tmp_path)
    assert read.config == speculator.config
    assert read.config.target_width == 3


def test_what_other_loaders_look_for(tmp_path: Path) -> None:
    save_speculator(made(tie_weights=True), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["MLPSpeculatorPreTrainedModel"]
    assert config["model_type"] == "mlp_speculator"
    assert config["torch_dtype"] == "float16"
    assert config["base_model_name_or_path"] == "some/target"
    assert len(config["top_k_tokens_per_head"]) == config["n_predict"] == 3
    assert set(config) >= {"emb_dim", "inner_dim", "vocab_size", "n_candidates"}
    assert config["tie_weights"] is True
    assert config["scale_input"] is False
    assert not {"short_list", "state_layer"} & config.keys()
    assert {n: tuple(w.shape) for n, w in load_file(tmp_path / "model.safetensors").items()} == {
        "speculator.emb.0.weight": (9, 4),
        "speculator.proj.0.weight": (4, 6),
        "speculator.proj.1.weight": (4, 4),
        "speculator.ln.0.weight": (4,),
        "speculator.ln.0.bias": (4,),
        "speculator.head.0.weight": (9, 4),
    }


def test_names_without_prefix_and_pickled_weights(tmp_path: Path) -> None:
    speculator = made()
    save_speculator(speculator, tmp_path, "fp32")
    (tmp_path / "model.safetensors").unlink()
    torch.save(speculator.state_dict(), tmp_path / "pytorch_model.bin")
    assert same(load_speculator(tmp_path), speculator)
    state = {"model_state": speculator.state_dict(), "step": 5, "tokens_seen": 7}
    torch.save(state, tmp_path / "pytorch_model.bin")
    assert same(load_speculator(tmp_path), speculator)


def test_pickled_code_is_not_run(tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "ran",))

    save_speculator(made(), tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"emb.0.weight": Code()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pytorch_model\.bin cannot be read as weights"):
        load_speculator(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_shards(tmp_path: Path) -> None:
    speculator = made()
    save_speculator(speculator, tmp_path, "fp32")
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    files = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    placed = {name: files[i % 2] for i, name in enumerate(sorted(weights))}
    for file in files:
        save_file({n: weights[n] for n in weights if placed[n] == file}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    assert same(load_speculator(tmp_path), speculator)
    (tmp_path / files[1]).unlink()
    with pytest.raises(ModelError, match=f"lacks the shard {files[1]}"):
        load_speculator(tmp_path)


def with_aliases(weights: dict) -> None:
    for stage in (1, 2):
        for name in ("emb.{}.weight", "head.{}.weight", "ln.{}.weight", "ln.{}.bias"):
            weights["speculator." + name.format(stage)] = weights[
                "speculator." + name.format(0)
            ].clone()
    weights["speculator.proj.2.weight"] = weights["speculator.proj.1.weight"].clone()


def test_aliases_of_tied_tensors(tmp_path: Path) -> None:
    speculator = made(tie_weights=True)
    save_speculator(speculator, tmp_path, "fp32")
    rewrite(tmp_path, with_aliases)
    assert same(load_speculator(tmp_path), speculator)
    rewrite(tmp_path, lambda w: w["speculator.head.2.weight"].add_(1))
    with pytest.raises(ModelError, match=r"head\.2\.weight differs from head\.0\.weight"):
        load_speculator(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("speculator.head.1.weight"), r"lacks the tensor head\.1\.weight"),
        (
            lambda w: w.update({"speculator.heads.1.weight": w.pop("speculator.head.1.weight")}),
            r"lacks the tensor head\.1\.weight",
        ),
        (
            lambda w: w.update({"speculator.emb.3.weight": torch.zeros(9, 4)}),
            r"holds the tensor emb\.3\.weight, which no such",
        ),
        (
            lambda w: w.update({"speculator.proj.0.weight": torch.zeros(4, 5)}),
            r"proj\.0\.weight has shape \(4, 5\), the configuration asks for \(4, 6\)",
        ),
        (
            lambda w: w.update({"emb.0.weight": torch.zeros(9, 4)}),
            r"emb\.0\.weight is there twice",
        ),
    ],
)
def test_wrong_tensors_are_refused_by_name(tmp_path: Path, change: object, message: str) -> None:
    save_speculator(made(), tmp_path)
    rewrite(tmp_path, change)
    with pytest.raises(ModelError, match=message):
        load_speculator(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "llama"}, "model_type 'llama'"),
        ({"emb_dim": "576"}, "emb_dim is '576'"),
        ({"n_predict": None}, "n_predict is None"),
        ({"top_k_tokens_per_head": [3]}, "1 entries for 3 heads"),
        ({"short_list": [3, 3]}, "ascending"),
    ],
)
def test_wrong_configurations(tmp_path: Path, change: dict, message: str) -> None:
    save_speculator(made(), tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ModelError, match=message):
        load_speculator(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        load_speculator(tmp_path)
    save_speculator(made(), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot be read as weights"):
        load_speculator(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="has no weights"):
        load_speculator(tmp_path)


def test_a_short_list_is_written_whole_and_read_short(tmp_path: Path) -> None:
    speculator = made(tie_weights=True, short_list=(1, 4, 5))
    save_speculator(speculator, tmp_path, "fp32")
    whole = load_file(tmp_path / "model.safetensors")["speculator.head.0.weight"]
    assert whole.shape == (9, 4)
    assert (whole[[0, 2, 3, 6, 7, 8]] < 0).all()
    read = load_speculator(tmp_path)
    assert same(read, speculator)
    assert read.short_list.tolist() == [1, 4, 5]
    # As a loader that passes over the key would have it: words outside the list never win.
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("short_list")
    (tmp_path / "config.json").write_text(json.dumps(config))
    state, tokens = torch.randn(50, 6), torch.randint(9, (50, 3))
    # GELU is above -0.17, so the rows of other words give less than 4 * 0.17 * 0.1.
    clear = speculator(state, tokens).max(-1).values > 0.07
    best = load_speculator(tmp_path)(state, tokens).argmax(-1)
    assert set(best[clear].tolist()) == {1, 4, 5}
