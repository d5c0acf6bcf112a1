"""The figures of a run, against hand-counted runs and against their definitions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz.metrics import Metrics, measure
from amusd_viz.protocol import Extra, Fate, Finish
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

MS = 1_000_000


def header(**settings) -> ev.Header:
    device = ev.Device(name="virtual:0", label="virtual device 0")
    known = {"method": "amusd", "max_new_tokens": 4, "draft": ev.Model(name="d")}
    return ev.Header(
        source="simulated",
        target=ev.Model(name="t"),
        target_device=device,
        **(known | settings),
    )


def hand_made() -> Trace:
    """Four tokens: the prefill's, an accepted one, its successor rejected, and a last plain one.

    Decode from 10 to 50 ms. The draft drafts 10-15 (accepted), 15-20 (rejected), 20-25 (never
    judged), then waits until 40. The target waits 10-20, verifies 20-30 (two tokens committed)
    and 30-50 (one more).
    """
    proposed = [
        ev.Proposed(start=10 * MS, end=15 * MS, branch=0, position=1, token=11),
        ev.Proposed(start=15 * MS, end=20 * MS, branch=0, position=2, token=99),
        ev.Proposed(start=20 * MS, end=25 * MS, branch=0, position=3, token=98),
    ]
    return Trace(
        header(),
        [
            ev.Prefill(start=0, end=8 * MS, side=ev.Side.DRAFT, tokens=3),
            ev.Prefill(start=0, end=10 * MS, side=ev.Side.TARGET, tokens=3),
            _verdict(10, 10, 0, proposals=0, accepted=0, committed=(10,), extra=Extra.PLAIN),
            ev.Received(t=10 * MS, side=ev.Side.DRAFT, branch=0, position=0),
            ev.FastForwarded(t=10 * MS, position=0, adopted=(10,)),
            *proposed,
            ev.Received(t=20 * MS, side=ev.Side.TARGET, branch=0, position=1, count=2),
            _wait(ev.Side.TARGET, 10, 20, ev.Wait.PROPOSALS),
            ev.VerifyStarted(t=20 * MS, branch=0, position=1, tokens=(11, 99)),
            ev.Received(t=25 * MS, side=ev.Side.TARGET, branch=0, position=3),
            _verdict(
                20, 30, 1, proposals=2, accepted=1, committed=(11, 12), extra=Extra.CORRECTION
            ),
            ev.Dropped(t=30 * MS, branch=0, position=2, fate=Fate.REJECTED),
            ev.Dropped(t=30 * MS, branch=0, position=3, fate=Fate.NEVER_JUDGED),
            _wait(ev.Side.DRAFT, 25, 40, ev.Wait.RUN_AHEAD_LIMIT),
            ev.VerifyStarted(t=30 * MS, branch=0, position=3),
            _verdict(30, 50, 3, proposals=0, accepted=0, committed=(13,), extra=Extra.PLAIN),
            ev.Finished(t=50 * MS, reason=Finish.LENGTH, tokens=4),
        ],
    ).check()


def _verdict(start: int, end: int, position: int, **fields) -> ev.Verified:
    return ev.Verified(start=start * MS, end=end * MS, branch=0, position=position, **fields)


def _wait(side: ev.Side, start: int, end: int, reason: ev.Wait) -> ev.Waited:
    return ev.Waited(start=start * MS, end=end * MS, side=side, reason=reason)


def test_hand_made_run_has_the_figures_counted_by_hand():
    m = measure(hand_made())
    assert (m.new_tokens, m.seconds) == (4, 0.05)
    assert (m.prefill_seconds, m.decode_seconds) == (0.01, 0.04)
    assert m.tokens_per_second == pytest.approx(3 / 0.04)
    assert (m.verifications, m.tokens_per_verification, m.windows) == (2, 1.5, {0: 1, 2: 1})
    assert (m.corrections, m.bonuses, m.rollbacks) == (1, 0, 0)
    assert (m.proposed, m.accepted, m.rejected, m.acceptance_rate) == (3, 1, 1, 0.5)
    assert m.fates == {Fate.ACCEPTED: 1, Fate.REJECTED: 1, Fate.NEVER_JUDGED: 1}
    assert (m.useful_seconds, m.doomed_seconds) == (0.005, 0.01)


def test_hand_made_run_has_the_shares_of_its_devices():
    m = measure(hand_made())
    assert m.draft is not None
    assert m.target is not None
    assert m.draft.busy == pytest.approx(15 / 40)
    assert m.draft.doomed == pytest.approx(10 / 40)
    assert m.draft.waits == {ev.Wait.RUN_AHEAD_LIMIT: pytest.approx(15 / 40)}
    assert m.draft.other == pytest.approx(10 / 40)
    assert m.target.busy == pytest.approx(30 / 40)
    assert m.target.idle == pytest.approx(10 / 40)
    assert m.overlap == pytest.approx(5 / 40), "both compute from 20 to 25 ms only"


def test_autoregressive_run_defines_no_acceptance_and_no_draft():
    m = measure(_run("autoregressive", [1, 2, 3, 4], [1, 2, 3, 4]))
    assert m.acceptance_rate is None
    assert m.draft is None
    assert m.overlap is None
    assert (m.tokens_per_verification, m.windows) == (1.0, {0: 3})


def test_single_token_has_no_speed():
    m = measure(_run("amusd", [7], [7]))
    assert (m.new_tokens, m.decode_seconds, m.tokens_per_second) == (1, 0.0, None)
    assert m.tokens_per_verification is None


def test_empty_trace_defines_almost_nothing():
    m = measure(Trace(header(), []))
    assert (m.new_tokens, m.seconds, m.prefill_seconds, m.decode_seconds) == (0, 0.0, None, None)
    assert m.target is None


def test_a_trace_knows_its_figures():
    trace = hand_made()
    assert trace.metrics == measure(trace)
    assert trace.metrics is trace.metrics


def test_figures_survive_json():
    m = measure(hand_made())
    stored = json.loads(json.dumps(m.to_dict()))
    assert stored["fates"] == {"accepted": 1, "rejected": 1, "never_judged": 1}
    assert stored["target"]["waits"] == {"proposals": pytest.approx(0.25)}


def _run(method: str, target: list[int], draft: list[int], draft_ms: int = 5) -> Trace:
    timing = Timing(
        draft=draft_ms * MS,
        target=lambda k: (20 + k) * MS,
        latency_to_target=MS,
        latency_to_draft=MS,
        draft_prefill=3 * MS,
        target_prefill=9 * MS,
    )
    text = Text(target + [0] * 20, draft + [0] * 20)
    return simulate(text, timing, method=method, max_new_tokens=len(target))


tokens = st.integers(0, 3)


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(st.tuples(tokens, tokens), min_size=2, max_size=40),
    method=st.sampled_from(["amusd", "synchronous", "autoregressive"]),
    draft_ms=st.integers(1, 30),
)
def test_figures_of_any_run_agree_with_each_other(pairs, method, draft_ms):
    target, draft = (list(side) for side in zip(*pairs, strict=True))
    trace = _run(method, target, draft, draft_ms)
    m = measure(trace)
    assert m.new_tokens == len(target)
    assert sum(m.fates.values()) == m.proposed
    assert sum(m.windows.values()) == m.verifications
    assert 1 + m.accepted + m.corrections + m.bonuses + m.windows.get(0, 0) == m.new_tokens
    assert m.corrections == m.rejected
    _check_shares(m)


def _check_shares(m: Metrics) -> None:
    for device in (m.draft, m.target):
        if device:
            assert device.busy + device.idle + device.other == pytest.approx(1)
            assert device.doomed <= device.busy + 1e-12
            assert min(device.busy, device.idle, device.other) >= -1e-12
    if m.overlap is not None and m.draft and m.target:
        assert m.overlap <= min(m.draft.busy, m.target.busy) + 1e-12
        assert m.overlap >= m.draft.busy + m.target.busy - 1 - 1e-12
