"""Notebook 02: speculative decoding, the choice and its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from amusd_viz.lessons.exercise import Exercise
from amusd_viz.lessons.tasks import FunctionTask, Mistake, NumberTask
from amusd_viz.protocol import Fixed, Proposal, TargetSide
from amusd_viz.simulate import theory

Chances = Mapping[str, float]

# -- the acceptance loop -----------------------------------------------------------------------


def _judge(window: list[int], choices: list[int]) -> list[int]:
    """What the protocol itself commits."""
    target = TargetSide(
        run=1, max_new_tokens=1000, end_tokens=(), rows=100, policy=Fixed(0), run_ahead=99
    )
    target.take_window()
    target.settle([0])
    for offset, token in enumerate(window):
        target.receive(Proposal(1, 0, 1 + offset, token))
    target.take_window()
    return list(target.settle(choices).tokens)


def _agreeing_prefix(window: list[int], choices: list[int]) -> list[int]:
    return _judge(window, choices)[:-1]


def _skips_rejected(window: list[int], choices: list[int]) -> list[int]:
    return [w for w, c in zip(window, choices, strict=False) if w == c] + choices[len(window) :]


def _all_choices(window: list[int], choices: list[int]) -> list[int]:
    return list(choices)


def _no_bonus(window: list[int], choices: list[int]) -> list[int]:
    return _judge(window, choices)[: len(window)]


def _keeps_rejected(window: list[int], choices: list[int]) -> list[int]:
    committed = _judge(window, choices)
    at = len(committed) - 1
    return [*committed[:-1], window[at]] if at < len(window) else committed


# -- two distributions -------------------------------------------------------------------------


def _tokens(p: Chances, q: Chances) -> list[str]:
    return sorted(set(p) | set(q))


def _normalised(weights: Chances) -> dict[str, float]:
    total = sum(weights.values())
    return {t: w / total for t, w in weights.items() if w > 0} if total else {}


def _residual(p: Chances, q: Chances) -> dict[str, float]:
    return _normalised(_excess(p, q))


def _excess(p: Chances, q: Chances) -> dict[str, float]:
    return {t: max(0.0, p.get(t, 0.0) - q.get(t, 0.0)) for t in _tokens(p, q)}


def _distance(p: Chances, q: Chances) -> dict[str, float]:
    return _normalised({t: abs(p.get(t, 0.0) - q.get(t, 0.0)) for t in _tokens(p, q)})


def _overlap(p: Chances, q: Chances) -> float:
    return sum(min(p.get(t, 0.0), q.get(t, 0.0)) for t in _tokens(p, q))


def _same_by_chance(p: Chances, q: Chances) -> float:
    return sum(p.get(t, 0.0) * q.get(t, 0.0) for t in _tokens(p, q))


def _variation(p: Chances, q: Chances) -> float:
    return 1 - _overlap(p, q)


def _target_weight(p: Chances, q: Chances) -> float:
    return sum(p.get(t, 0.0) for t in q)


DISTRIBUTIONS = (
    ({"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.1}),
    ({"a": 0.6, "b": 0.3, "c": 0.1}, {"a": 0.2, "b": 0.7, "c": 0.1}),
    ({"a": 0.7, "b": 0.3}, {"a": 0.4, "c": 0.6}),
    ({"a": 1.0}, {"b": 0.75, "a": 0.25}),
)

# -- how far a window reaches ------------------------------------------------------------------


def _no_extra(acceptance: float, proposals: int) -> float:
    return theory.tokens_per_window(acceptance, proposals) - acceptance**proposals


def _independent(acceptance: float, proposals: int) -> float:
    return acceptance * proposals


def _independent_and_one(acceptance: float, proposals: int) -> float:
    return acceptance * proposals + 1


def _accepted_only(acceptance: float, proposals: int) -> float:
    return theory.tokens_per_window(acceptance, proposals) - 1


EXERCISES = (
    Exercise(
        name="judge",
        notebook=2,
        difficulty=2,
        minutes=8,
        task=FunctionTask(
            name="judge",
            cases=(
                ([1, 2, 3], [1, 2, 3, 4]),
                ([1, 2, 7, 4], [1, 2, 3, 4, 5]),
                ([7, 2, 3], [1, 2, 3, 4]),
                ([5], [5, 6]),
                ([], [8]),
                ([4, 4, 9], [4, 4, 4, 4]),
            ),
            right=_judge,
            mistakes=(
                Mistake(
                    _agreeing_prefix,
                    "you commit the accepted proposals only. The target's own next choice comes out of "
                    "the same pass: the correction, or after a fully accepted window the bonus.",
                ),
                Mistake(
                    _no_bonus,
                    "after a fully accepted window there is one choice more than the window has "
                    "proposals: the bonus.",
                ),
                Mistake(
                    _skips_rejected,
                    "you go on behind the rejected proposal. What stands there was built on a token "
                    "that is not in the text: the choices behind it answer another question.",
                ),
                Mistake(
                    _all_choices,
                    "you commit every choice. A choice behind the first mismatch was made after a token "
                    "that is not in the text.",
                ),
                Mistake(
                    _keeps_rejected,
                    "at the first mismatch you commit the proposal. The target has the last word.",
                ),
            ),
        ),
        praise="this is the acceptance rule of the engine, for greedy decoding and for sampling.",
        hints=(
            "Walk along both lists at once. What happens where they differ for the first time?",
            "Whatever happens, at least one token is committed: choices has one more than window.",
        ),
    ),
    Exercise(
        name="rejected_window",
        notebook=2,
        difficulty=1,
        minutes=2,
        task=NumberTask(
            right=1,
            mistakes={
                0: "“a rejected window yields nothing”: but the pass has computed what the target would "
                "write there. Does it throw that away?",
                4: "4 is the size of the window: those are dead. What does the target itself know after "
                "the pass?",
                3: "three died behind the first, yes. How many tokens does the text gain?",
                5: "5 is what a fully accepted window of 4 gives.",
            },
            otherwise="what does the target commit where the first proposal is wrong?",
            tolerance=0,
        ),
        praise="one: the correction. The worst window is as good as a plain step.",
        hints=("What did `judge([7, 2, 3], [1, 2, 3, 4])` give?",),
    ),
    Exercise(
        name="acceptance",
        notebook=2,
        difficulty=3,
        minutes=6,
        task=FunctionTask(
            name="acceptance",
            cases=DISTRIBUTIONS,
            right=_overlap,
            mistakes=(
                Mistake(
                    _same_by_chance,
                    "that is how often two *independent* draws are equal. The proposal is kept with "
                    "probability min(1, p/q): sum q times that.",
                ),
                Mistake(
                    _variation, "that is the share that is rejected (the total variation distance)."
                ),
                Mistake(
                    _target_weight,
                    "that is how much of the target's weight lies on tokens the draft may propose. The "
                    "draft may still propose them too often or too rarely.",
                ),
            ),
        ),
        praise="the overlap of the two distributions. No method accepts more often.",
        hints=(
            "A token t is proposed with probability q(t) and then kept with probability min(1, p(t)/q(t)).",
            "q(t) · min(1, p(t)/q(t)) is the smaller of two numbers. Which?",
        ),
    ),
    Exercise(
        name="residual",
        notebook=2,
        difficulty=4,
        minutes=10,
        task=FunctionTask(
            name="residual",
            cases=DISTRIBUTIONS,
            right=_residual,
            mistakes=(
                Mistake(
                    lambda p, q: dict(p),
                    "drawing from p again makes the tokens that were mostly kept too frequent: they have "
                    "had their share already.",
                ),
                Mistake(
                    _excess,
                    "right weights, but they do not add up to 1: divide by their sum.",
                ),
                Mistake(
                    _distance,
                    "where the draft proposes a token *too often* nothing is missing: only p - q above 0 "
                    "counts.",
                ),
                Mistake(
                    lambda p, q: _residual(q, p),
                    "the other way round: what is missing is what the *target* wants more often than "
                    "the draft proposes it.",
                ),
            ),
        ),
        praise="what acceptance has not covered, and nothing else: together they are p exactly.",
        hints=(
            "Kept proposals contribute min(p, q) to the output. What is missing to make it p?",
            "The missing weights have to become a distribution: they must add up to 1.",
        ),
    ),
    Exercise(
        name="tokens_per_window",
        notebook=2,
        difficulty=3,
        minutes=8,
        task=FunctionTask(
            name="tokens_per_window",
            cases=((0.8, 4), (0.5, 1), (0.9, 7), (0.0, 3), (0.25, 2)),
            right=theory.tokens_per_window,
            mistakes=(
                Mistake(
                    _independent,
                    "acceptance × proposals counts proposals behind a mismatch too, and leaves out the "
                    "target's own token.",
                ),
                Mistake(
                    _independent_and_one,
                    "proposals behind a mismatch die whatever they are: the second counts only if the "
                    "first was accepted, and so on.",
                ),
                Mistake(
                    _accepted_only,
                    "those are the accepted proposals. The target's own token comes on top, always.",
                ),
                Mistake(
                    _no_extra,
                    "after a fully accepted window there is a bonus: one term is missing.",
                ),
            ),
        ),
        praise="1 + a + a² + … + aᵏ: each proposal counts only if all before it were accepted.",
        hints=(
            "With which probability is the first proposal accepted? The first two? All k?",
            "The expected number of accepted ones is the sum of those probabilities. And one more token.",
        ),
    ),
)
