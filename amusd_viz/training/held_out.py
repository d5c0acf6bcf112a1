"""Prompts that no draft is trained on: what a draft is judged by, eight of each kind."""

from __future__ import annotations

import re
from functools import cache

from amusd_viz.models.agreement import PROMPTS
from amusd_viz.simulate.held_out import HELD_OUT_PROMPTS
from amusd_viz.simulate.probe import PROMPTS as PROBE_PROMPTS

HELD_OUT: dict[str, tuple[str, ...]] = {
    "story": (
        "Write a story about a puppet maker whose puppets walk at midnight.",
        "Tell a tale of a girl who collects thunder in jars.",
        "Write a short science-fiction story about the last bookshop on Mars.",
        "A chimney sweep hears singing from a chimney. Tell what happened.",
        "Write about a blind cartographer and the city she drew.",
        "Make up a story in which a snowman writes a complaint.",
        "Tell the story of a baker's cat that solved a theft.",
        "Write a story that begins with the words: The lift stopped between two floors.",
    ),
    "explanation": (
        "How do noise-cancelling headphones work?",
        "Why does ice float on water?",
        "What is the difference between a lake and a lagoon?",
        "Explain how a sundial shows the time.",
        "How does a bill become a law?",
        "Why do onions make us cry?",
        "What is a black market, and why does it exist?",
        "Explain the idea of opportunity cost.",
    ),
    "list": (
        "Give seven ideas for a rainy afternoon with children.",
        "List the tools needed to change a tyre.",
        "What should be in a first-aid kit?",
        "Name six painters of the seventeenth century and one work of each.",
        "Which steps are needed to publish a scientific paper?",
        "List five idioms about food and what they mean.",
        "Suggest names for a sailing club.",
        "Make a shopping list for a vegetarian lasagne.",
    ),
    "letter": (
        "Write an e-mail to the electricity company about a meter that was read wrongly.",
        "Write a letter of resignation that thanks the whole department.",
        "Write a note to the neighbours: our dog will be alone tomorrow and may bark.",
        "Write a letter to my future self in ten years.",
        "Decline an invitation to speak at a conference, politely.",
        "Write a postcard from a lighthouse.",
        "Ask the caretaker by e-mail to replace a lamp in the stairwell.",
        "Write a condolence message to a colleague.",
    ),
    "code": (
        "Write a Python function that returns the longest common prefix of a list of words.",
        "Write a JavaScript function that debounces another function.",
        "Write a Python generator that yields the lines of a file in pairs.",
        "Write a C function that swaps two integers through pointers.",
        "Write a regular expression that matches a date such as 2024-03-15, and explain it.",
        "Write a Python decorator that retries a function three times.",
        "Write an SQL query that finds duplicate rows in a table of users.",
        "Write a Python class for a binary search tree with insert and contains.",
    ),
    "edit": (
        "Correct the spelling: Definately, we recieved you're adress on wendesday.",
        "Make this sentence active: The window was broken by the ball.",
        "Shorten to ten words: The meeting that had been planned for Tuesday afternoon cannot take "
        "place because the manager is ill, and we do not know when it will be held.",
        "Replace every name by 'someone': Anna met Paul, and Paul introduced her to Maria.",
        "Rewrite for a child: The municipal authorities have prohibited the feeding of waterfowl.",
        "Put into alphabetical order: pear, fig, lemon, apricot, cherry, banana.",
        "Add punctuation: although it was late nobody wanted to leave the band kept playing",
        "Change 'I' to 'we' everywhere: I think I know where I left my boots.",
    ),
    "arithmetic": (
        "A tank holds 240 litres and loses 15 litres a day. After how many days is it empty?",
        "What is 25 percent of 360? Explain.",
        "Three pipes fill a pool in 6, 8 and 12 hours. How long do they take together?",
        "Add 148 and 377 step by step.",
        "A rectangle is 14 metres long and 9 metres wide. What are its area and its perimeter?",
        "If 5 pens cost 8 dollars, what do 20 pens cost?",
        "Subtract 68 from 205.",
        "The sum of two consecutive numbers is 71. Which numbers are they?",
    ),
    "dialogue": (
        "Write a dialogue between a river and a stone.",
        "Write a telephone call in which a plumber explains a delay.",
        "Two robots discuss whether they can dream. Write what they say.",
        "Write an interview with a woman who repairs church organs.",
        "Write a conversation between a bus driver and a passenger without a ticket.",
        "A mother and her son talk about a broken vase. Write the dialogue.",
        "Write a debate between Summer and Autumn.",
        "Hello! I feel nervous about my first day in a new school. Any advice?",
    ),
}
"""Kind by kind. None of them, and no near copy, is among the training prompts."""


def held_out_texts() -> list[str]:
    """All of them; their places are their numbers."""
    return [text for of_kind in HELD_OUT.values() for text in of_kind]


@cache
def forbidden() -> frozenset[str]:
    """Every prompt that is measured somewhere and must stay out of training."""
    return frozenset((*held_out_texts(), *PROMPTS, *HELD_OUT_PROMPTS, *PROBE_PROMPTS))


NEAR = 0.6
"""Share of all words of two prompts that both have, from which on they count as copies."""


def is_near_measured(text: str) -> bool:
    """Whether a prompt is one that is measured somewhere, or has most of its words."""
    words = _words(text)
    return any(len(words & of) >= NEAR * len(words | of) for of in _measured_words())


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


@cache
def _measured_words() -> tuple[frozenset[str], ...]:
    return tuple(_words(text) for text in forbidden())
