"""Prompts to generate training text from: many kinds, put together from words, always the same.

Prompt ``i`` depends on ``i`` alone, so an interrupted generation goes on where it was. None of
:mod:`~amusd_viz.training.held_out` is among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from amusd_viz.training import prompt_subjects as s
from amusd_viz.training import prompt_words as w
from amusd_viz.training.held_out import forbidden


class Prompt(NamedTuple):
    """What the target is asked, and how its answer is drawn."""

    index: int
    kind: str
    text: str
    temperature: float


def prompt(index: int) -> Prompt:
    """Training prompt number ``index`` (0, 1, ...)."""
    rng = random.Random(f"amusd-viz {index}")
    kind, make = KINDS[index % len(KINDS)]
    text = make(rng)
    while text in forbidden():
        text = make(rng)
    return Prompt(index, kind, text, answer_temperature(rng))


def answer_temperature(rng: random.Random) -> float:
    """The temperature that a prompt's answer is drawn at."""
    return rng.choices(*zip(*TEMPERATURES, strict=True))[0]


def is_set_aside(index: int) -> bool:
    """Whether training leaves the answer of a prompt out, so that it can be judged by it.

    Such prompts are put together like those that are learnt from; the hand-written ones of
    :mod:`~amusd_viz.training.held_out` are unlike any of them, and harder. The target's own questions
    are all learnt from.
    """
    return index < OWN_FIRST and index % SET_ASIDE_EVERY == 0


SET_ASIDE_EVERY = 37
"""Shares no factor with the number of kinds, so that all kinds are among them."""

OWN_FIRST = 1_000_000
"""From here on numbers are of questions that the target puts (:mod:`~amusd_viz.training.own_questions`)."""

TEMPERATURES = ((0.0, 50), (0.8, 40), (1.0, 10))
"""Half of the answers are greedy: a temperature, and in how many prompts of a hundred."""


def _story(r: random.Random) -> str:
    who, what, where, mood = (r.choice(t) for t in (w.PEOPLE, w.EVENTS, w.PLACES, w.MOODS))
    return r.choice(
        (
            f"Write a {mood} story about {who} who {what}.",
            f"Tell me a story set in {where}: {who} {what}.",
            f"Begin a {mood} tale in {where} with {who}.",
            f"Invent a bedtime story in which {who} {what}.",
            f"{who.capitalize()} {what} in {where}. What happens next?",
            f"Write the first page of a {mood} novel that takes place in {where}.",
            f"Write a fable about {who} that ends with a lesson about {r.choice(w.SUBJECTS)}.",
            f"Once, in {where}, {who} {what}. Continue the story.",
        )
    )


def _subject(r: random.Random) -> str:
    return r.choice(w.SUBJECTS + s.ABOUT)


def _explanation(r: random.Random) -> str:
    subject, other, audience = _subject(r), _subject(r), r.choice(w.AUDIENCES)
    return r.choice(
        (
            f"Explain {subject} {audience}.",
            f"What do I need to know about {subject}?",
            f"Tell me something surprising about {subject}.",
            f"What is the history of {subject}?",
            f"Why do people care about {subject}?",
            f"Describe {subject} {audience}.",
            f"Give a short introduction to {subject}.",
            f"What have {subject} and {other} in common?",
            f"Compare {subject} with {other}.",
            f"What are common misconceptions about {subject}?",
            f"I am a beginner. Teach me about {subject} {audience}.",
            f"You are a {r.choice(w.ROLES)}. Talk about {subject}.",
            f"Write an encyclopedia entry about {subject}.",
            f"What would the world be like without {subject}?",
        )
    )


def _question(r: random.Random) -> str:
    idea, audience = r.choice(s.IDEAS), r.choice(w.AUDIENCES)
    return r.choice(
        (
            f"How does {r.choice(s.WORKINGS)} work?",
            f"How does {r.choice(s.WORKINGS)} work? Explain it {audience}.",
            f"Why {r.choice(s.WHYS)}?",
            f"Why {r.choice(s.WHYS)}? Give two reasons.",
            f"What is {idea}?",
            f"What is {idea}, and why does it matter?",
            f"Explain the idea of {idea} {audience}.",
            f"Give an example of {idea}.",
            f"What is the difference between {r.choice(s.DIFFERENCES)}?",
        )
    )


def _list(r: random.Random) -> str:
    number, goal = r.randint(3, 12), r.choice(w.GOALS + s.AIMS)
    category = r.choice(w.CATEGORIES + s.LISTABLE)
    return r.choice(
        (
            f"List {number} {category}.",
            f"Give me {number} {category}, each with a short remark.",
            f"Which {category} do you know?",
            f"How can I {goal}?",
            f"What are some good ways to {goal}?",
            f"Make a checklist for someone who wants to {goal}.",
            f"I want to {goal}. Where do I begin?",
            f"Write {number} tips on how to {goal}.",
            f"Make a table of {number} {category} with two columns.",
            f"Write a step-by-step plan to {goal} in {number} days.",
            f"What mistakes should I avoid when I {goal}?",
            f"Name {number} facts about {_subject(r)}.",
            f"Write an outline of an essay about {_subject(r)}.",
        )
    )


def _letter(r: random.Random) -> str:
    whom, matter, tone = r.choice(w.RECIPIENTS), r.choice(w.MATTERS), r.choice(w.TONES)
    name = r.choice(w.NAMES)
    return r.choice(
        (
            f"Write a {tone} e-mail to {whom} about {matter}.",
            f"Draft a {tone} letter to {whom} concerning {matter}. Sign it as {name}.",
            f"Write a text message to {whom} about {matter}.",
            f"Answer an e-mail from {whom} about {matter} in a {tone} way.",
            f"Write an announcement about {matter} for a notice board.",
            f"I must tell {whom} about {matter}. How can I put it?",
            f"Write a reminder to {whom}: {matter}. Keep it {tone}.",
        )
    )


def _code(r: random.Random) -> str:
    task = r.choice(w.PROGRAMMING + s.CODING)
    language, thing = r.choice(w.LANGUAGES), r.choice(w.CLASSES)
    return r.choice(
        (
            f"Write a {language} function that {task}.",
            f"Show me a {language} program that {task}.",
            f"How would you write code in {language} that {task}? Explain each line.",
            f"Write a {language} function that {task}, with comments.",
            f"Write tests for a {language} function that {task}.",
            f"Write a {language} class for {thing}.",
            f"Model {thing} in {language} and show how to use it.",
            f"Write an SQL query that {r.choice(w.QUERIES)}.",
            f"Write an HTML page about {_subject(r)}.",
            f"Write a JSON example that describes {thing}.",
        )
    )


def _edit(r: random.Random) -> str:
    passages = w.SENTENCES + s.PASSAGES
    text = r.choice(passages)
    if r.random() < 0.4:
        text += " " + r.choice(passages)
    if r.random() < 0.2:
        return f"Translate into {r.choice(w.FOREIGN)}: {text}"
    if r.random() < 0.1:
        return f'Summarise in one sentence: "{text}"'
    return f"{r.choice(w.EDITS)} {text}"


def _arithmetic(r: random.Random) -> str:
    a, b, c = r.randint(2, 99), r.randint(2, 60), r.randint(2, 12)
    name, other = r.sample(w.NAMES, 2)
    goods = r.choice(w.GOODS)
    return r.choice(
        (
            f"{name} has {a + b} {goods} and gives {b} to {other}. How many are left?",
            f"{name} buys {c} boxes with {b} {goods} each. How many {goods} is that?",
            f"Calculate {a} + {b} and explain how you did it.",
            f"What is {a} times {c}? Show your work.",
            f"A train travels {c} hours at {b + 40} kilometres an hour. How far does it go?",
            f"{name} is {b} years old and {other} is {c} years older. How old is {other}?",
            f"Share {a * c} {goods} equally among {c} children.",
            f"A shirt costs {a} dollars and is reduced by {r.choice((10, 20, 25, 50))} percent. "
            "What is the new price?",
            f"Count from {a} to {a + c * 2} in steps of 2.",
            f"What is {a * c} divided by {c}?",
            f"Write a word problem about {goods} whose answer is {a}, and solve it.",
            f"How many minutes are {c} hours and {b} minutes?",
        )
    )


def _dialogue(r: random.Random) -> str:
    speakers, subject = r.choice(w.SPEAKERS), _subject(r)
    return r.choice(
        (
            f"Write a conversation between {speakers} about {subject}.",
            f"Write a {r.choice(w.MOODS)} scene with {speakers} in {r.choice(w.PLACES)}.",
            f"{speakers.capitalize()} talk about {subject}. Write down what they say.",
            f"Write an interview with {r.choice(w.PEOPLE)} about {subject}.",
            f"Let {speakers} argue about {r.choice(w.MATTERS)}.",
            f"Hi! I am {r.choice(w.NAMES)}. I would like to {r.choice(w.GOALS + s.AIMS)}. Can you help me?",
            f"I had a long day and I keep thinking about {subject}. What do you say?",
            f"Play the part of a {r.choice(w.ROLES)} and ask me three questions about {subject}.",
        )
    )


def _creative(r: random.Random) -> str:
    subject, mood = _subject(r), r.choice(w.MOODS)
    return r.choice(
        (
            f"Write a {mood} poem about {subject}.",
            f"Write a song about {subject} with a chorus.",
            f"Write an advertisement for {r.choice(w.CATEGORIES)}.",
            f"Write a review of a book about {subject}.",
            f"Write a diary entry of {r.choice(w.PEOPLE)}.",
            f"Describe {r.choice(w.PLACES)} in the early morning.",
            f"Write a speech about {subject} for a school.",
            f"Invent a legend that explains {subject}.",
            f"Write a newspaper article: {r.choice(w.PEOPLE)} {r.choice(w.EVENTS)}.",
            f"Write a motto about {subject} and explain it.",
        )
    )


def _opinion(r: random.Random) -> str:
    subject, other, goal = _subject(r), _subject(r), r.choice(w.GOALS + s.AIMS)
    return r.choice(
        (
            f"What are the benefits and the dangers of {subject}?",
            f"Is it worth it to {goal}?",
            f"Which matters more for a town: {subject} or {other}? Give reasons.",
            f"Argue against the claim that {subject} will be forgotten in a hundred years.",
            f"What is the best advice for somebody who cannot {goal}?",
            f"Should schools teach more about {subject}?",
            f"Write a short essay on {subject}.",
            f"How will {subject} change in the next fifty years?",
            f"My friend says that {subject} are overrated. What could I answer?",
            f"Who should decide about {r.choice(w.MATTERS)} in a company, and why?",
        )
    )


KINDS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    # What is hardest to foresee is asked for twice.
    ("story", _story),
    ("explanation", _explanation),
    ("list", _list),
    ("letter", _letter),
    ("code", _code),
    ("edit", _edit),
    ("arithmetic", _arithmetic),
    ("dialogue", _dialogue),
    ("creative", _creative),
    ("opinion", _opinion),
    ("question", _question),
    ("question", _question),
    ("code", _code),
    ("list", _list),
)
