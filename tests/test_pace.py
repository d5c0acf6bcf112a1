"""A draft that pays runs free; one that does not takes turns, or rests."""

from __future__ import annotations

from itertools import groupby
from statistics import median

import pytest

from amusd_viz import events as ev
from amusd_viz.protocol import Commit, ConstantRunAhead, DraftSide, Pause, WindowPolicy
from amusd_viz.protocol.pace import FIRST_STAY, LOOK, TRIAL, Pace, PaceChoice
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
CATCHING_UP = 0.65
"""What a step takes longer, as a share, that reads an adopted token before its own."""
TOKENS = 128


def run(
    acceptance: float,
    step_ms: float,
    seed: int,
    earlier: WindowPolicy | None = None,
    rows_ms: tuple[float, ...] = ROWS_MS,
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
        """Longer while the draft works: all the time, or, in turns, for what is left of its steps."""
        alone, left = MS * rows_ms[proposals], 0.0
        if run.step is not None and run.step[1] > run.now:
            left = run.step[1] - run.now
        if draft.resting:
            ahead = len(draft.tokens) - draft.known + bool(left)
            left += MS * step_ms * max(0, draft.awaited + bool(draft.awaited) - ahead)
        elif draft.pause() is None:
            left = alone
        return round(alone + (BESIDE - 1) * min(left, alone))

    timing = Timing(round(step_ms * MS), cost, catching_up=round(CATCHING_UP * step_ms * MS))
    run = Simulation(text, timing, target, draft, Counter())
    run.run()
    return (TOKENS - 1) * rows_ms[0] * MS / run.now, target.policy


def synchronous(
    acceptance: float, step_ms: float, seed: int, lookahead: int, rows_ms: tuple[float, ...]
) -> float:
    """How many times as fast as the target alone a simulated run by turns is."""
    agrees = agreement(Iid(acceptance), TOKENS + 1, seed=100 * seed)
    text = text_of(agrees, ["a", "b", "c", "d"], coincidence=0.0)
    timing = Timing(
        round(step_ms * MS),
        lambda proposals: round(MS * rows_ms[proposals]),
        catching_up=round(CATCHING_UP * step_ms * MS),
    )
    trace = simulate(text, timing, method="synchronous", lookahead=lookahead, max_new_tokens=TOKENS)
    return (TOKENS - 1) * rows_ms[0] * MS / trace.duration


def speeds(acceptance: float, step_ms: float, rows_ms: tuple[float, ...] = ROWS_MS) -> list[float]:
    """Of the second to fourth run of nine sessions."""
    found = []
    for session in range(9):
        policy = None
        for number in range(4):
            speed, policy = run(acceptance, step_ms, 100 * session + number, policy, rows_ms)
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


def paces(
    count: int, *, tokens: int, ns: int, alone: int, turns: float | None = None, own: bool = False
) -> list[Pace]:
    """The pace after each of some passes.

    Args:
        count: passes.
        tokens, ns: what a pass yields and takes while the draft runs free.
        alone: what a pass without a draft takes (ns).
        turns: tokens per ns of taking turns, as expected and as they turn out.
        own: every window holds proposals of the target's own side.
    """
    choice, seen, clock = PaceChoice(), [], 0
    for _ in range(count):
        gained, took = {
            Pace.FREE: (tokens, ns),
            Pace.TURNS: (1, round(1 / (turns or 1))),
            Pace.ALONE: (1, alone),
        }[choice.now]
        proposals = int(own or choice.now is not Pace.ALONE)
        choice.passed(
            proposals=proposals, tokens=gained, since=clock, start=clock, end=clock + took
        )
        choice.choose(beside=100, turns=turns)
        clock += took
        seen.append(choice.now)
    return seen


def test_a_draft_that_clearly_pays_is_never_interrupted() -> None:
    assert set(paces(200, tokens=2, ns=110, alone=80)) == {Pace.FREE}


def test_where_it_is_doubtful_the_target_is_measured_alone_once() -> None:
    seen = paces(300, tokens=2, ns=150, alone=80)
    assert seen.index(Pace.ALONE) == TRIAL - 1
    assert seen.count(Pace.ALONE) == LOOK
    assert set(seen[TRIAL + LOOK :]) == {Pace.FREE}


def test_a_draft_that_loses_rests_longer_after_every_trial() -> None:
    runs = [
        (pace, len(list(run))) for pace, run in groupby(paces(1200, tokens=2, ns=190, alone=80))
    ]
    rests = [length for pace, length in runs if pace is Pace.ALONE]
    assert rests[:3] == [FIRST_STAY, 2 * FIRST_STAY, 4 * FIRST_STAY]
    assert all(length <= TRIAL for pace, length in runs if pace is Pace.FREE)


def test_turns_are_taken_where_they_yield_most() -> None:
    seen = paces(60, tokens=2, ns=150, alone=80, turns=1 / 60)
    assert seen[-1] is Pace.TURNS


def test_passes_with_proposals_of_the_targets_own_side_do_not_count_as_alone() -> None:
    seen = paces(100, tokens=1, ns=100, alone=100, own=True)
    assert seen.count(Pace.ALONE) == LOOK, "nothing to compare with was found"
    assert seen[-1] is Pace.FREE


@pytest.mark.parametrize("acceptance", [0.3, 0.5, 0.7])
def test_where_rows_are_cheap_a_weak_draft_takes_turns(acceptance: float) -> None:
    """Nearly as fast as synchronous decoding with the best lookahead, which knows it from the start."""
    cheap = (34.8, 35.3, 41.5, 42.8, 42.5, 48.1, 58.0, 68.8)
    best = max(
        median(synchronous(acceptance, 8.2, seed, lookahead, cheap) for seed in range(9))
        for lookahead in (1, 2, 3)
    )
    assert median(speeds(acceptance, 8.2, cheap)) >= 0.92 * best


def test_a_draft_told_to_rest_proposes_nothing_until_it_is_told_otherwise() -> None:
    draft = DraftSide(run=1, max_new_tokens=9, end_tokens=(), run_ahead=ConstantRunAhead(4))
    draft.propose(5)
    draft.hear(Commit(1, 0, (5,), rest=True))
    assert draft.pause() is Pause.RESTING
    assert draft.hear(Commit(1, 1, (6,), rest=True)).kind == "fast_forwarded"
    draft.hear(Commit(1, 2, (7,), awaited=1, rest=True))
    assert draft.pause() is None, "what is awaited may be proposed"
    draft.propose(8)
    assert draft.pause() is None, "one more reads it while it is judged"
    draft.propose(9)
    assert draft.pause() is Pause.RESTING
    draft.hear(Commit(1, 3, (8,)))
    assert draft.pause() is None


def test_a_rest_is_recorded_as_what_it_is(tmp_path) -> None:
    text = text_of(agreement(Iid(0.2), 200, seed=3), ["a", "run", "of", "words"])
    trace = simulate(text, in_target_steps(0.8, slope=0.2), max_new_tokens=200, policy="adaptive")
    rests = [wait for wait in trace.of(ev.Waited) if wait.reason is ev.Wait.RESTING]
    assert rests
    assert all(wait.side is ev.Side.DRAFT for wait in rests)
    assert Trace.load(trace.save(tmp_path / "run.jsonl")).check() == trace
