"""Questions about a simulated run, with a key computed from it: a new exam for every seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.lessons import progress
from amusd_viz.metrics import USEFUL_FATES
from amusd_viz.protocol.messages import Fate
from amusd_viz.protocol.target import Extra
from amusd_viz.simulate.checks import whole
from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.scenery import SENTENCE
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.timing import Constant, Timing
from amusd_viz.trace import Trace
from amusd_viz.views.tables import Table

MS = 1_000_000
TOKENS = 14
LETTERS = "abcd"
LANE_WIDTH = 900


@dataclass(frozen=True)
class Question:
    """One question: ``choices[right]`` is the answer."""

    text: str
    choices: tuple[str, ...]
    right: int


@dataclass(frozen=True, repr=False)
class Quiz:
    """A simulated run and questions about it.

    Attributes:
        seed: the same seed gives the same quiz.
        trace: the run: show it in a theater, or as a storyboard.
        questions: about this run.
    """

    seed: int
    trace: Trace
    questions: tuple[Question, ...]

    def __repr__(self) -> str:
        lines = [f"Quiz {self.seed}, on a simulated run of {len(self.trace.tokens)} tokens"]
        for number, question in enumerate(self.questions, start=1):
            lines.append(f"{number}. {question.text}")
            choices = zip(LETTERS, question.choices, strict=False)
            lines += [f"   {letter}) {choice}" for letter, choice in choices]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{escape(q.text)}<ol type='a'>"
            + "".join(f"<li>{escape(choice)}</li>" for choice in q.choices)
            + "</ol></li>"
            for q in self.questions
        )
        return f"{storyboard(self.trace)}<ol>{items}</ol>"

    @property
    def key(self) -> str:
        """The right letters, in order."""
        return "".join(LETTERS[question.right] for question in self.questions)

    def answer(self, letters: str) -> Table:
        """Marks answers such as ``"abdca"``.

        Raises:
            SettingError: not as many letters as questions, or others than a to d.
        """
        letters = letters.replace(" ", "").lower()
        if len(letters) != len(self.questions) or set(letters) - set(LETTERS):
            raise SettingError(
                f"{letters!r:.40} is no answer: give {len(self.questions)} letters from a to d"
            )
        marks = [given == right for given, right in zip(letters, self.key, strict=True)]
        progress.note_check(f"quiz {self.seed}", right=all(marks))
        rows = tuple(
            (str(n), letter, "✓" if right else "✗")
            for n, (letter, right) in enumerate(zip(letters, marks, strict=True), start=1)
        )
        return Table(("question", "you", ""), rows, (f"{sum(marks)} of {len(marks)} right.",))


def quiz(seed: int = 1) -> Quiz:
    """Makes a quiz. Its run has at least one rollback by a rejection.

    Raises:
        SettingError: the seed is no whole number from 0 on.
    """
    whole("seed", seed, 0, 10**6)
    source = random.Random(seed)
    timing = Timing(source.choice((11, 14, 17)) * MS, Constant(source.choice((34, 41)) * MS))
    for attempt in range(1000):
        text = text_of(
            agreement(Iid(0.75), TOKENS, seed=1000 * seed + attempt), SENTENCE, seed=seed
        )
        trace = simulate(text, timing, max_new_tokens=TOKENS, run_ahead=6)
        if _is_instructive(trace):
            break
    makers = (
        _committed_when,
        _what_fate,
        _where_back,
        _how_many_doomed,
        _what_waits,
        _text_if_gone,
    )
    return Quiz(seed, trace, tuple(make(trace, source) for make in makers))


def _is_instructive(trace: Trace) -> bool:
    fates = set(trace.fates.values())
    late = fates & {Fate.NEVER_JUDGED, Fate.TOO_LATE}
    return Fate.REJECTED in fates and bool(late) and len(trace.of(ev.RolledBack)) <= 4


# -- questions -------------------------------------------------------------------------------


def _committed_when(trace: Trace, source: random.Random) -> Question:
    verdicts = trace.of(ev.Verified)[1:-1]
    verdict = source.choice(verdicts)
    count = verdict.position + len(verdict.committed)
    return _numbers(
        f"The verification that ends at {_ms(verdict.end)} judged {verdict.proposals} proposals and "
        f"accepted {verdict.accepted}. How many tokens are committed then (the first one counts)?",
        count,
        (verdict.position + verdict.accepted, verdict.position + verdict.proposals, count + 1),
        source,
    )


def _what_fate(trace: Trace, source: random.Random) -> Question:
    rejected = [key for key, fate in trace.fates.items() if fate is Fate.REJECTED]
    branch, position = source.choice(rejected)[:2]
    end = next(
        v.end
        for v in trace.of(ev.Verified)
        if v.extra is Extra.CORRECTION
        and v.branch == branch
        and v.position + v.accepted == position
    )
    return _shuffled(
        f"At {_ms(end)} the target rejects the proposal for position {position}. What becomes of the "
        "proposals of the same branch behind it?",
        "all of them die, also those that equal the final text",
        (
            "those that equal the final text are kept",
            "they are judged by the next verification",
            "the draft decides when it hears of it",
        ),
        source,
    )


def _where_back(trace: Trace, source: random.Random) -> Question:
    rollback = source.choice(trace.of(ev.RolledBack))
    return _numbers(
        f"At {_ms(rollback.t)} the draft rolls back; it believed {rollback.length} tokens. "
        f"{len(rollback.discarded)} of them are discarded. At which position does it now hold another "
        "token than before?",
        rollback.position,
        (rollback.length, rollback.position - 1, rollback.position + len(rollback.adopted)),
        source,
    )


def _how_many_doomed(trace: Trace, source: random.Random) -> Question:
    doomed = sum(fate not in USEFUL_FATES for fate in trace.fates.values())
    rejected = sum(fate is Fate.REJECTED for fate in trace.fates.values())
    return _numbers(
        f"The draft made {len(trace.fates)} proposals; {len(trace.fates) - doomed} of them stand in the "
        "text. How many of its steps came to nothing?",
        doomed,
        (rejected, len(trace.fates), len(trace.fates) - doomed),
        source,
    )


def _what_waits(trace: Trace, source: random.Random) -> Question:
    correction = next(v for v in trace.of(ev.Verified) if v.extra is Extra.CORRECTION)
    return _shuffled(
        f"At {_ms(correction.end)} a proposal has just been rejected, and the draft is in the middle of a "
        "step. What happens next?",
        "the draft finishes its step, reads the commit and rolls back; the target waits for it",
        (
            "the draft stops at once; nobody waits",
            "the target rejects the draft's next proposal in a pass of its own",
            "committed text is taken back to the rejected position",
        ),
        source,
    )


def _text_if_gone(trace: Trace, source: random.Random) -> Question:
    return _shuffled(
        "Had the draft been killed halfway, what would the text be?",
        "the same text, later",
        ("another text from there on", "cut off there", "the same text, sooner"),
        source,
    )


def _numbers(text: str, right: int, wrong: Sequence[int], source: random.Random) -> Question:
    others = [n for n in dict.fromkeys(wrong) if n != right and n >= 0]
    step = 1
    while len(others) < 3:
        others += [n for n in (right + step, right - step) if n >= 0 and n not in others]
        step += 1
    return _shuffled(text, str(right), [str(n) for n in others[:3]], source)


def _shuffled(text: str, right: str, wrong: Sequence[str], source: random.Random) -> Question:
    choices = [right, *wrong]
    source.shuffle(choices)
    return Question(text, tuple(choices), choices.index(right))


def _ms(ns: int) -> str:
    return f"{ns / MS:.0f} ms"


# -- the picture -----------------------------------------------------------------------------


def storyboard(trace: Trace) -> str:
    """Both lanes of a run as an SVG that reads in black and white, without any verdict's outcome."""
    span = max(trace.duration, 1)
    left, row, gap = 56, 30, 8

    def x(ns: int) -> float:
        return left + (LANE_WIDTH - left - 10) * ns / span

    parts = [
        f'<text x="0" y="{20 + i * (row + gap)}" font-weight="700">{side}</text>'
        for i, side in enumerate(("draft", "target"))
    ]
    for event in trace.events:
        if isinstance(event, ev.Proposed) and event.end <= span:
            parts.append(_box(x(event.start), x(event.end), 0, row, str(event.position)))
        elif isinstance(event, ev.Verified) and event.end > event.start:
            label = f"judges {event.proposals}"
            parts.append(_box(x(event.start), x(event.end), row + gap, row, label))
        elif isinstance(event, ev.RolledBack):
            parts.append(
                f'<path d="M{x(event.t):.1f} {row + 2} l-5 8 h10 z"><title>rolls back</title></path>'
            )
    ticks = range(0, round(span / MS) + 1, 50)
    base = 2 * row + gap + 18
    parts += [
        f'<text x="{x(t * MS):.1f}" y="{base}" text-anchor="middle">{t}</text>' for t in ticks
    ]
    return (
        f'<svg viewBox="0 0 {LANE_WIDTH} {base + 6}" width="100%" role="img" aria-label="two lanes of a '
        'simulated run, in ms" font-family="sans-serif" font-size="11" fill="currentColor" '
        f'stroke-width="1.2">{"".join(parts)}</svg>'
    )


def _box(left: float, right: float, top: float, height: float, label: str) -> str:
    width = max(1.0, right - left - 1)
    return (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" rx="3" fill="none" '
        f'stroke="currentColor"/>'
        f'<text x="{left + width / 2:.1f}" y="{top + height / 2 + 4}" text-anchor="middle">'
        f"{escape(label)}</text>"
    )
