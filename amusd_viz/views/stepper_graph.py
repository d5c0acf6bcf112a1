"""Every state a short hand-driven run can reach, so that a page can step through it without a kernel.

The states are visited by pressing every button in every one of them; what a page shows is what the
protocol did here. Parts that many states share are stored once.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from amusd_viz.by_hand.autopilot import Score, score, scoreboard
from amusd_viz.by_hand.run import ACTIONS, ByHand
from amusd_viz.by_hand.state import State
from amusd_viz.errors import SettingError
from amusd_viz.views.stepper_view import lanes, view

MOST_STATES = 20_000
PARTS = ("buttons", "done", "draft", "target", "toTarget", "toDraft", "lanes", "scores")
"""What a state shows. The sentence, and the time wasted so far, belong to the way there."""

Edge = tuple[int, int, int]
"""The state a press leads to, the sentence about it, and the time it wasted (ns)."""


@dataclass(frozen=True)
class Graph:
    """All states and the presses between them.

    Attributes:
        parts: for each of :data:`PARTS`, its different values.
        sentences: that presses come with; the first is that of the beginning.
        states: for each state, the index of each part's value, and what each action does (``None``:
            it cannot be pressed). The first is the beginning.
    """

    parts: tuple[tuple[Any, ...], ...]
    sentences: tuple[str, ...]
    states: tuple[tuple[tuple[int, ...], tuple[Edge | None, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "names": PARTS,
            "actions": ACTIONS,
            "parts": self.parts,
            "sentences": self.sentences,
            "states": self.states,
        }


def explore(run: ByHand, policies: tuple[str, ...] = ("paper", "eager")) -> Graph:
    """Presses everything everywhere.

    Args:
        run: at its beginning; short, or there is no end of states.
        policies: for the scoreboard.

    Raises:
        SettingError: more than ``MOST_STATES`` states.
    """
    others = scoreboard(run, policies)
    start = run.state
    numbers: dict[Hashable, int] = {_key(start): 0}
    sentences = {start.sentence: 0}
    queue, store = [start], _Store()
    states: list[tuple[tuple[int, ...], tuple[Edge | None, ...]]] = []
    for state in queue:
        run.state = state
        shown = store.indices(_view(run, state, others))
        edges = tuple(_press(run, state, a, numbers, sentences, queue) for a in ACTIONS)
        states.append((shown, edges))
        if len(queue) > MOST_STATES:
            raise SettingError(
                f"a run of {run.max_new_tokens} tokens and run-ahead {run.run_ahead} has more than "
                f"{MOST_STATES} states; make it shorter"
            )
    run.state = start
    return Graph(store.values(), tuple(sentences), tuple(states))


def _press(
    run: ByHand,
    state: State,
    action: str,
    numbers: dict[Hashable, int],
    sentences: dict[str, int],
    queue: list[State],
) -> Edge | None:
    run.state = state
    if run.why_not(action):
        return None
    after = state.copied()
    run.act(action, after)
    key = _key(after)
    if key not in numbers:
        numbers[key] = len(queue)
        queue.append(after)
    sentence = sentences.setdefault(after.sentence, len(sentences))
    return numbers[key], sentence, after.wasted - state.wasted


def _view(run: ByHand, state: State, others: list[Score]) -> dict[str, Any]:
    scores = None
    if state.done:
        scores = sorted([*others, score(run, "you", state)], key=lambda s: s.duration)
    return view(run, scores)


def _key(state: State) -> Hashable:
    """What a state shows and what can follow from it."""
    draft, target = state.draft, state.target
    return (
        tuple(draft.tokens),
        (draft.known, draft.branch, state.draft_clock),
        tuple(target.committed),
        tuple(target.pending),
        (target.window, target.branch, target.dead_branch, state.target_clock, state.verifying),
        tuple(state.proposals),
        tuple(state.commits),
        frozenset(map(tuple, lanes(state))),
    )


class _Store:
    """Values of each part, each once."""

    def __init__(self) -> None:
        self._known: tuple[dict[str, int], ...] = tuple({} for _ in PARTS)

    def indices(self, shown: dict[str, Any]) -> tuple[int, ...]:
        texts = (json.dumps(shown[part], ensure_ascii=False) for part in PARTS)
        return tuple(
            known.setdefault(text, len(known))
            for known, text in zip(self._known, texts, strict=True)
        )

    def values(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(map(json.loads, known)) for known in self._known)
