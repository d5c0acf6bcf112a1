"""After anything that can happen to a cache, the logits are those of a fresh pass."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import WORDS, save_tiny_pair
from transformers import AutoModelForCausalLM

from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.packed import can_pack, pack_linears

pytestmark = pytest.mark.engine
LENGTH = 128

tokens = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=9)
steps = st.lists(
    st.tuples(st.integers(0, 12), tokens, st.lists(st.integers(0, WORDS - 1), max_size=3)),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, target = save_tiny_pair(tmp_path_factory.mktemp("tiny"))
    return target


@pytest.fixture(scope="module", params=["fp32", "fp32 packed", "bf16"])
def model(folder: Path, request: pytest.FixtureRequest) -> torch.nn.Module:
    dtype = torch.bfloat16 if request.param == "bf16" else torch.float32
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    if request.param != "fp32 packed":
        return loaded
    if not can_pack(loaded):
        pytest.skip("this machine has no oneDNN")
    return pack_linears(loaded, rows=8)


def play(lm: CausalLM, prompt: list[int], happenings: list) -> list[int]:
    """Extends, rolls back and fast-forwards a sequence; compares nothing, returns what is left."""
    lm.prefill(prompt)
    wanted = list(prompt)
    for back, new, window in happenings:
        wanted = wanted[: max(len(prompt), len(wanted) - back)] + new
        wanted = wanted[: LENGTH - 16]
        lm.logits_after(wanted, window)
    return wanted


@given(prompt=tokens, happenings=steps)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_fixed_rows_are_equal_to_the_bit(
    model: torch.nn.Module, prompt: list[int], happenings: list
) -> None:
    used = CausalLM(model, LENGTH, rows=8)
    wanted = play(used, prompt, happenings)
    ours = used.logits_after(wanted)[0]
    fresh = CausalLM(model, LENGTH, rows=8)
    fresh.prefill(prompt)
    for end in range(len(prompt) + 1, len(wanted) + 1):
        plain = fresh.logits_after(wanted[:end])[0]
    if len(wanted) == len(prompt):
        plain = fresh.logits_after(wanted)[0]
    assert torch.equal(ours, plain)


@given(prompt=tokens, happenings=steps)
@settings(max_examples=30, deadline=None)
def test_free_shapes_in_fp32_are_equal_to_1e4(
    folder: Path, prompt: list[int], happenings: list
) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    lm = CausalLM(model, LENGTH)
    wanted = play(lm, prompt, happenings)
    ours = lm.logits_after(wanted)[0]
    with torch.inference_mode():
        plain = model(torch.tensor([wanted])).logits[0, -1]
    assert (ours - plain).abs().max() < 1e-4 * max(1.0, float(plain.abs().max()))


def test_a_window_gives_the_logits_of_single_steps(model: torch.nn.Module) -> None:
    prompt, output = [5, 6, 7], list(range(20, 60))
    one, many = CausalLM(model, LENGTH, rows=8), CausalLM(model, LENGTH, rows=8)
    one.prefill(prompt)
    many.prefill(prompt)
    single = [one.logits_after(prompt + output[: i + 1])[0] for i in range(len(output))]
    position = 0
    for size in (0, 7, 3, 1, 5, 7, 2):
        window = output[position + 1 : position + 1 + size]
        rows = many.logits_after(prompt + output[: position + 1], window)
        assert len(rows) == size + 1
        for offset, row in enumerate(rows):
            assert torch.equal(row, single[position + offset])
        position += size + 1
    assert many.tokens == prompt + output[:position], "the cache holds N + L - 1 entries"


def test_packed_layers_compute_the_same(folder: Path) -> None:
    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    packed = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    if not can_pack(packed):
        pytest.skip("this machine has no oneDNN")
    pack_linears(packed, rows=8)
    ids = torch.tensor([list(range(3, 30))])
    with torch.inference_mode():
        ours, theirs = packed(ids).logits, plain(ids).logits
    assert (ours - theirs).abs().max() < 1e-4 * theirs.abs().max()
