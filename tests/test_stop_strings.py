"""Stop strings on committed tokens, and what may be shown of a text that may still become one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amusd_viz.stop_strings import StopStrings, surely_shown, until_stop

texts = st.text("abc\n", max_size=40)
stop_lists = st.lists(st.text("abc\n", min_size=1, max_size=5), max_size=3)


@given(texts, stop_lists)
def test_an_output_stops_at_its_first_stop_string(text: str, stops: list[str]) -> None:
    """A token is a character here, so the shortest stopped prefix is easily found."""
    stop = StopStrings(stops, "".join)
    length = next((n for n in range(1, len(text) + 1) if stop(list(text[:n]))), None)
    ends = [at + len(s) for s in stops if (at := text.find(s)) >= 0]
    assert length == (min(ends) if ends else None)


@given(texts, stop_lists)
def test_what_is_shown_never_has_to_be_taken_back(text: str, stops: list[str]) -> None:
    """As the tokens come, one character each here, until the first stop string is complete."""
    ends = [at + len(stop) for stop in stops if (at := text.find(stop)) >= 0]
    text = text[: min(ends, default=len(text))]
    final = until_stop(text, stops)
    shown = ""
    for length in range(len(text) + 1):
        now = surely_shown(text[:length], stops)
        assert now.startswith(shown)
        assert final.startswith(now)
        shown = now
    assert not any(stop in final for stop in stops)


def test_only_what_may_be_the_start_of_a_stop_string_is_held_back() -> None:
    assert surely_shown("one two\n", ["\n\n"]) == "one two"
    assert surely_shown("one two\nx", ["\n\n"]) == "one two\nx"
    assert surely_shown("one</s", ["</stop>", "<x>"]) == "one"


def test_without_stop_strings_nothing_stops_and_all_is_shown() -> None:
    assert not StopStrings((), "".join)(["a", "b"])
    assert until_stop("abc", ()) == surely_shown("abc", ()) == "abc"
