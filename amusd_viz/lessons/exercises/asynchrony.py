"""Notebook 03: what both sides know, and when."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.lessons.exercise import Exercise
from amusd_viz.lessons.faulty import FAULT, faulty_run
from amusd_viz.lessons.tasks import FunctionTask, Mistake, NumberTask
from amusd_viz.lessons.toy import toy
from amusd_viz.metrics import USEFUL_FATES
from amusd_viz.protocol import Commit, ConstantRunAhead, DraftSide
from amusd_viz.protocol.messages import Fate
from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.scenery import SENTENCE
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import Constant, Timing
from amusd_viz.trace import Trace

# -- the rollback rule -------------------------------------------------------------------------


def _hear(believed: list[int], position: int, committed: list[int]) -> list[int]:
    """What the protocol's draft believes afterwards."""
    side = DraftSide(run=1, max_new_tokens=1000, end_tokens=(), run_ahead=ConstantRunAhead(999))
    side.tokens, side.known = list(believed), position
    side.hear(Commit(1, position, tuple(committed)))
    return side.tokens


def _cuts_always(believed: list[int], position: int, committed: list[int]) -> list[int]:
    return [*believed[:position], *committed]


def _keeps_tail(believed: list[int], position: int, committed: list[int]) -> list[int]:
    return [*believed[:position], *committed, *believed[position + len(committed) :]]


def _appends(believed: list[int], position: int, committed: list[int]) -> list[int]:
    return [*believed, *committed]


def _only_cuts(believed: list[int], position: int, committed: list[int]) -> list[int]:
    for offset, token in enumerate(committed):
        at = position + offset
        if at < len(believed) and believed[at] != token:
            return believed[:at]
    return list(believed)


# -- useful and doomed -------------------------------------------------------------------------


def _runs() -> tuple[tuple[Trace], ...]:
    text = text_of(agreement(Iid(0.7), 40, seed=5), SENTENCE, seed=5)
    timing = Timing(14_000_000, Constant(34_000_000))
    return ((toy(),), (simulate(text, timing, max_new_tokens=30, policy="eager"),))


def _split(trace: Trace, useful: frozenset[Fate]) -> list[float]:
    times = [0.0, 0.0]
    for step in trace.of(ev.Proposed):
        times[trace.fates[step.branch, step.position] not in useful] += (
            step.end - step.start
        ) / 1e6
    return times


def _useful_and_doomed(trace: Trace) -> list[float]:
    return _split(trace, USEFUL_FATES)


def _accepted_only(trace: Trace) -> list[float]:
    return _split(trace, frozenset({Fate.ACCEPTED}))


def _only_rejected_doomed(trace: Trace) -> list[float]:
    return _split(trace, frozenset(Fate) - {Fate.REJECTED})


def _all_useful(trace: Trace) -> list[float]:
    return _split(trace, frozenset(Fate))


def _never_judged_useful(trace: Trace) -> list[float]:
    dead = {Fate.REJECTED, Fate.AFTER_MISMATCH, Fate.CONTRADICTED}
    return _split(trace, frozenset(Fate) - dead)


EXERCISES = (
    Exercise(
        name="bubble",
        notebook=3,
        difficulty=2,
        minutes=4,
        task=NumberTask(
            right=38,
            mistakes={
                0: "“nobody waits”: but after a rejection every pending proposal is dead. What would the "
                "target verify?",
                28: "two draft steps, yes. But the draft is in the middle of a step that it has to finish "
                "before it reads its mail.",
                24: "the rest of the step and one more: the target waits for two.",
                14: "one step: the target waits for two proposals, and the draft is in the middle of "
                "another step.",
                42: "three whole steps; of the first 4 ms had passed already when the verdict fell.",
                34: "34 ms is a target pass; here the target waits for the draft.",
            },
            otherwise="first the rest of the draft's present step, then two whole ones.",
            tolerance=0.005,
        ),
        praise="10 + 14 + 14: a bubble. Asynchrony makes waiting rare, it does not abolish it.",
        hints=(
            "What is in the target's mailbox that is worth judging, just after a rejection?",
            "The draft hears between two steps only, and then starts from nothing.",
        ),
    ),
    Exercise(
        name="roll_back",
        notebook=3,
        difficulty=3,
        minutes=10,
        task=FunctionTask(
            name="roll_back",
            cases=(
                ([1, 2, 3, 4, 5], 2, [3, 4]),
                ([1, 2, 7, 4, 5], 2, [3]),
                ([1, 2, 3, 9, 5, 6], 2, [3, 4]),
                ([1, 2], 2, [3, 4]),
                ([1, 2, 3], 2, [3, 4]),
                ([1, 8, 3, 4], 1, [2]),
            ),
            right=_hear,
            mistakes=(
                Mistake(
                    _cuts_always,
                    "what the draft believes *behind* an agreeing commit is not contradicted: it carries "
                    "on there. You throw it away.",
                ),
                Mistake(
                    _keeps_tail,
                    "you put the right token in, and keep what was built on the wrong one. Even a tail "
                    "that looks right has been computed after another token.",
                ),
                Mistake(_appends, "a commit says what stands at its position; it is not appended."),
                Mistake(
                    _only_cuts,
                    "cutting is half of it: the draft also adopts what was committed, where it has "
                    "nothing or something else.",
                ),
            ),
        ),
        praise="carry on, fast-forward and roll back, in one rule. It is the draft of this package.",
        hints=(
            "Three cases: all equal; the draft is shorter; a first difference.",
            "Compare position by position. Only a difference kills anything, and it kills all behind it.",
        ),
    ),
    Exercise(
        name="useful_and_doomed",
        notebook=3,
        difficulty=3,
        minutes=10,
        task=FunctionTask(
            name="useful_and_doomed",
            cases=_runs(),
            right=_useful_and_doomed,
            mistakes=(
                Mistake(
                    _accepted_only,
                    "“overtaken” proposals are in the text too: the target was only faster. Count them as "
                    "useful.",
                ),
                Mistake(
                    _only_rejected_doomed,
                    "only one proposal of a branch is *rejected*, but all behind it die with it: after "
                    "the mismatch, never judged, too late.",
                ),
                Mistake(_all_useful, "a busy device is not a useful device: look at the fates."),
                Mistake(
                    _never_judged_useful,
                    "“never judged” and “too late” are deaths as well: nothing of it is in the text.",
                ),
                Mistake(
                    lambda trace: _useful_and_doomed(trace)[::-1],
                    "the right numbers the wrong way round: useful first.",
                ),
            ),
            shown=lambda trace: f"a run of {len(trace.tokens)} tokens",
        ),
        praise="busy is not useful; this is the figure that the charts hatch.",
        hints=(
            "trace.fates[step.branch, step.position] says what became of a proposal.",
            "Two fates mean that the token stands in the text: accepted and overtaken.",
        ),
    ),
    Exercise(
        name="find_the_fault",
        notebook=3,
        difficulty=4,
        minutes=10,
        task=NumberTask(
            right=FAULT,
            mistakes={
                number: hint
                for numbers, hint in (
                    (
                        faulty_run().rejections,
                        "there the target rejects a proposal and puts its own token: that is its right.",
                    ),
                    (
                        faulty_run().rollbacks,
                        "a rollback to the first difference, after the commit arrived: all in order. "
                        "Follow the branch that died with it.",
                    ),
                    (
                        faulty_run().innocent,
                        "this proposal was drafted on a dead branch, and that is nobody's fault: the "
                        "draft had not heard. What may not happen to it is another matter.",
                    ),
                )
                for number in numbers
            },
            otherwise="for every verification ask: of which branch are the proposals it judges, and was "
            "that branch alive?",
            tolerance=0,
        ),
        praise="a proposal of a dead branch was judged. It looked right, and so nobody would have noticed "
        "from the text; the draft and the target no longer speak of the same thing.",
        hints=(
            "Go through the events and keep the number of the newest dead branch on a piece of paper.",
            "A correction kills its branch. From then on no window may hold a proposal of it.",
        ),
    ),
)
