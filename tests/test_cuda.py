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
