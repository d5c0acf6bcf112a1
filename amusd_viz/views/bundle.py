"""Joins the JavaScript modules of the theater into one script: small, deterministic, no npm.

The modules use only ``import { a, b } from "./x.js"`` and ``export`` before a declaration, so that
joining them in order of dependency gives the same program, provided no two modules declare the same
top-level name (checked here).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

JS = Path(__file__).with_name("js")

_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:class|function|const|let|async)\b)", re.MULTILINE)
_TOP_LEVEL = re.compile(
    r"^(?:export )?(?:async )?(?:class|function|const|let)\s+([A-Za-z_$][\w$]*)", re.MULTILINE
)

_COMMENT = re.compile(r"^\s*//.*\n| +//[^\n\"'`]*$", re.MULTILINE)
_OPAQUE = re.compile(
    r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"|(?<=[(,=:!&|?{;])\s*/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
)
"""What must stay as it is: strings, templates (never nested, in our modules), regular expressions."""
_AROUND = re.compile(r"[ \t]*([{}()\[\];,=<>*?:&|!])[ \t]*")
_JOINED = re.compile(r"([{(\[,;=&|?:<>])\n+|\n+(?=[})\].?:&|])")


@cache
def widget_script() -> str:
    """The ES module of the notebook widget; its default export is an anywidget definition."""
    return join("widget.js")


@cache
def page_script() -> str:
    """A plain script for pages without a notebook: defines ``globalThis.amusdViz``.

    It has ``Theater(element, traces, options)``, ``renderSvg(traces, view)`` and ``readTrace(text)``,
    where traces are the contents of trace files.
    """
    return _as_global("theater.js", "svg.js", names=("Theater", "renderSvg", "readTrace"))


@cache
def drawing_script() -> str:
    """As :func:`page_script` without anything that needs a document: for an embedded JS engine."""
    return _as_global("svg.js", names=("renderSvg", "readTrace"))


@cache
def style() -> str:
    """The style sheet of the theater."""
    return (JS / "theater.css").read_text(encoding="utf-8")


def join(*entries: str) -> str:
    """The entry modules and everything they import as one script, each module once."""
    order: list[str] = []
    for entry in entries:
        _visit(entry, order)
    sources = {name: (JS / name).read_text(encoding="utf-8") for name in order}
    _refuse_same_names(sources)
    return "".join(_without_wrapping(source) for source in sources.values())


def _as_global(*entries: str, names: Iterable[str]) -> str:
    return f'(() => {{\n"use strict";\n{join(*entries)}globalThis.amusdViz = {{ {", ".join(names)} }};\n}})();\n'


def _visit(name: str, order: list[str]) -> None:
    if name in order:
        return
    for needed in _IMPORT.findall((JS / name).read_text(encoding="utf-8")):
        _visit(needed, order)
    order.append(name)


def _without_wrapping(source: str) -> str:
    return _squeezed(_COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", source))))


def _squeezed(source: str) -> str:
    """The same program with less white space."""
    kept = _OPAQUE.findall(source)
    code = [_squeeze_code(part) for part in _OPAQUE.split(source)]
    joined = [piece for pair in zip(code, [*kept, ""], strict=True) for piece in pair]
    return "".join(joined).strip() + "\n"


def _squeeze_code(code: str) -> str:
    lines = re.sub(r"\n\s*", "\n", code)
    return _JOINED.sub(lambda m: m[1] or "", _AROUND.sub(r"\1", lines))


def _refuse_same_names(sources: dict[str, str]) -> None:
    owner: dict[str, str] = {}
    for module, source in sources.items():
        for name in _TOP_LEVEL.findall(source):
            if name in owner:
                raise ValueError(f"{module} and {owner[name]} both declare {name}; rename one")
            owner[name] = module
