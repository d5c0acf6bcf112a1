"""Drafting is given up where it does not pay, and tried again."""

from __future__ import annotations

from amusd_viz.protocol.payoff import FIRST_PAUSE, LONGEST_PAUSE, LOOK_AGAIN, TRIAL, Payoff


def share_drafted(tokens: float, cost: int, passes: int = 2000) -> float:
    """Of the passes, where drafting gives ``tokens`` a round at ``cost`` against 1 at 100."""
    payoff, drafted, owed = Payoff(), 0, 0.0
    for _ in range(passes):
        if payoff.worth_drafting():
            owed += tokens
            gained, owed = int(owed), owed - int(owed)
            payoff.passed(tokens=gained, ns=cost, proposals=4)
            drafted += 1
        else:
            payoff.passed(tokens=1, ns=100, proposals=0)
    return drafted / passes


def test_what_pays_is_kept() -> None:
    assert share_drafted(2.0, 120) > 0.99
    assert share_drafted(1.5, 120) > 0.99


def test_what_does_not_pay_is_only_tried_now_and_then() -> None:
    assert share_drafted(1.05, 130) < 0.1
    assert share_drafted(1.0, 101) < 0.1


def test_it_begins_with_drafting_and_compares_with_a_plain_step() -> None:
    payoff = Payoff()
    for _ in range(TRIAL):
        assert payoff.worth_drafting()
        payoff.passed(tokens=2, ns=120, proposals=4)
    assert not payoff.worth_drafting()
    payoff.passed(tokens=1, ns=100, proposals=0)
    assert payoff.worth_drafting()


def test_more_rounds_may_be_asked_for() -> None:
    payoff, modes = Payoff(trial=5, look=3), []
    for _ in range(16):
        modes.append(payoff.worth_drafting())
        payoff.passed(tokens=2, ns=100, proposals=int(modes[-1]))
    assert modes == [True] * 5 + [False] * 3 + [True] * 8


def test_pauses_grow_and_end() -> None:
    payoff, pauses, pause = Payoff(), [], 0
    while len(pauses) < 8:
        if payoff.worth_drafting():
            pauses += [pause] if pause else []
            pause = 0
            payoff.passed(tokens=1, ns=150, proposals=4)
        else:
            pause += 1
            payoff.passed(tokens=1, ns=100, proposals=0)
    assert pauses[:4] == [1, FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_a_text_that_becomes_easier_is_noticed() -> None:
    payoff = Payoff()
    for number in range(3000):
        drafts = payoff.worth_drafting()
        easy = number > 1000
        tokens = (3 if easy else 1) if drafts else 1
        payoff.passed(tokens=tokens, ns=120 if drafts else 100, proposals=4 * drafts)
    assert payoff.worth_drafting()


def test_a_look_that_met_a_hiccup_is_not_believed_for_ever() -> None:
    payoff, seen = Payoff(), []
    for _ in range(2 * LOOK_AGAIN):
        drafts = payoff.worth_drafting()
        plain_ns = 100 if False in seen else 1000
        payoff.passed(tokens=1, ns=150 if drafts else plain_ns, proposals=4 * drafts)
        seen.append(drafts)
    assert all(seen[TRIAL + 1 : LOOK_AGAIN])
    assert sum(seen[-LOOK_AGAIN // 2 :]) < LOOK_AGAIN // 4
