"""A recorded pass gives what the plain one gives, or is not used.

There is no GPU here: a recording that computes anew what it recorded stands for the graph, with the
same buffers, copied into and read from in the same way. On a GPU, test_cuda.py runs the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from tiny_models import WORDS, save_tiny_pair
from transformers import AutoModelForCausalLM

from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.graphed_pass import GraphedPass, PassInputs, capture_for

pytestmark = pytest.mark.engine
LENGTH, ROWS = 64, 4


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> torch.nn.Module:
    folder: Path = save_tiny_pair(tmp_path_factory.mktemp("tiny"))[1]
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


class Recorder:
    """Counts recordings and replays."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, work: Callable[[], None]) -> Callable[[], None]:
        self.recorded += 1
        work()

        def replay() -> None:
            self.replayed += 1
            work()

        return replay


def written(lm: CausalLM, tokens: int = 12) -> list[torch.Tensor]:
    """Logits of a small decode with windows, a rollback and a tree."""
    text = [4, 8, 15]
    seen = [lm.prefill(text)]
    for step in range(tokens):
        window = [(7 * step + i) % WORDS for i in range(step % (lm.rows or 1))]
        logits = lm.logits_after(text, window)
        seen += [logits, lm.hidden]
        text = [*text, int(logits[0].argmax())]
    seen.append(lm.logits_of_tree(text, [3, 5, 7][: (lm.rows or 4) - 1], [-1, -1, 0]))
    return seen


@pytest.mark.parametrize("rows", [ROWS, None], ids=["target", "draft"])
def test_it_gives_the_same_bits_as_the_plain_pass(model: torch.nn.Module, rows: int | None) -> None:
    plain, ours, recorder = CausalLM(model, LENGTH, rows), CausalLM(model, LENGTH, rows), Recorder()
    ours.capture = recorder
    for one, other in zip(written(plain), written(ours), strict=True):
        assert torch.equal(one, other)
    assert recorder.recorded == 1
    assert recorder.replayed > 12
    before = recorder.replayed
    for one, other in zip(written(plain), written(ours), strict=True):
        assert torch.equal(one, other), "the next run of the same cache"
    assert recorder.recorded == 1, "it is recorded once"
    assert recorder.replayed > before


def test_results_are_not_overwritten_by_the_next_pass(model: torch.nn.Module) -> None:
    lm = CausalLM(model, LENGTH, ROWS)
    lm.capture = Recorder()
    lm.prefill([4, 8, 15])
    first = lm.logits_after([4, 8, 15, 16])
    kept = first.clone()
    lm.logits_after([4, 8, 15, 16, 23])
    assert torch.equal(first, kept)


def test_one_that_keeps_what_should_change_is_not_used(model: torch.nn.Module) -> None:
    def stuck(work: Callable[[], None]) -> Callable[[], None]:
        work()
        return lambda: None

    lm, plain = CausalLM(model, LENGTH, ROWS), CausalLM(model, LENGTH, ROWS)
    lm.capture = stuck
    for one, other in zip(written(plain), written(lm), strict=True):
        assert torch.equal(one, other)


def test_one_that_cannot_be_recorded_is_not_used(model: torch.nn.Module) -> None:
    def refuses(work: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("operation not permitted when stream is capturing")

    lm, plain = CausalLM(model, LENGTH, ROWS), CausalLM(model, LENGTH, ROWS)
    lm.capture = refuses
    for one, other in zip(written(plain), written(lm), strict=True):
        assert torch.equal(one, other)


def test_a_full_cache_leaves_no_room_to_try(model: torch.nn.Module) -> None:
    lm, recorder = CausalLM(model, 8, ROWS), Recorder()
    lm.capture = recorder
    lm.prefill([1, 2, 3, 4])
    assert recorder.recorded == 0
    assert len(lm.logits_after([1, 2, 3, 4, 5])) == 1


def test_nothing_is_recorded_off_the_gpu_or_where_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert capture_for(torch.device("cpu")) is None
    assert capture_for(torch.device("cuda", 1)) is not None
    monkeypatch.setenv("AMUSD_VIZ_GRAPHS", "0")
    assert capture_for(torch.device("cuda", 1)) is None


def test_inputs_are_copied_into_what_was_recorded() -> None:
    def compute(inputs: PassInputs) -> tuple[torch.Tensor, torch.Tensor]:
        return inputs.ids + inputs.places, inputs.mask.sum()[None]

    def inputs(value: int) -> PassInputs:
        one = torch.full((1, 2), value)
        return PassInputs(one, one, one[0], one[None])

    graphed = GraphedPass(compute, inputs(1), Recorder())
    assert graphed.agrees(compute, inputs(5))
    assert graphed(inputs(3))[0].tolist() == [[6, 6]]
