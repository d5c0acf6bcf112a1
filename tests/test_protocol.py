"""Both sides of the protocol, message by message: the rules that a reader looks for by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from amusd_viz.protocol import (
    Commit,
    ConstantRunAhead,
    DraftSide,
    Dropped,
    Extra,
    Fate,
    Finish,
    Pause,
    Proposal,
    Step,
    TargetSide,
    window_policy,
)

RUN = 3
END = 99


def target_side(*, committed: Sequence[int] = (), **more) -> TargetSide:
    """A target that has committed something already."""
    settings = {"max_new_tokens": 20, "rows": 8, "policy": "eager", "run_ahead": 16} | more
    settings["policy"] = window_policy(settings["policy"])
    side = TargetSide(run=RUN, end_tokens=(END,), **settings)
    for token in committed:
        side.take_window()
        side.settle([token])
    return side


def draft_side(*tokens: int, run_ahead: int = 16, max_new_tokens: int = 20) -> DraftSide:
    """A draft that has proposed some tokens."""
    side = DraftSide(
        run=RUN,
        max_new_tokens=max_new_tokens,
        end_tokens=(END,),
        run_ahead=ConstantRunAhead(run_ahead),
    )
    for token in tokens:
        side.propose(token)
    return side


def propose(side: TargetSide, position: int, *tokens: int, branch: int = 0) -> list[Dropped]:
    dropped: list[Dropped] = []
    for offset, token in enumerate(tokens):
        dropped += side.receive(Proposal(RUN, branch, position + offset, token))
    return dropped


# -- the target ----------------------------------------------------------------------------------


def test_a_fully_accepted_window_earns_a_bonus() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2, 3)
    window = side.take_window()
    verdict = side.settle([2, 3, 4])
    assert (window.position, window.tokens) == (1, (2, 3))
    assert (verdict.accepted, verdict.tokens, verdict.extra) == (2, (2, 3, 4), Extra.BONUS)
    assert verdict.dropped == ()


def test_a_correction_kills_the_branch_the_window_behind_it_and_all_pending() -> None:
    side = target_side(committed=[1], rows=4)
    propose(side, 1, 2, 3, 4, 5)
    side.take_window()
    verdict = side.settle([2, 7])
    assert (verdict.accepted, verdict.tokens, verdict.extra) == (1, (2, 7), Extra.CORRECTION)
    assert verdict.dropped == (
        Dropped(0, 2, Fate.REJECTED),
        Dropped(0, 3, Fate.AFTER_MISMATCH),
        Dropped(0, 4, Fate.NEVER_JUDGED),
    )
    assert propose(side, 5, 6) == [Dropped(0, 5, Fate.TOO_LATE)]


def test_a_bonus_that_is_pending_already_overtakes_it() -> None:
    side = target_side(committed=[1], rows=2)
    propose(side, 1, 2, 3, 4)
    side.take_window()
    assert side.settle([2, 3]).dropped == (Dropped(0, 2, Fate.OVERTAKEN),)
    assert side.take_window().tokens == (4,)


def test_a_bonus_contradicts_the_pending_proposal_and_kills_its_branch() -> None:
    side = target_side(committed=[1], rows=2)
    propose(side, 1, 2, 3, 4)
    side.take_window()
    assert side.settle([2, 8]).dropped == (
        Dropped(0, 2, Fate.CONTRADICTED),
        Dropped(0, 3, Fate.NEVER_JUDGED),
    )


def test_a_late_equal_proposal_is_overtaken_and_a_late_other_one_is_contradicted() -> None:
    side = target_side(committed=[1, 2, 3])
    assert propose(side, 1, 2) == [Dropped(0, 1, Fate.OVERTAKEN)]
    assert propose(side, 2, 8) == [Dropped(0, 2, Fate.CONTRADICTED)]
    assert propose(side, 3, 4) == [Dropped(0, 3, Fate.TOO_LATE)]
    assert propose(side, 3, 4, branch=1) == []
    assert side.take_window().tokens == (4,)


def test_a_newer_branch_clears_what_is_pending() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2, 3)
    assert propose(side, 1, 5, branch=2) == [
        Dropped(0, 1, Fate.NEVER_JUDGED),
        Dropped(0, 2, Fate.NEVER_JUDGED),
    ]
    assert (side.branch, side.take_window().tokens) == (2, (5,))


def test_a_proposal_may_arrive_while_a_window_is_out() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2)
    side.take_window()
    assert propose(side, 2, 3, 4) == []
    assert side.settle([2, 3]).dropped == (Dropped(0, 2, Fate.OVERTAKEN),)


@pytest.mark.parametrize(
    ("proposal", "sentence"),
    [
        (Proposal(RUN, 0, 2, 5), "proposal at 2, expected 1"),
        (Proposal(RUN + 1, 0, 1, 5), "proposal of run 4 in run 3"),
    ],
)
def test_what_cannot_arrive_is_an_assertion(proposal: Proposal, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        target_side(committed=[1]).receive(proposal)


def test_an_older_living_branch_cannot_arrive() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2, branch=4)
    with pytest.raises(AssertionError, match="branch 3 arrived after branch 4"):
        propose(side, 2, 3, branch=3)


def test_verifying_nothing_is_always_allowed() -> None:
    side = target_side(committed=[1], policy="fixed(5)")
    assert side.next_step() is Step.WAIT
    side.take_window()
    assert side.settle([2]).extra is Extra.PLAIN


def test_the_prefill_takes_no_window_even_if_proposals_are_early() -> None:
    side = target_side()
    propose(side, 0, 1, 2)
    assert side.take_window().tokens == ()
    assert side.settle([1]).dropped == (Dropped(0, 0, Fate.OVERTAKEN),)
    assert side.take_window().tokens == (2,)


def test_the_window_leaves_room_for_the_targets_own_token() -> None:
    side = target_side(committed=[1], max_new_tokens=4)
    propose(side, 1, 2, 3, 4)
    assert side.take_window().tokens == (2, 3)
    verdict = side.settle([2, 3, 4])
    assert (verdict.tokens, verdict.finish) == ((2, 3, 4), Finish.LENGTH)
    assert verdict.dropped == (Dropped(0, 3, Fate.OVERTAKEN),)


def test_the_output_is_cut_at_the_first_end_token() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2, END)
    side.take_window()
    verdict = side.settle([2, END, 5])
    assert (verdict.accepted, verdict.tokens, verdict.extra) == (2, (2, END), Extra.NONE)
    assert (verdict.finish, verdict.dropped) == (Finish.END_TOKEN, ())


def test_a_cut_inside_a_window_leaves_the_rest_unfinished() -> None:
    side = target_side(committed=[1], is_stop=lambda tokens: tokens[-1] == 2)
    propose(side, 1, 2, 3, 4)
    side.take_window()
    verdict = side.settle([2, 3, 4, 5])
    assert (verdict.tokens, verdict.finish) == ((2,), Finish.STOP_CONDITION)
    assert verdict.dropped == (Dropped(0, 2, Fate.UNFINISHED), Dropped(0, 3, Fate.UNFINISHED))


def test_a_stop_request_needs_no_token_and_drops_all_that_is_there() -> None:
    side = target_side(committed=[1], rows=2)
    propose(side, 1, 2, 3)
    side.take_window()
    verdict = side.request_stop()
    assert verdict is not None
    assert verdict.commit(RUN) == Commit(RUN, 1, (), done=True)
    assert verdict.dropped == (Dropped(0, 1, Fate.UNFINISHED), Dropped(0, 2, Fate.UNFINISHED))
    assert side.next_step() is Step.DONE
    assert side.request_stop() is None
    assert propose(side, 3, 4) == [Dropped(0, 3, Fate.UNFINISHED)]


def test_a_stop_request_before_the_first_token_ends_with_nothing() -> None:
    side = target_side()
    verdict = side.request_stop()
    assert verdict is not None
    assert verdict.commit(RUN) == Commit(RUN, 0, (), done=True)
    assert side.committed == []


def test_too_few_choices_are_noticed() -> None:
    side = target_side(committed=[1])
    propose(side, 1, 2)
    side.take_window()
    with pytest.raises(AssertionError, match="only 1 choices were given"):
        side.settle([2])


def test_a_lost_draft_is_waited_for_no_more_but_what_it_sent_still_counts() -> None:
    side = target_side(committed=[1], policy="fixed(5)")
    propose(side, 1, 2)
    side.lose_draft()
    assert side.next_step() is Step.VERIFY
    assert side.take_window().tokens == (2,)


# -- the draft -----------------------------------------------------------------------------------


def test_an_agreeing_commit_lets_the_draft_carry_on() -> None:
    side = draft_side(1, 2, 3)
    assert side.hear(Commit(RUN, 0, (1, 2))) == ("carried_on", 2, (), ())
    assert (side.tokens, side.known, side.branch) == ([1, 2, 3], 2, 0)


def test_a_draft_that_is_behind_adopts_what_it_lacks_on_the_same_branch() -> None:
    side = draft_side(1)
    assert side.hear(Commit(RUN, 0, (1, 2, 3))) == ("fast_forwarded", 1, (2, 3), ())
    assert side.propose(4) == Proposal(RUN, 0, 3, 4)


def test_a_contradiction_rolls_back_to_the_first_difference_and_starts_a_branch() -> None:
    side = draft_side(1, 2, 3, 4)
    assert side.hear(Commit(RUN, 0, (1, 7))) == ("rolled_back", 1, (7,), (2, 3, 4))
    assert side.propose(8) == Proposal(RUN, 1, 2, 8)


def test_the_draft_pauses_at_its_limits() -> None:
    assert draft_side(1, 2, run_ahead=2).pause() is Pause.RUN_AHEAD_LIMIT
    assert draft_side(1, END).pause() is Pause.END_TOKEN
    assert draft_side(1, 2, max_new_tokens=2).pause() is Pause.LENGTH_LIMIT
    side = draft_side(1)
    side.hear(Commit(RUN, 0, (), done=True))
    assert side.pause() is Pause.DONE
    with pytest.raises(AssertionError, match="proposed while paused: done"):
        side.propose(2)


def test_a_wrong_end_token_is_taken_back() -> None:
    side = draft_side(1, END)
    side.hear(Commit(RUN, 0, (1, 2)))
    assert side.pause() is None


@pytest.mark.parametrize(
    ("commit", "sentence"),
    [
        (Commit(RUN + 1, 0, (1,)), "commit of run 4 in run 3"),
        (Commit(RUN, 1, (1,)), "commit at 1, knew 0"),
    ],
)
def test_a_commit_out_of_turn_is_an_assertion(commit: Commit, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        draft_side(1).hear(commit)


def test_a_silent_draft_is_not_waited_for_until_it_speaks_again() -> None:
    side = target_side(committed=[1], policy="paper")
    assert side.next_step() is Step.WAIT
    side.give_up_waiting()
    assert side.next_step() is Step.VERIFY
    assert side.take_window().tokens == ()
    side.settle([2])
    assert side.next_step() is Step.VERIFY
    propose(side, 2, 3)
    assert side.next_step() is Step.WAIT
