"""The filters of sampling give what transformers' processors give, bit for bit."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from amusd_viz.events import Sampling
from amusd_viz.models import filters
from amusd_viz.models.choice import TokenChooser
from amusd_viz.models.filters import filtered

PREFIX = [3, 5, 5, 8, 1, 999]


def reference(row: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """What ``generate`` does to the row."""
    steps = LogitsProcessorList()
    if sampling.repetition_penalty != 1:
        steps.append(RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if sampling.temperature:
        steps.append(TemperatureLogitsWarper(sampling.temperature))
        if sampling.top_k:
            steps.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            steps.append(TopPLogitsWarper(sampling.top_p))
        if sampling.min_p:
            steps.append(MinPLogitsWarper(sampling.min_p))
    return steps(torch.tensor([PREFIX]), row[None].clone())[0]


def rows(words: int, count: int) -> list[torch.Tensor]:
    """Flat ones, peaked ones, rounded ones with many ties, and one that is all ties."""
    source = torch.Generator().manual_seed(words)
    found = [torch.zeros(words)]
    for number in range(count):
        row = torch.randn(words, generator=source) * (0.3, 1.5, 3.0, 6.0)[number % 4]
        found.append(row.bfloat16().float() if number % 3 == 0 else row)
    return found


SAMPLINGS = [
    Sampling(temperature=1.0, top_p=0.9),
    Sampling(temperature=0.7, top_p=0.5),
    Sampling(temperature=1.3, top_p=0.99),
    Sampling(temperature=1.0, top_p=1e-6),
    Sampling(temperature=1.0, top_p=0.9999),
    Sampling(temperature=0.8, top_k=1),
    Sampling(temperature=0.8, top_k=40),
    Sampling(temperature=0.8, top_k=10**9),
    Sampling(temperature=0.8, top_k=50, top_p=0.9),
    Sampling(temperature=1.0, min_p=0.05),
    Sampling(temperature=1.0, min_p=1.0),
    Sampling(temperature=0.6, top_k=50, top_p=0.95, min_p=0.02, repetition_penalty=1.2),
    Sampling(temperature=1.0, repetition_penalty=0.8),
    Sampling(repetition_penalty=1.3),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: str(s)[9:-1])
@pytest.mark.parametrize(("words", "count"), [(1000, 60), (20_000, 6)])
def test_the_result_is_that_of_transformers(sampling: Sampling, words: int, count: int) -> None:
    for row in rows(words, count):
        before = row.clone()
        assert torch.equal(filtered(row, PREFIX, sampling), reference(row, sampling))
        assert torch.equal(row, before), "the model's own logits were changed"


def test_a_peaked_row_is_not_sorted_and_an_unclear_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts = []
    whole = filters._keep_top_p_sorted
    monkeypatch.setattr(
        filters, "_keep_top_p_sorted", lambda row, mass: sorts.append(1) or whole(row, mass)
    )
    peaked = torch.randn(20_000, generator=torch.Generator().manual_seed(1)) * 6
    filters.keep_top_p(peaked, 0.9)
    assert not sorts
    tied = torch.zeros(1000)
    assert torch.equal(filters.keep_top_p(tied, 0.5), reference(tied, SAMPLINGS[1]))
    edge = torch.tensor([0.5, 0.25, 0.25, *[1e-9] * 997]).log()
    filters.keep_top_p(edge, 0.75)
    assert len(sorts) == 2


def test_each_row_of_a_window_sees_its_own_prefix() -> None:
    chooser = TokenChooser(Sampling(repetition_penalty=10.0), 50)
    row = torch.full((50,), -1.0)
    row[[4, 7]] = torch.tensor([3.0, 2.0])
    assert chooser.choose(chooser.processed(row, [1]), 0) == 4
    assert chooser.choose(chooser.processed(row, [1, 4]), 0) == 7
