"""What followed the last tokens before: the longest earlier occurrence, the latest of equal ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amusd_viz.protocol import look_up
from amusd_viz.protocol.prompt_lookup import LEAST, MOST

texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def test_a_text_that_was_there_before_goes_on_as_it_did() -> None:
    said = [5, 1, 2, 3, 8, 9, 4, 1, 2, 3]
    assert look_up(said, 2) == (8, 9)


def test_no_more_is_proposed_than_agreed() -> None:
    assert look_up([5, 1, 2, 3, 8, 9, 4, 1, 2, 3], 7) == (8, 9, 4)
    assert look_up([5, 1, 2, 3, 8, 9, 4, 2, 3], 7) == (8, 9)


def test_the_longest_occurrence_counts_and_then_the_latest() -> None:
    assert look_up([7, 1, 2, 10, 9, 1, 2, 11, 7, 1, 2], 1) == (10,)
    assert look_up([1, 2, 10, 1, 2, 11, 1, 2], 1) == (11,)


def test_a_text_in_a_circle_goes_round_again() -> None:
    assert look_up([4, *[1, 2, 3] * 3, 1, 2], 7) == (3, 1, 2, 3, 1, 2, 3)
    assert look_up([6, 6, 6, 6], 3) == (6, 6, 6)


def test_a_single_token_says_nothing() -> None:
    assert LEAST == 2
    assert look_up([1, 5, 2, 1], 3) == ()
    assert look_up([1], 3) == ()


@given(said=texts, most=st.integers(1, 9))
def test_nothing_longer_or_later_was_overlooked(said: list[int], most: int) -> None:
    def agree(place: int) -> int:
        """How many tokens up to ``place`` are those before the end."""
        same = 0
        while same <= place and same < MOST and said[place - same] == said[-1 - same]:
            same += 1
        return same

    found = look_up(said, most)
    best = max(range(len(said) - 1), key=lambda place: (agree(place), place), default=None)
    if best is None or agree(best) < LEAST:
        assert found == ()
        return
    gone_on = list(said)
    for step in range(min(most, agree(best))):
        gone_on.append(gone_on[best + 1 + step])
    assert list(found) == gone_on[len(said) :]
