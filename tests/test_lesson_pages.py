"""The site's stepper is the protocol's: every state was visited, and the page says what it said."""

from __future__ import annotations

import random

import pytest
from hand_pair import MadeUpPair

from amusd_viz.by_hand import ByHand, recorded_pair
from amusd_viz.by_hand.run import ACTIONS
from amusd_viz.errors import SettingError
from amusd_viz.lesson_pages import quiz_page, stepper_page
from amusd_viz.lessons.quiz import quiz
from amusd_viz.views import stepper_graph
from amusd_viz.views.stepper_graph import PARTS, explore
from amusd_viz.views.stepper_view import view


def small_run() -> ByHand:
    return ByHand(recorded_pair(start=90), max_new_tokens=4, run_ahead=3)


@pytest.fixture(scope="module")
def graph():
    return explore(small_run())


@pytest.mark.parametrize("seed", range(20))
def test_a_walk_over_the_graph_shows_what_the_run_shows(graph, seed):
    source, run, state, wasted = random.Random(seed), small_run(), 0, 0
    while True:
        shown = dict(zip(PARTS, graph.states[state][0], strict=True))
        now = view(run)
        for name, index in shown.items():
            part = graph.parts[PARTS.index(name)][index]
            if name == "lanes":
                assert sorted(map(tuple, part)) == sorted(map(tuple, now[name]))
            elif name != "scores":
                assert part == now[name]
        assert now["wasted"] == wasted
        edges = dict(zip(ACTIONS, graph.states[state][1], strict=True))
        assert [a for a in ACTIONS if edges[a] is None] == [a for a in ACTIONS if run.why_not(a)]
        possible = [a for a in ACTIONS if edges[a]]
        if not possible:
            break
        action = source.choice(possible)
        run.press(action)
        state, sentence, more = edges[action]
        assert graph.sentences[sentence] == run.state.sentence
        wasted += more


def test_every_end_of_the_graph_has_the_targets_own_text(graph):
    texts = {word.text for word in recorded_pair(start=90).recording.target[90:94]}
    done, target, scores = (PARTS.index(name) for name in ("done", "target", "scores"))
    ends = [state for state, edges in graph.states if not any(edges)]
    assert len(ends) > 10
    for state in ends:
        assert graph.parts[done][state[done]]
        chips = graph.parts[target][state[target]]["chips"]
        assert {chip[1] for chip in chips} == texts
        assert [s[0] for s in graph.parts[scores][state[scores]]].count("you") == 1


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr(stepper_graph, "MOST_STATES", 50)
    with pytest.raises(SettingError, match="more than 50 states"):
        explore(ByHand(MadeUpPair(), max_new_tokens=6))


def test_pages_are_one_file_that_fetches_nothing():
    for page in (stepper_page(3, 2), quiz_page(2)):
        assert page.title in page.html
        assert "default-src 'none'" in page.html
        assert "http://" not in page.html.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in page.html


def test_the_quiz_page_has_every_question():
    made = quiz(2)
    html = quiz_page(2).html
    assert html.count("<fieldset>") == len(made.questions)
    assert html.count('type="radio"') == 4 * len(made.questions)
