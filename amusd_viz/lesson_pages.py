"""The lessons' pages of the static site: the stepper and the quiz, without kernel or network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from amusd_viz.by_hand import ByHand, recorded_pair
from amusd_viz.export.page import PAGE_STYLE, as_data, script_policy
from amusd_viz.lessons.quiz import LETTERS, Quiz, quiz, storyboard
from amusd_viz.views.bundle import stepper_page_script, style
from amusd_viz.views.stepper import SUNLIGHT
from amusd_viz.views.stepper_graph import explore
from amusd_viz.views.stepper_view import fixed_view

TOKENS, RUN_AHEAD = 5, 4
"""Short enough that every state can be worked out, long enough for three doomed proposals."""
QUIZ_SEEDS = (1, 2, 3)
POLICIES = ("paper", "eager")

_HOME = '<nav><a href="index.html">amusd_viz</a></nav>'

_MOUNT_STEPPER = """
"use strict";
const given = JSON.parse(document.getElementById("given").textContent);
amusdViz.unpackGraph(given.graph).then((graph) =>
  amusdViz.mountStepper(document.getElementById("stepper"), given.fixed, graph),
);
"""

_MARK_QUIZ = """
"use strict";
const key = JSON.parse(document.getElementById("given").textContent).key;
document.getElementById("mark").addEventListener("click", () => {
  const questions = [...document.querySelectorAll("fieldset")];
  let right = 0;
  questions.forEach((question, i) => {
    const chosen = question.querySelector("input:checked");
    const good = chosen !== null && chosen.value === key[i];
    right += good;
    const mark = good ? "\\u2713" : "\\u2717 not yet";
    question.querySelector("output").textContent = chosen === null ? "no answer" : mark;
  });
  document.getElementById("result").textContent = `${right} of ${questions.length} right`;
});
"""

_QUIZ_STYLE = "fieldset { margin: 12px 0; } label { display: block; padding: 2px 0; }"


@dataclass(frozen=True)
class LessonPage:
    """One page: what it is called in the contents, and the document."""

    title: str
    html: str


def lesson_pages() -> dict[str, LessonPage]:
    """All of them, by the name of their file. Working out the stepper takes some seconds."""
    pages = {"stepper.html": stepper_page(TOKENS, RUN_AHEAD)}
    return pages | {f"quiz-{seed}.html": quiz_page(seed) for seed in QUIZ_SEEDS}


def stepper_page(tokens: int, run_ahead: int) -> LessonPage:
    """The stepper at the recorded “sunlight” rollback.

    Args:
        tokens: length of the output; 5 is about the most.
        run_ahead: how far the draft may run ahead.
    """
    pair = recorded_pair(start=SUNLIGHT)
    run = ByHand(pair, max_new_tokens=tokens, run_ahead=run_ahead)
    graph = json.dumps(explore(run, POLICIES).to_json(), separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(graph.encode(), mtime=0)).decode()
    horizon = pair.recording.target_ns * tokens
    fixed = fixed_view(run, (), measured=pair.recording.measured, horizon=horizon)
    body = (
        f"{_HOME}<h1>You are the scheduler</h1><p>Two models share the work. Press a button: it does one "
        "thing, on one device. Can you make the draft work on a branch that the target has already "
        "decided against? Whatever you press, the text is the same.</p>"
        '<main id="stepper"><noscript>The stepper needs JavaScript.</noscript></main>'
    )
    scripts = (stepper_page_script(), _MOUNT_STEPPER)
    title = "The stepper: schedule a draft and a target by hand"
    html = _document(title, body, {"graph": packed, "fixed": fixed}, scripts, style("stepper.css"))
    return LessonPage(title, html)


def quiz_page(seed: int) -> LessonPage:
    """A quiz that marks itself. The key stands in the page: it is for practice, not for exams."""
    made = quiz(seed)
    title = f"Quiz {seed}: what happens when, and what is the text?"
    body = (
        f"{_HOME}<h1>{escape(title)}</h1><p>A <b>simulated</b> run: what each device does, in ms. Boxes of "
        "the draft are proposals, with their position; triangles are rollbacks.</p>"
        f"{storyboard(made.trace)}{_questions(made)}"
        '<p><button type="button" id="mark">Mark my answers</button> <output id="result"></output></p>'
    )
    html = _document(title, body, {"key": made.key}, (_MARK_QUIZ,), _QUIZ_STYLE)
    return LessonPage(title, html)


def _questions(made: Quiz) -> str:
    parts = []
    for number, question in enumerate(made.questions, start=1):
        choices = "".join(
            f'<label><input type="radio" name="q{number}" value="{letter}"> {escape(choice)}</label>'
            for letter, choice in zip(LETTERS, question.choices, strict=True)
        )
        text = escape(question.text)
        parts.append(
            f"<fieldset><legend>{number}. {text}</legend>{choices}<output></output></fieldset>"
        )
    return "".join(parts)


def _document(title: str, body: str, given: object, scripts: Sequence[str], sheet: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{script_policy(scripts)}">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}</style><style>{sheet}</style></head>\n"
        f'<body>{body}<script type="application/json" id="given">{as_data(given)}</script>\n'
        f"{''.join(f'<script>{text}</script>' for text in scripts)}</body></html>\n"
    )
