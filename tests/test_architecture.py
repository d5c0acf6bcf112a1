"""Which room may import which: the arrows of the design, read from the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "amusd_viz"

VOCABULARY = {"errors", "protocol"}
READING = VOCABULARY | {"events", "invariants", "trace", "progress", "metrics", "words", "source"}
DRIVING = READING | {"stamp"}

MAY_IMPORT = {
    "errors": set(),
    "protocol": set(),
    "events": VOCABULARY,
    "invariants": VOCABULARY | {"events"},
    # Exports are methods of a trace; they are imported when called.
    "trace": VOCABULARY | {"events", "invariants", "trace_file", "export"},
    "trace_file": VOCABULARY | {"events", "invariants"},
    "metrics": READING,
    "stamp": READING,
    "simulate": DRIVING,
    "views": DRIVING | {"simulate", "extras", "paths", "export"},
    "export": DRIVING | {"simulate", "extras", "paths", "views", "site"},
    "lessons": DRIVING | {"simulate", "extras", "paths", "export", "views"},
    "models": READING | {"paths", "machine", "extras"},
    "engine": DRIVING | {"models", "machine", "extras", "paths"},
    "training": DRIVING | {"models", "engine", "machine", "extras", "paths"},
}
"""Rooms of ours that each room may import, besides itself."""

HEAVY = {"torch", "transformers", "tokenizers", "safetensors", "gguf", "accelerate"}
WITH_HEAVY = {"models", "engine", "training", "bench"}
"""The only rooms in which the packages of the extra ``[engine]`` may be imported."""


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[str]:
    """Full names of the modules a file imports when it runs, at its top or later."""
    todo: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno} has a relative import"
            # "from amusd_viz import events" names a room, not a value.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names if node.module == "amusd_viz" else [node.module or ""]
        todo += ast.iter_child_nodes(node)


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_the_design_lets_it(room):
    allowed = MAY_IMPORT[room] | {room}
    for file in FILES:
        if room_of(file) == room:
            used = {name.split(".")[1] for name in imports(file) if name.startswith("amusd_viz.")}
            assert used <= allowed, f"{file.relative_to(PACKAGE)} imports {used - allowed}"


def test_only_the_engines_rooms_import_its_packages():
    for file in FILES:
        if room_of(file) not in WITH_HEAVY:
            used = {name.partition(".")[0] for name in imports(file)} & HEAVY
            assert not used, f"{file.relative_to(PACKAGE)} imports {used}"


def test_the_protocol_needs_the_standard_library_alone():
    for file in FILES:
        if room_of(file) == "protocol":
            outside = {
                name.partition(".")[0]
                for name in imports(file)
                if not name.startswith("amusd_viz.")
            } - set(sys.stdlib_module_names)
            assert not outside, f"{file.name} imports {outside}"
