"""A draft that does not pay is sent to rest, and one that does is not."""

from __future__ import annotations

from statistics import median

import pytest

from amusd_viz import events as ev
from amusd_viz.protocol import Commit, ConstantRunAhead, DraftSide, Pause, WindowPolicy
from amusd_viz.protocol.resting import FIRST_REST, LOOK, TRIAL, Resting
from amusd_viz.simulate.driver import Simulation, sides, simulate
from amusd_viz.simulate.logs import Counter
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import Timing, in_target_steps
from amusd_viz.trace import Trace

MS = 1_000_000
ROWS_MS = (17.3, 21.2, 27.7, 34.5, 41.7, 46.8, 57.0, 67.6)
"""A pass of a target alone, by the proposals it judges: two cores that share their memory, bf16."""
BESIDE = 1.25
"""How much longer it takes beside a working draft."""
TOKENS = 128


def run(
    acceptance: float, step_ms: float, seed: int, earlier: WindowPolicy | None = None
) -> tuple[float, WindowPolicy]:
    """How many times as fast as the target alone a simulated run is, and its policy."""
    agrees = agreement(Iid(acceptance), TOKENS + 1, seed=seed)
    text = text_of(agrees, ["a", "b", "c", "d"], coincidence=0.0)
    target, draft = sides(
        "amusd", max_new_tokens=TOKENS, policy="adaptive", lookahead=4, run_ahead=16, rows=8
    )
    assert draft
    if earlier:
        target.policy.learn_from(earlier)

    def cost(proposals: int) -> int:
        working = run.step is not None and run.step[1] > run.now
        slow = BESIDE if working or draft.pause() is None else 1
        return round(MS * slow * ROWS_MS[proposals])

    run = Simulation(text, Timing(round(step_ms * MS), cost), target, draft, Counter())
    run.run()
    return (TOKENS - 1) * ROWS_MS[0] * MS / run.now, target.policy


def speeds(acceptance: float, step_ms: float) -> list[float]:
    """Of the second to fourth run of three sessions."""
    found = []
    for session in range(3):
        policy = None
        for number in range(4):
            speed, policy = run(acceptance, step_ms, 100 * session + number, policy)
            if number:
                found.append(speed)
    return found


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.6, 0.7])
def test_a_weak_draft_that_slows_the_target_ends_up_resting(acceptance: float) -> None:
    assert median(speeds(acceptance, 8.2)) >= 0.97


def test_a_good_draft_is_not_sent_to_rest() -> None:
    assert median(speeds(0.96, 10.3)) > 1.2


def test_what_one_run_measured_serves_the_next() -> None:
    first, policy = run(0.3, 8.2, seed=1)
    second, _ = run(0.3, 8.2, seed=2, earlier=policy)
    assert first < second


def passes(resting: Resting, count: int, *, tokens: int, ns: int, alone: int) -> list[bool]:
    """Lets some passes go by; whether the draft was to rest after each."""
    seen, clock = [], 0
    for _ in range(count):
        proposals, took, gained = (0, alone, 1) if resting.now else (1, ns, tokens)
        resting.passed(
            proposals=proposals,
            tokens=gained,
            since=clock,
            start=clock,
            end=clock + took,
            beside=100,
        )
        clock += took
        seen.append(resting.now)
    return seen


def test_a_draft_that_clearly_pays_is_never_interrupted() -> None:
    assert not any(passes(Resting(), 200, tokens=2, ns=110, alone=80))


def test_where_it_is_doubtful_the_target_is_measured_alone_once() -> None:
    seen = passes(Resting(), 300, tokens=2, ns=150, alone=80)
    assert seen.index(True) == TRIAL - 1
    assert sum(seen) == LOOK


def test_a_draft_that_loses_rests_longer_after_every_trial() -> None:
    seen = passes(Resting(), 800, tokens=2, ns=190, alone=80)
    rests = "".join("r" if now else "d" for now in seen).replace("dr", "d r").split()
    lengths = [rest.count("r") for rest in rests if "r" in rest]
    assert lengths[:3] == [LOOK + FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST]


def test_passes_with_proposals_of_the_targets_own_side_do_not_count_as_alone() -> None:
    resting, clock = Resting(), 0
    seen = []
    for _ in range(100):
        resting.passed(proposals=2, tokens=1, since=clock, start=clock, end=clock + 100, beside=100)
        clock += 100
        seen.append(resting.now)
    assert sum(seen) == LOOK, "nothing to compare with was found, so it is not tried again"


def test_a_draft_told_to_rest_proposes_nothing_until_it_is_told_otherwise() -> None:
    draft = DraftSide(run=1, max_new_tokens=9, end_tokens=(), run_ahead=ConstantRunAhead(4))
    draft.propose(5)
    draft.hear(Commit(1, 0, (5,), rest=True))
    assert draft.pause() is Pause.RESTING
    assert draft.hear(Commit(1, 1, (6,), rest=True)).kind == "fast_forwarded"
    draft.hear(Commit(1, 2, (7,)))
    assert draft.pause() is None


def test_a_rest_is_recorded_as_what_it_is(tmp_path) -> None:
    text = text_of(agreement(Iid(0.2), 200, seed=3), ["a", "run", "of", "words"])
    trace = simulate(text, in_target_steps(0.8, slope=0.2), max_new_tokens=200, policy="adaptive")
    rests = [wait for wait in trace.of(ev.Waited) if wait.reason is ev.Wait.RESTING]
    assert rests
    assert all(wait.side is ev.Side.DRAFT for wait in rests)
    assert Trace.load(trace.save(tmp_path / "run.jsonl")).check() == trace
