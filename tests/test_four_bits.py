"""The 4-bit grid in training and on disk: what is learnt on it is what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import save_tiny_pair
from torch import nn

from amusd_viz.errors import ModelError, SettingError
from amusd_viz.models.borrowing import borrowing_draft, read_draft, write_draft
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import ModelSource
from amusd_viz.models.twin import quantise_4bit, weights_of_4bit
from amusd_viz.training.course import Plan
from amusd_viz.training.distill import distil
from amusd_viz.training.four_bits import check_fits, on_the_grid


def weight(rows: int = 16, columns: int = 64, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def draft_file(tmp_path: Path) -> Path:
    """A draft of one matrix, in 4 bits."""
    about = {"target": "t", "borrowed": 1, "layers": 1, "bits": 4}
    return write_draft(tmp_path / "d.safetensors", {"layers.0.x": weight()}, **about)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-4, 1.0, 50.0]))
def test_weights_stand_within_half_a_level_of_what_they_were(seed: int, size: float) -> None:
    exact = weight(seed=seed) * size
    levels, pairs = quantise_4bit(exact)
    scale = pairs[..., 0].T.repeat_interleave(32, dim=1)
    assert levels.min() >= 0
    assert levels.max() <= 15
    assert ((weights_of_4bit(levels, pairs) - exact).abs() <= scale * 0.501).all()


def test_weights_on_the_grid_stay_where_they_are() -> None:
    layer = nn.Linear(64, 16)
    with on_the_grid(layer):
        once = layer.weight.detach().clone()
        with on_the_grid(layer):
            torch.testing.assert_close(layer.weight.detach(), once, rtol=1e-2, atol=1e-3)
    assert len(once.view(16, 2, 32)[0, 0].unique()) <= 16


def test_exact_weights_come_back_whatever_happens() -> None:
    layer = nn.Linear(64, 16)
    exact = layer.weight.detach().clone()

    def fail_inside() -> None:
        with on_the_grid(layer):
            assert not torch.equal(layer.weight, exact)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail_inside()
    assert torch.equal(layer.weight, exact)


def test_gradients_of_the_rounded_weights_move_the_exact_ones() -> None:
    layer = nn.Linear(64, 16, bias=False)
    given, exact = weight(4, 64), layer.weight.detach().clone()
    with on_the_grid(layer):
        rounded = layer.weight.detach().clone()
        layer(given).square().sum().backward()
    torch.testing.assert_close(layer.weight.grad, 2 * (given @ rounded.T).T @ given)
    torch.optim.SGD(layer.parameters(), 0.1).step()
    torch.testing.assert_close(layer.weight.detach(), exact - 0.1 * layer.weight.grad)


def test_a_layer_that_no_grid_fits_is_named() -> None:
    for layer in (nn.Linear(40, 16), nn.Linear(64, 24)):
        with pytest.raises(SettingError, match="cannot run in 4 bits"):
            check_fits(nn.Sequential(nn.Linear(64, 16), layer))
    check_fits(nn.Linear(64, 16))


def test_a_share_that_is_none_is_named(tmp_path: Path) -> None:
    plan = Plan(four_bits_from=1.5)
    with pytest.raises(SettingError, match=r"1.5 is no share of the way"):
        distil(ModelSource("tiny", tmp_path), tmp_path, plan)


@pytest.mark.parametrize(("bits", "finer", "most"), [(4, 0, 0.62), (8, 1, 1.1)])
def test_a_file_keeps_weights_in_the_bits_they_run_in(
    bits: int, finer: int, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    _, folder = save_tiny_pair(tmp_path, layers=3)
    source = ModelSource("tiny", folder)
    last = load_model(source, "cpu", "fp32").model.layers[2]
    with on_the_grid(last):
        rounded = {f"layers.0.{n}": w.detach().clone() for n, w in last.state_dict().items()}
    trained = rounded if bits == 4 else last.state_dict(prefix="layers.0.")
    trained["norm.weight"] = torch.ones(last.input_layernorm.weight.shape)
    file = write_draft(
        tmp_path / "d.safetensors", trained, target="tiny", borrowed=1, layers=1, bits=bits
    )
    back, about = read_draft(file)
    assert about["bits"] == str(bits)
    for name, wanted in trained.items():
        torch.testing.assert_close(
            back[name], wanted, rtol=2e-2, atol=2e-2 * float(wanted.abs().max())
        )
    draft = borrowing_draft("d", file, source)
    assert (draft.bits, draft.last_in_8_bits) == (4, finer)
    matrices = sum(w.numel() for w in trained.values() if w.dim() == 2)
    stored = file.stat().st_size - 4 * sum(w.numel() for w in trained.values() if w.dim() != 2)
    assert stored < most * matrices + 4000


def test_a_file_of_the_time_before_4_bits_is_read_as_8(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = write_draft(
        tmp_path / "d.safetensors", {"layers.0.x": weight()}, target="t", borrowed=1, layers=1
    )
    old = {"target": "t", "borrowed": "1", "trained": "1"}
    save_file(load_file(file), file, metadata=old)
    back, about = read_draft(file)
    assert about["bits"] == "8"
    torch.testing.assert_close(back["layers.0.x"], weight(), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("about", "without", "match"),
    [
        ({"bits": "16"}, "", "16 bits"),
        ({"trained": "many"}, "", "many layers"),
        ({}, "layers.0.x.grid", "damaged"),
    ],
)
def test_a_file_that_holds_together_but_makes_no_draft_is_named(
    about: dict[str, str], without: str, match: str, draft_file: Path
) -> None:
    from safetensors.torch import load_file, save_file

    tensors = {name: tensor for name, tensor in load_file(draft_file).items() if name != without}
    said = {"target": "t", "borrowed": "1", "trained": "1", "bits": "4"}
    save_file(tensors, draft_file, metadata=said | about)
    with pytest.raises(ModelError, match=match):
        read_draft(draft_file)


def test_other_bits_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not in 5"):
        write_draft(tmp_path / "d", {}, target="t", borrowed=1, layers=1, bits=5)


def test_a_4_bit_file_that_is_cut_off_is_refused(draft_file: Path) -> None:
    draft_file.write_bytes(draft_file.read_bytes()[:-10])
    with pytest.raises(ModelError, match="cannot be read"):
        read_draft(draft_file)
