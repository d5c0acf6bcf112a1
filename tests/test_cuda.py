"""The same engine on GPUs; with one GPU both workers share it. Run by make test-gpu."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from amusd_viz import events as ev
from amusd_viz.engine import Session
from amusd_viz.metrics import measure

pytestmark = [pytest.mark.cuda, pytest.mark.engine]

PROMPT = "Why is the sky blue?"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session() as opened:
        yield opened


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "top_p": 0.9, "seed": 5}])
def test_lossless(session: Session, sampling: dict) -> None:
    plain = session.decode(PROMPT, "autoregressive", max_new_tokens=128, **sampling).wait()
    assert plain.header.target_device.name.startswith("cuda")
    for method, how in (
        ("synchronous", {}),
        ("amusd", {"policy": "paper"}),
        ("amusd", {"policy": "eager"}),
    ):
        run = session.decode(PROMPT, method, max_new_tokens=128, **how, **sampling).wait()
        run.trace.check()
        assert run.token_ids == plain.token_ids, (method, how)


def test_rollbacks_happen_and_change_nothing(session: Session) -> None:
    hot = {"temperature": 1.2, "seed": 3, "max_new_tokens": 160}
    plain = session.decode(PROMPT, "autoregressive", **hot).wait()
    run = session.decode(PROMPT, "amusd", policy="eager", **hot).wait()
    assert measure(run.trace).rollbacks > 0
    assert run.token_ids == plain.token_ids


def test_a_killed_draft_changes_nothing(session: Session) -> None:
    plain = session.decode(PROMPT, "autoregressive", max_new_tokens=128).wait()
    run = session.decode(PROMPT, "amusd", max_new_tokens=128, delays=((), (0.01,)))
    for event in run:
        if isinstance(event, ev.Verified) and event.position > 10:
            os.kill(session.worker_pids[ev.Side.DRAFT], signal.SIGKILL)
            break
    assert run.wait().token_ids == plain.token_ids
    assert [f.side for f in run.trace.of(ev.Failed)] == [ev.Side.DRAFT]


def test_recorded_passes_are_used_and_change_no_bit(tmp_path_factory) -> None:
    import torch
    from tiny_models import save_tiny_pair
    from transformers import AutoModelForCausalLM

    from amusd_viz.models.causal_lm import CausalLM

    folder = save_tiny_pair(tmp_path_factory.mktemp("tiny"))[1]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().to("cuda:0")
    plain, recorded = CausalLM(model, 64, 4), CausalLM(model, 64, 4)
    plain.capture = None
    for lm in (plain, recorded):
        lm.prefill([4, 8, 15])
    assert recorded._graphed is not None, "this model's passes can be recorded"
    text = [4, 8, 15]
    for step in range(20):
        window = [3, 5, 7][: step % 4]
        logits = plain.logits_after(text, window)
        assert torch.equal(logits, recorded.logits_after(text, window))
        text.append(int(logits[0].argmax()))
