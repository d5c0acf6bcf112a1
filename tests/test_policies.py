"""Window and run-ahead policies by name, and the settings that the two sides refuse."""

from __future__ import annotations

import pytest

from amusd_viz.protocol import (
    ConstantRunAhead,
    DraftSide,
    Fixed,
    Pause,
    Proposal,
    Step,
    TakeTurns,
    TargetSide,
    window_policy,
)
from amusd_viz.protocol.policies import NO_LIMIT


@pytest.mark.parametrize(
    ("name", "waits", "shown"),
    [
        ("paper", 2, "paper"),
        ("eager", 0, "eager"),
        ("fixed(0)", 0, "fixed(0)"),
        ("fixed(3)", 3, "fixed(3)"),
        ("  fixed( 12 ) ", 12, "fixed(12)"),
        ("fixed(999999)", 999999, "fixed(999999)"),
        ("confidence(0.5)", NO_LIMIT, "confidence(0.5)"),
        (" confidence( .25 )", NO_LIMIT, "confidence(0.25)"),
        ("confidence(1)", NO_LIMIT, "confidence(1)"),
        ("adaptive", 0, "adaptive"),
    ],
)
def test_a_window_policy_has_a_name(name: str, waits: int, shown: str) -> None:
    policy = window_policy(name)
    assert (policy.wait_for(()), policy.name) == (waits, shown)
    assert window_policy(policy.name).name == policy.name, "its name makes it again"


NO_POLICIES: list[object] = ["", "papers", "paper(2)", "eager()", "fixed", "fixed()", "fixed(-1)"]
NO_POLICIES += ["fixed(1.5)", "fixed(x)", "fixed(1", "fixed 1", "fixed(1)(2)", "fixed(1000000)"]
NO_POLICIES += ["confidence", "confidence()", "confidence(2)", "confidence(1.0.0)", "adaptive(1)"]
NO_POLICIES += ["FIXED(1)", "paper\x00", "paper\neager", f"fixed({'9' * 100_000})", "(" * 10_000]
NO_POLICIES += [None, 3]


@pytest.mark.parametrize("name", NO_POLICIES)
def test_an_unknown_window_policy_is_refused_with_the_names_that_exist(name: object) -> None:
    with pytest.raises(
        ValueError, match=r"unknown window policy.*paper.*eager.*fixed\(3\)"
    ) as error:
        window_policy(name)  # type: ignore[arg-type]
    assert len(str(error.value)) < 300


def test_every_run_gets_its_own_policy() -> None:
    assert window_policy("paper") is not window_policy("paper")


def test_a_target_cannot_wait_for_less_than_nothing() -> None:
    with pytest.raises(ValueError, match="-1 proposals"):
        Fixed(-1)


@pytest.mark.parametrize("policy", [ConstantRunAhead, TakeTurns])
@pytest.mark.parametrize("tokens", [0, -3])
def test_a_draft_needs_room_to_run(policy: type, tokens: int) -> None:
    with pytest.raises(ValueError, match=f"run-ahead of {tokens} tokens"):
        policy(tokens)


def draft_side(ahead: ConstantRunAhead, *, max_new_tokens: int = 10) -> DraftSide:
    return DraftSide(run=1, max_new_tokens=max_new_tokens, end_tokens=(99,), run_ahead=ahead)


def target_side(policy: str = "paper", *, max_new_tokens: int = 10, **more: int) -> TargetSide:
    settings = {"rows": 8, "run_ahead": 16} | more
    return TargetSide(
        run=1,
        max_new_tokens=max_new_tokens,
        end_tokens=(99,),
        policy=window_policy(policy),
        **settings,
    )


def test_a_free_draft_starts_at_once_and_one_that_takes_turns_waits_for_the_first_commit() -> None:
    assert draft_side(ConstantRunAhead(4)).pause() is None
    assert draft_side(TakeTurns(4)).pause() is Pause.FIRST_COMMIT


def test_the_first_token_waits_for_nobody() -> None:
    assert target_side("fixed(5)").next_step() is Step.VERIFY


@pytest.mark.parametrize(
    ("policy", "settings", "waits"),
    [
        ("fixed(9)", {"rows": 8, "run_ahead": 16, "max_new_tokens": 100}, 7),
        ("fixed(9)", {"rows": 64, "run_ahead": 3, "max_new_tokens": 100}, 3),
        ("fixed(9)", {"rows": 64, "run_ahead": 16, "max_new_tokens": 6}, 4),
        ("fixed(9)", {"rows": 1, "run_ahead": 16, "max_new_tokens": 100}, 0),
        ("fixed(9)", {"rows": 64, "run_ahead": 16, "max_new_tokens": 100}, 9),
        ("eager", {"rows": 64, "run_ahead": 16, "max_new_tokens": 100}, 0),
    ],
)
def test_a_wait_is_clipped_to_what_can_still_come(
    policy: str, settings: dict[str, int], waits: int
) -> None:
    side = target_side(policy, **settings)
    side.take_window()
    side.settle([5])
    assert side.waits_for() == waits


def test_a_pending_end_token_ends_the_wait() -> None:
    side = target_side("fixed(3)")
    side.take_window()
    side.settle([5])
    side.receive(Proposal(1, 0, 0, 5))
    side.receive(Proposal(1, 0, 1, 99))
    assert side.next_step() is Step.VERIFY


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [({"max_new_tokens": 0}, "run of 0 tokens"), ({"rows": 0}, "pass over 0 rows")],
)
def test_a_target_that_could_never_commit_is_refused(
    settings: dict[str, int], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        target_side(**settings)


def test_a_draft_that_could_never_propose_is_refused() -> None:
    with pytest.raises(ValueError, match="run of -1 tokens"):
        draft_side(ConstantRunAhead(1), max_new_tokens=-1)
