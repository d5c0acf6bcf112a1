"""The adaptive policies: as good as the best fixed one, whatever the draft, and never a burden."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz.protocol import (
    AdaptiveRunAhead,
    AdaptiveWindow,
    Commit,
    Confidence,
    DraftSide,
    Pause,
    Proposal,
)
from amusd_viz.simulate.driver import Simulation, sides, simulate
from amusd_viz.simulate.logs import Counter
from amusd_viz.simulate.statistics import Statistics, simulate_statistics
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import Table, Timing, in_target_steps
from amusd_viz.trace import Trace

MS = 1_000_000


def simulated(acceptance: float, timing: Timing, policy: str, **more: int) -> Statistics:
    settings = {"tokens": 1500, "rows": 8, "run_ahead": 16} | more
    return simulate_statistics(Iid(acceptance), timing, policy=policy, **settings)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([0.05, 0.2, 0.45, 0.9, 1.6]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.0, 0.05]),
)
def test_a_useless_draft_hardly_slows_the_target(
    ratio: float, latency: float, slope: float
) -> None:
    timing = in_target_steps(ratio, latency=latency, slope=slope)
    found = simulated(0.0, timing, "adaptive", tokens=127)
    assert found.speedup >= 0.97
    assert found.busy["draft"] < 0.5


@pytest.mark.parametrize("draft_ms", [3, 14, 27])
def test_a_useless_draft_hardly_slows_a_target_that_shares_its_memory(draft_ms: int) -> None:
    """A pass beside a working draft takes a fifth longer, so a useless one must sit out."""

    def whole_run(policy: str) -> int:
        text = text_of([False] * 128, ["a", "b", "c", "d"], coincidence=0.0)
        settings = {"lookahead": 4, "run_ahead": 16, "rows": 8}
        target, draft = sides("amusd", max_new_tokens=128, policy=policy, **settings)
        assert draft

        def cost(proposals: int) -> int:
            working = run.step is not None and run.step[1] > run.now
            return 36 * MS if working or draft.pause() is None else 30 * MS

        run = Simulation(text, Timing(draft_ms * MS, cost), target, draft, Counter())
        run.run()
        return run.now

    assert 127 * 30 * MS / whole_run("adaptive") >= 0.97
    assert 127 * 30 * MS / whole_run("eager") < 0.9


@pytest.mark.parametrize("ratio", [0.2, 0.3, 0.45, 0.9])
def test_a_perfect_draft_sets_the_pace(ratio: float) -> None:
    found = simulated(1.0, in_target_steps(ratio), "adaptive", tokens=300)
    assert found.speedup == pytest.approx(1 / ratio, rel=0.1)


@pytest.mark.parametrize(
    ("acceptance", "ratio", "latency"),
    [
        (0.3, 0.05, 0.0),
        (0.5, 0.1, 0.0),
        (0.5, 0.45, 0.0),
        (0.8, 0.05, 0.0),
        (0.8, 0.1, 0.3),
        (0.9, 0.2, 0.0),
        (0.97, 0.45, 0.0),
    ],
)
def test_it_finds_a_wait_about_as_good_as_the_best(
    acceptance: float, ratio: float, latency: float
) -> None:
    timing = in_target_steps(ratio, latency=latency)
    found = simulated(acceptance, timing, "adaptive", tokens=3000).speedup
    best = max(
        simulated(acceptance, timing, f"fixed({m})", tokens=3000).speedup for m in (0, 1, 2, 3, 5)
    )
    assert found >= 0.96 * best


def test_windows_stay_small_where_large_ones_cost_more_than_they_yield() -> None:
    """A quantised target whose passes of more than two rows take another, slow kernel."""
    cost = Table.of({1: 30 * MS, 2: 30 * MS, 3: 120 * MS, 8: 120 * MS})
    timing = Timing(draft=4 * MS, target=cost)
    found = simulated(0.8, timing, "adaptive")
    assert found.speedup > 1.4 > 1.1 > simulated(0.8, timing, "paper").speedup


def test_an_old_cost_is_looked_at_again() -> None:
    policy = AdaptiveWindow()
    for _ in range(4):
        policy.passed(proposals=2, tokens=1, start=0, end=90 * MS)
        policy.passed(proposals=0, tokens=1, start=0, end=30 * MS)
    assert policy.most() == 1, "a size not seen yet is worth a try"
    for _ in range(110):
        policy.passed(proposals=0, tokens=1, start=0, end=30 * MS)
    assert policy.most() > 2


def test_an_adaptive_run_is_a_valid_recording(tmp_path) -> None:
    agrees = agreement(Iid(0.6), 200, seed=3)
    text = text_of(agrees, ["a", "run", "of", "words"])
    trace = simulate(
        text, in_target_steps(0.2), method="amusd", max_new_tokens=200, policy="adaptive"
    )
    assert list(trace.tokens) == list(text.target)[:200]
    assert (trace.header.policy, trace.header.run_ahead) == ("adaptive", "adaptive(16)")
    assert Trace.load(trace.save(tmp_path / "run.jsonl.gz")) == trace


def test_proposals_that_had_piled_up_do_not_make_the_draft_look_fast() -> None:
    policy = AdaptiveWindow()
    for branch in range(1, 12):
        start = branch * 1000 * MS
        policy.judged(proposed=1, accepted=0)
        policy.passed(proposals=1, tokens=1, start=start, end=start + 30 * MS)
        # Two were there when the target looked; the third came a real step of 40 ms later.
        for position, at in enumerate((31.0, 31.02, 71.0)):
            proposal = Proposal(1, branch, position, 5)
            policy.arrived(proposal, at=start + round(at * MS), idle=True)
    assert policy.wait_for(()) == 0, "a step longer than a pass is not worth waiting for"


# -- the draft's side ----------------------------------------------------------------------------


def hopeless_draft() -> DraftSide:
    """A draft all of whose proposals were contradicted, at its first pause."""
    draft = DraftSide(run=1, max_new_tokens=1000, end_tokens=(), run_ahead=AdaptiveRunAhead(16))
    while draft.run_ahead.limit(draft.known):
        draft.propose(7)
        draft.hear(Commit(1, draft.known, (8,)))
    return draft


def test_a_draft_that_is_always_wrong_sits_out_and_probes_ever_more_rarely() -> None:
    draft = hopeless_draft()
    probes, pauses = 0, 0
    for _ in range(200):
        if draft.pause() is None:
            draft.propose(7)
            probes += 1
        else:
            assert draft.pause() is Pause.RUN_AHEAD_LIMIT
            pauses += 1
        draft.hear(Commit(1, draft.known, (8,)))
    assert 5 <= probes <= 12
    assert pauses > 180


def test_a_draft_that_sits_out_still_gives_the_target_what_it_waits_for() -> None:
    draft = hopeless_draft()
    assert draft.pause() is Pause.RUN_AHEAD_LIMIT
    draft.hear(Commit(1, draft.known, (8,), False, 2))
    for _ in range(2):
        assert draft.pause() is None
        draft.propose(7)
    assert draft.pause() is Pause.RUN_AHEAD_LIMIT


def test_a_draft_that_is_right_again_runs_ahead_again() -> None:
    draft = hopeless_draft()
    for _ in range(300):
        if draft.pause() is None:
            draft.propose(8)
        draft.hear(Commit(1, draft.known, (8,)))
    assert draft.run_ahead.limit(draft.known) > 8


# -- confidence ----------------------------------------------------------------------------------


def test_confidence_waits_until_the_draft_is_unsure() -> None:
    policy = Confidence(0.5)
    sure = [Proposal(1, 0, p, 5) for p in range(4)]
    assert policy.wait_for(sure) > len(sure)
    assert policy.wait_for([*sure, Proposal(1, 0, 4, 5, True)]) == 0


def test_an_imaginary_draft_is_unsure_where_it_is_wrong() -> None:
    agrees = agreement(Iid(0.7), 60, seed=1)
    text = text_of(agrees, ["one", "two", "three", "four"])
    trace = simulate(
        text, in_target_steps(0.1), method="amusd", max_new_tokens=60, policy="confidence(0.5)"
    )
    proposed = trace.of(ev.Proposed)
    assert any(p.unsure for p in proposed)
    assert all(p.unsure is (p.token != text.target[p.position]) for p in proposed)


@pytest.mark.parametrize("probability", [0.0, -0.1, 1.5, float("nan")])
def test_a_confidence_is_a_probability(probability: float) -> None:
    with pytest.raises(ValueError, match="use a probability"):
        Confidence(probability)
