"""The forward pass in C: the model's own numbers, and every row the same to the bit in any window."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import WORDS, save_tiny_pair
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from amusd_viz.engine import Session
from amusd_viz.errors import ModelError
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.native import library as native_library
from amusd_viz.models.native.library import library
from amusd_viz.models.native.native_lm import NativeLM
from amusd_viz.models.native.weights import Kind, NativeWeights, can_run
from amusd_viz.models.twin import GROUP, quantise_4bit

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(library() is None, reason="no C compiler, or no AVX2"),
]
KINDS = [(Kind.F32, Kind.F32), (Kind.BF16, Kind.BF16), (Kind.Q8, Kind.Q8), (Kind.Q4, Kind.Q8)]
TEXT = [(7 * i * i + 3 * i) % WORDS for i in range(70)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_pair(tmp_path_factory.mktemp("tiny"))[1]


@pytest.fixture(scope="module")
def model(folder: Path) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(scope="module", params=KINDS, ids=lambda kinds: "-".join(k.name for k in kinds))
def weights(model: torch.nn.Module, request: pytest.FixtureRequest) -> NativeWeights:
    return NativeWeights.of(model, *request.param)


def reference(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]


def test_fp32_gives_the_numbers_of_transformers(model: torch.nn.Module) -> None:
    lm = NativeLM(NativeWeights.of(model, Kind.F32, Kind.F32), 128)
    ours = lm.logits_after(TEXT[:1], TEXT[1:])
    assert torch.allclose(ours, reference(model, TEXT), atol=2e-4, rtol=1e-4)


def test_behind_the_state_stands_what_a_layer_read(model: torch.nn.Module) -> None:
    weights = NativeWeights.of(model, Kind.F32, Kind.F32)
    lm, alone = NativeLM(weights, 128, state_layer=1), NativeLM(weights, 128)
    read = CausalLM(model, 128, state_layer=1)
    for prefix, window in ((TEXT[:9], []), (TEXT[:9], TEXT[9:14]), (TEXT[:12], TEXT[20:29])):
        logits = [one.logits_after(prefix, window) for one in (lm, alone, read)]
        assert torch.equal(logits[0], logits[1])
        count = len(logits[0])
        assert torch.equal(lm.hidden[-count:, : alone.hidden.shape[1]], alone.hidden[-count:])
        assert torch.allclose(lm.hidden[-count:], read.hidden[-count:], atol=2e-4, rtol=1e-4)
    with pytest.raises(ModelError, match="reads what layer 2 of the target reads"):
        NativeLM(weights, 128, state_layer=2)


@pytest.mark.parametrize("kinds", KINDS[1:], ids=lambda kinds: kinds[0].name)
def test_fewer_bits_are_those_of_the_rounded_weights(
    folder: Path, kinds: tuple[Kind, Kind]
) -> None:
    """What is left is the rounding of the input to bytes, which this rough model amplifies."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ours = NativeLM(NativeWeights.of(model, *kinds), 128).logits_after(TEXT[:1], TEXT[1:])
    exact = reference(model, TEXT)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            kind = kinds[1] if name == "lm_head" else kinds[0]
            module.weight = torch.nn.Parameter(rounded(module.weight.detach(), kind))
    wanted = reference(model, TEXT)
    error = (ours - wanted).norm() / wanted.norm()
    assert error < 0.06
    assert error < (ours - exact).norm() / exact.norm()


def rounded(weight: torch.Tensor, kind: Kind) -> torch.Tensor:
    """The weights as a kind stores them, in fp32."""
    if kind is Kind.BF16:
        return weight.bfloat16().float()
    if kind is Kind.Q8:
        scale = weight.abs().amax(dim=1, keepdim=True) / 127
        return (weight / scale).round() * scale
    levels, pairs = quantise_4bit(weight)
    scale, offset = (p.t() for p in pairs.unbind(-1))
    least = offset - 8 * scale
    scale, least = (p.bfloat16().float().repeat_interleave(GROUP, 1) for p in (scale, least))
    return levels * scale + least


def test_other_shapes(tmp_path: Path) -> None:
    """Biases, heads wider than the model, a vocabulary and an attention that end within a panel."""
    torch.manual_seed(1)
    common = {"hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 2}
    qwen = Qwen2Config(
        vocab_size=123, num_attention_heads=4, num_key_value_heads=1, head_dim=32, **common
    )
    wide = LlamaConfig(
        vocab_size=77,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=40,
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4},
        **common,
    )
    narrow = LlamaConfig(
        vocab_size=77, num_attention_heads=4, num_key_value_heads=1, head_dim=8, **common
    )
    for made in (Qwen2ForCausalLM(qwen), LlamaForCausalLM(wide), LlamaForCausalLM(narrow)):
        made.eval()
        for name, parameter in made.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.normal_(parameter)
        assert can_run(made)
        ids = [i % 77 for i in TEXT]
        lm = NativeLM(NativeWeights.of(made, Kind.F32, Kind.F32), 96)
        ours = lm.logits_after(ids[:1], ids[1:])
        assert ours.shape == (70, made.config.vocab_size)
        assert torch.allclose(ours, reference(made, ids), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("kind", [Kind.F32, Kind.BF16])
def test_registers_of_any_width_give_equal_bits(
    model: torch.nn.Module, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine with AVX512 measured, one with AVX2 alone can repeat."""

    def logits() -> torch.Tensor:
        return NativeLM(NativeWeights.of(model, kind, kind), 96).logits_after(TEXT[:1], TEXT[1:])

    usual = logits()
    monkeypatch.setattr(native_library, "FLAGS", (*native_library.FLAGS, "-mno-avx512f"))
    library.cache_clear()
    try:
        assert torch.equal(logits(), usual)
    finally:
        monkeypatch.undo()
        library.cache_clear()


def test_models_of_another_shape_are_left_to_torch(model: torch.nn.Module) -> None:
    config = LlamaConfig(vocab_size=50, hidden_size=64, intermediate_size=100, num_hidden_layers=1)
    assert not can_run(LlamaForCausalLM(config))
    assert can_run(model)


@given(cuts=st.sets(st.integers(1, 69)), threads=st.sampled_from([1, 2]))
@settings(max_examples=25, deadline=None)
def test_any_windows_give_equal_bits(weights: NativeWeights, cuts: set[int], threads: int) -> None:
    one = NativeLM(weights, 128)
    plain = torch.stack(
        [one.prefill(TEXT[:1])] + [one.logits_after(TEXT[:n])[0] for n in range(2, 71)]
    )
    windows = NativeLM(weights, 160, threads=threads)
    edges = [0, *sorted(cuts), 70]
    rows = []
    for a, b in itertools.pairwise(edges):
        rows.append(windows.logits_after(TEXT[: a + 1], TEXT[a + 1 : b]))
    assert torch.equal(torch.cat(rows), plain)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    size = draw(st.integers(1, 12))
    parents = [draw(st.integers(-1, i - 1)) for i in range(size)]
    return [draw(st.integers(0, WORDS - 1)) for _ in parents], parents


@given(tree=trees(), lead=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_a_tree_gives_the_bits_of_its_branches(
    weights: NativeWeights, tree: tuple[list[int], list[int]], lead: int
) -> None:
    tokens, parents = tree
    lm = NativeLM(weights, 128)
    lm.prefill(TEXT[:20])
    flattened = lm.logits_of_tree(TEXT[: 20 + lead], tokens, parents)
    path = path_to(len(tokens) - 1, parents)
    plain = NativeLM(weights, 128)
    alone = plain.logits_after(TEXT[: 20 + lead], [tokens[node] for node in path])
    assert torch.equal(flattened[[0] + [node + 1 for node in path]], alone)
    # The branch that was taken stays, and decoding goes on from it as if it had been plain.
    lm.keep_path([tokens[node] for node in path], path)
    after = TEXT[: 20 + lead] + [tokens[node] for node in path] + [5]
    assert lm.tokens == after[:-1]
    assert torch.equal(lm.logits_after(after), plain.logits_after(after))


def path_to(node: int, parents: list[int]) -> list[int]:
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def test_without_a_compiler_torch_decodes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kernels write the same text here, under keys of their own."""
    keys, texts = [], []
    for wanted in ("1", "0"):
        monkeypatch.setenv("AMUSD_VIZ_NATIVE", wanted)
        with Session(draft=str(folder), target=str(folder), dtype="fp32") as session:
            run = session.decode("w1 w2", max_new_tokens=20).wait()
            keys.append(run.header.numerics.kernel)
            texts.append(run.token_ids)
    assert keys[0] == "native" != keys[1]
    assert texts[0] == texts[1]


def test_a_broken_compiler_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    library.cache_clear()
    try:
        assert library() is None
    finally:
        monkeypatch.undo()
        library.cache_clear()
    assert library() is not None
