"""The distilled draft as a pair: by name, in the playground, on its card; as good as its card says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from tiny_models import save_tiny_pair

from amusd_viz.errors import PairError, SettingError
from amusd_viz.models import default_target, pairs
from amusd_viz.models.agreement import measure_agreement, wilson_interval
from amusd_viz.models.borrowing import write_draft
from amusd_viz.models.card import Card
from amusd_viz.models.draft_card import DraftCard, Judgement, card_of_shipped, rate
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import pair_names, resolve_pair
from amusd_viz.paths import shipped_draft
from amusd_viz.views import playground


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny target in the default one's place, and a tiny draft as if it came with the package."""
    _, folder = save_tiny_pair(tmp_path, layers=3)
    target = load_model(pairs.ModelSource("tiny", folder), "cpu", "fp32")
    last = {f"layers.0.{n}": w for n, w in target.model.layers[2].state_dict().items()}
    file = write_draft(
        tmp_path / "small.safetensors",
        {**last, "norm.weight": target.model.norm.weight},
        target=default_target.NAME,
        borrowed=1,
        layers=1,
    )
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(default_target, "default_target", lambda: folder)
    for module in (pairs, playground):
        monkeypatch.setattr(module, "shipped_draft", lambda name: file)
    return file


def test_the_pair_is_found_by_name(shipped: Path) -> None:
    pair = resolve_pair("small")
    assert (pair.name, pair.draft.name, pair.draft.bits) == ("small", "small", 4)
    draft = load_model(pair.draft, "cpu", "fp32")
    assert draft.config.num_hidden_layers == 2
    kinds = [type(layer.mlp.up_proj).__name__ for layer in draft.model.layers]
    assert kinds == ["Int4Linear", "Int8Linear"]
    assert torch.isfinite(draft(torch.tensor([[3, 4, 5]])).logits).all()
    with pytest.raises(PairError, match="cannot be one"):
        resolve_pair(draft="twin", target="small")


def test_the_playground_offers_what_there_is(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "small" in playground._pairs()
    for module in (pairs, playground):
        monkeypatch.setattr(module, "shipped_draft", lambda name: None)
    assert list(playground._pairs()) == list(pair_names()) == ["twin", "twin8"]
    with pytest.raises(
        SettingError, match=r"no pair named .small.; pairs are twin, twin8, smollm2"
    ):
        resolve_pair("small")


def test_the_card_tells_how_it_was_made_and_what_was_tried() -> None:
    card = DraftCard(
        name="small",
        target="t",
        borrowed=12,
        trained=4,
        bridge=True,
        generated=300_000,
        texts=2000,
        prompts=64,
        agreed={"all": (6, 10), "code": (4, 5), "list": (2, 5)},
        floor={"all": (3, 10)},
        curve=[Judgement(step=9, tokens=90_000, loss=2.0, agreed={"all": (5, 10)})],
        candidates=[],
        torch="2",
        measured="today",
    )
    said = dict(card.lines())
    assert said["by kind"] == "code 80.0%, list 40.0%"
    assert "a bridge and 4 trained on 300,000" in said["layers"]
    assert said["layers"].endswith("which run in 8 bits")
    assert "30.0%" in said["floor"]
    assert "90,000: 50.0%" in said["curve"]


needs_small = pytest.mark.skipif(
    shipped_draft("small") is None, reason="no distilled draft comes with this package"
)


@needs_small
@pytest.mark.engine
def test_it_agrees_as_often_as_its_card_says() -> None:
    """On a prompt of each kind that the card was measured on, decoded anew and as far: agreement is
    lower at the beginning of an answer."""
    from amusd_viz.training.held_out import HELD_OUT

    card = card_of_shipped("small")
    assert card is not None
    assert "by kind" in dict(Card(resolve_pair("small")).lines)
    prompts = [texts[0] for texts in HELD_OUT.values()]
    found = measure_agreement(resolve_pair("small"), prompts=prompts, tokens=192)
    low, high = wilson_interval(found.agreed, found.tokens)
    assert low - 0.02 < rate(card.agreed) < high + 0.02
