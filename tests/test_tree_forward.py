"""A tree in one flattened pass gives what separate passes over its paths give."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import WORDS, save_tiny_pair
from transformers import AutoModelForCausalLM

from amusd_viz.errors import ModelError
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.protocol import ROOT, Tree

pytestmark = pytest.mark.engine
LENGTH = 96
ROWS = 16

token = st.integers(0, WORDS - 1)
prompts = st.lists(token, min_size=1, max_size=12)
trees = st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=5).map(
    lambda candidates: Tree.merge([[7 * t + i for i, t in enumerate(c)] for c in candidates])
)
FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> torch.nn.Module:
    folder: Path = save_tiny_pair(tmp_path_factory.mktemp("tiny"))[1]
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(params=[None, ROWS], ids=["free rows", "fixed rows"])
def lm(request: pytest.FixtureRequest, model: torch.nn.Module) -> CausalLM:
    return CausalLM(model, LENGTH, request.param)


def separate(model: torch.nn.Module, prefix: list[int], tree: Tree) -> tuple[torch.Tensor, ...]:
    """Logits and states of the last committed token and every node, each in a pass of its own."""
    logits, states = [], []
    for node in (ROOT, *range(len(tree))):
        path = [tree.tokens[n] for n in tree.path(node)]
        with torch.inference_mode():
            out = model(torch.tensor([prefix + path]), output_hidden_states=True)
        logits.append(out.logits[0, -1])
        states.append(out.hidden_states[-1][0, -1])
    return torch.stack(logits), torch.stack(states)


@given(prompt=prompts, more=prompts, tree=trees)
@FEW
def test_a_flattened_tree_equals_separate_passes(
    model: torch.nn.Module, lm: CausalLM, prompt: list[int], more: list[int], tree: Tree
) -> None:
    lm.prefill(prompt)
    prefix = [*prompt, *more]
    logits = lm.logits_of_tree(prefix, tree.tokens, tree.parents)
    wanted, states = separate(model, prefix, tree)
    torch.testing.assert_close(logits, wanted, rtol=1e-5, atol=2e-5)
    torch.testing.assert_close(lm.hidden, states, rtol=1e-5, atol=2e-5)


@given(prompt=prompts, tree=trees, leaf=st.integers(0, 14), then=token)
@FEW
def test_the_path_taken_stays_in_the_cache(
    model: torch.nn.Module, lm: CausalLM, prompt: list[int], tree: Tree, leaf: int, then: int
) -> None:
    lm.prefill(prompt)
    lm.logits_of_tree([*prompt, 5], tree.tokens, tree.parents)
    path = tree.path(leaf % len(tree))
    tokens = [tree.tokens[n] for n in path]
    lm.keep_path(tokens, path)
    assert lm.tokens == [*prompt, 5, *tokens]
    rest = [*prompt, 5, *tokens, then]
    with torch.inference_mode():
        wanted = model(torch.tensor([rest])).logits[0, -1]
    torch.testing.assert_close(lm.logits_after(rest)[0], wanted, rtol=1e-5, atol=2e-5)


@given(prompt=prompts, tokens=st.lists(token, min_size=1, max_size=6))
@FEW
def test_a_chain_is_bit_equal_to_a_window_where_rows_are_fixed(
    model: torch.nn.Module, prompt: list[int], tokens: list[int]
) -> None:
    lm = CausalLM(model, LENGTH, ROWS)
    chain = Tree.chain(tokens)
    lm.prefill(prompt)
    as_tree = lm.logits_of_tree([*prompt, 3], chain.tokens, chain.parents)
    hidden = lm.hidden
    as_window = lm.logits_after([*prompt, 3], tokens)
    assert torch.equal(as_tree, as_window)
    assert torch.equal(hidden, lm.hidden)


def test_the_state_is_what_the_output_layer_reads(model: torch.nn.Module, lm: CausalLM) -> None:
    head = model.get_output_embeddings()
    for forward in (
        lambda: lm.prefill([4, 8, 15])[None],
        lambda: lm.logits_after([4, 8, 15, 16], [23, 42]),
        lambda: lm.logits_of_tree([4, 8, 15, 16], [23, 7], [-1, -1]),
    ):
        logits = forward()
        with torch.inference_mode():
            torch.testing.assert_close(head(lm.hidden[-len(logits) :]), logits)


@pytest.mark.parametrize("rows", [None, ROWS])
def test_behind_the_state_stands_what_a_layer_read(
    model: torch.nn.Module, rows: int | None
) -> None:
    lm = CausalLM(model, LENGTH, rows, state_layer=1)
    norm = model.model.layers[1].input_layernorm

    def check(logits: torch.Tensor, *texts: list[int]) -> None:
        assert len(logits) == len(texts)
        for text, state in zip(texts, lm.hidden[-len(texts) :], strict=True):
            with torch.inference_mode():
                states = model(torch.tensor([text]), output_hidden_states=True).hidden_states
                wanted = torch.cat([states[-1][0, -1], norm(states[1])[0, -1]])
            torch.testing.assert_close(state, wanted, rtol=1e-5, atol=2e-5)

    first, more = [4, 8, 15], [4, 8, 15, 16]
    check(lm.prefill(first)[None], first)
    check(lm.logits_after(more, [23, 42]), more, [*more, 23], [*more, 23, 42])
    check(lm.logits_of_tree(more, [23, 7], [-1, -1]), more, [*more, 23], [*more, 7])


@pytest.mark.parametrize("layer", [2, -1])
def test_a_layer_that_the_model_lacks_is_named(model: torch.nn.Module, layer: int) -> None:
    with pytest.raises(ModelError, match=f"reads what layer {layer} of the target reads"):
        CausalLM(model, LENGTH, state_layer=layer)


def test_no_hook_is_left_on_the_model(model: torch.nn.Module, lm: CausalLM) -> None:
    lm.prefill([4, 8, 15])
    lm.logits_after([4, 8, 15, 16], [23])
    assert not model.get_output_embeddings()._forward_pre_hooks
