"""Joins the JavaScript modules of the theater into one script: small, deterministic, no npm.

The modules use only ``import { a, b } from "./x.js"`` and ``export`` before a declaration, so that
joining them in order of dependency gives the same program, provided no two modules declare the same
top-level name (checked here).
"""

from __future__ import annotations

import base64
import gzip
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

_COMMENT_LINE = re.compile(r"^\s*//.*\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)

_PACKED = """\
const packed = "{packed}";
const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const module = new Blob([await new Response(plain).text()], {{ type: "text/javascript" }});
export default (await import(URL.createObjectURL(module))).default;
"""


@cache
def widget_script(entry: str = "widget.js") -> str:
    """The ES module of a notebook widget; its default export is an anywidget definition.

    Packed, because every widget instance sends its script through the kernel's connection.
    """
    data = gzip.compress(join(entry).encode(), mtime=0)
    return _PACKED.format(packed=base64.b64encode(data).decode())


@cache
def page_script() -> str:
    """A plain script for pages without a notebook: defines ``globalThis.amusdViz``.

    It has ``Theater(element, traces, options)``, ``renderSvg(traces, view)`` and
    ``readTrace(text)``, where traces are the contents of trace files.
    """
    return _as_global("theater.js", "svg.js", names=("Theater", "renderSvg", "readTrace"))


@cache
def stepper_page_script() -> str:
    """A plain script for a page with a stepper: ``globalThis.amusdViz`` has ``mountStepper``."""
    return _as_global("stepper_page.js", names=("mountStepper", "unpackGraph"))


@cache
def drawing_script() -> str:
    """As :func:`page_script` without anything that needs a document: for an embedded JS engine."""
    return _as_global("svg.js", names=("renderSvg", "readTrace"))


@cache
def style(*more: str) -> str:
    """The style sheet of the theater, and of a widget that shows more than one."""
    sheets = ("theater.css", *more)
    return "".join((JS / sheet).read_text(encoding="utf-8") for sheet in sheets)


def join(*entries: str) -> str:
    """The entry modules and everything they import as one script, each module once."""
    order: list[str] = []
    for entry in entries:
        _visit(entry, order)
    sources = {name: (JS / name).read_text(encoding="utf-8") for name in order}
    _refuse_same_names(sources)
    return "".join(_without_wrapping(source) for source in sources.values())


def _as_global(*entries: str, names: Iterable[str]) -> str:
    face = f"globalThis.amusdViz = {{ {', '.join(names)} }};"
    return f'(() => {{\n"use strict";\n{join(*entries)}{face}\n}})();\n'


def _visit(name: str, order: list[str]) -> None:
    if name in order:
        return
    for needed in _IMPORT.findall((JS / name).read_text(encoding="utf-8")):
        _visit(needed, order)
    order.append(name)


def _without_wrapping(source: str) -> str:
    bare = _COMMENT_LINE.sub("", _EXPORT.sub("", _IMPORT.sub("", source)))
    return _INDENT.sub("", bare).replace("\n\n", "\n")


def _refuse_same_names(sources: dict[str, str]) -> None:
    owner: dict[str, str] = {}
    for module, source in sources.items():
        for name in _TOP_LEVEL.findall(source):
            if name in owner:
                raise ValueError(f"{module} and {owner[name]} both declare {name}; rename one")
            owner[name] = module
