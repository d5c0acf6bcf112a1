"""Where imports lead to (the arrows between the rooms, followed), and how light the viewer is."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import amusd_viz
from amusd_viz.trace import Trace

PACKAGE = Path(amusd_viz.__file__).parent

HEAVY = {
    "torch",
    "transformers",
    "accelerate",
    "gguf",
    "safetensors",
    "tokenizers",
    "numpy",
    "psutil",
}
"""What only the extra ``engine`` installs."""
ENGINE_ROOMS = {"engine", "models", "training", "bench"}

LIGHT_ROOMS = {
    *("errors", "protocol", "events", "invariants", "trace_file", "trace", "source", "stamp"),
    *("simulate", "by_hand", "views", "export", "lessons", "metrics", "words", "progress", "site"),
}
"""Never lead to the engine, its models or its libraries, not even by an import inside a function."""

ENGINE_ON_CALL = {
    "",
    "cli",
    "cli_bench",
    "cli_equality",
    "cli_simulate",
    "comparison",
    "decode_report",
    "doctor",
    "lab",
    "live",
}
"""The public face and the command line: they import the engine inside functions only."""


class Import(NamedTuple):
    module: str
    """Who imports: its dotted name inside the package, ``""`` for the package itself."""
    name: str
    """What is imported, with its full dotted name."""
    line: int
    at_once: bool
    """When its module is imported, rather than when a function is called or types are checked."""


@cache
def imports() -> tuple[Import, ...]:
    """Every import statement of the package."""
    found: list[Import] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        later = set(_later(tree))
        for node in ast.walk(tree):
            for name in _names(node):
                found.append(Import(module, name, node.lineno, node not in later))
    return tuple(found)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports hide where a name comes from"
        # ``from amusd_viz import events`` names the module in the alias.
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _later(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that do not run when the module is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ast.walk(node)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from ast.walk(child)


def room(name: str) -> str | None:
    """The room of ours a dotted name belongs to; ``None`` if it is not ours."""
    parts = name.split(".")
    if parts[0] != "amusd_viz":
        return None
    return parts[1] if len(parts) > 1 else ""


def text(found: Import) -> str:
    return f"amusd_viz/{found.module.replace('.', '/')}, line {found.line}, imports {found.name}"


def room_of(found: Import) -> str:
    return found.module.split(".")[0]


def test_the_imports_of_the_package_are_seen() -> None:
    assert {room_of(found) for found in imports()} >= LIGHT_ROOMS - {"errors"}
    assert any(not found.at_once for found in imports())


def test_the_light_rooms_lead_nowhere_heavy() -> None:
    """Through any number of imports, those inside functions included."""
    reached = set(LIGHT_ROOMS)
    while True:
        # The package's own face is entered by name only; what it offers on call is its own matter.
        more = {
            theirs
            for found in imports()
            if room_of(found) in reached and (theirs := room(found.name))
        }
        if more <= reached:
            break
        reached |= more
    assert not reached & ENGINE_ROOMS
    wrong = [text(i) for i in imports() if room_of(i) in reached and i.name.split(".")[0] in HEAVY]
    assert not wrong


def test_the_engine_is_imported_by_its_own_and_by_the_public_face_when_called() -> None:
    wrong = [
        text(found)
        for found in imports()
        if room(found.name) in ENGINE_ROOMS
        and room_of(found) not in ENGINE_ROOMS
        and (found.at_once or room_of(found) not in ENGINE_ON_CALL)
    ]
    assert not wrong


def test_models_know_nothing_of_the_engine() -> None:
    wrong = [
        text(found)
        for found in imports()
        if room_of(found) == "models" and room(found.name) in ENGINE_ROOMS - {"models"}
    ]
    assert not wrong


# -- what is really loaded -----------------------------------------------------------------------

WITHOUT_ENGINE = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, NotInstalled())
"""


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after ``code``, without the engine's."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_ENGINE + code + "\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PACKAGE.parent,
    )
    assert ran.returncode == 0, ran.stderr
    return {name.split(".")[0] for name in ran.stdout.split()}


@pytest.fixture
def trace_file(tmp_path: Path, simulated_amusd: Trace) -> Path:
    return simulated_amusd.save(tmp_path / "run.jsonl.gz")


def test_importing_the_package_and_loading_a_trace_loads_next_to_nothing(trace_file: Path) -> None:
    loaded = loaded_after(
        f"import amusd_viz\n"
        f"trace = amusd_viz.Trace.load({str(trace_file)!r})\n"
        f"assert len(trace.tokens) == 40"
    )
    assert "msgspec" in loaded
    unwanted = {
        "plotly",
        "pandas",
        "IPython",
        "ipywidgets",
        "anywidget",
        "typer",
        "rich",
        "asyncio",
    }
    assert not loaded & (unwanted | HEAVY)


def test_a_theater_is_built_without_the_engine(trace_file: Path) -> None:
    pytest.importorskip("amusd_viz.views.theater")
    loaded = loaded_after(
        f"from amusd_viz.trace import Trace\n"
        f"from amusd_viz.views.theater import Theater\n"
        f"Theater(Trace.load({str(trace_file)!r}))"
    )
    assert "anywidget" in loaded
    assert not loaded & {"plotly", "pandas"}


@pytest.mark.parametrize(
    "code",
    [
        "import amusd_viz.simulate.driver, amusd_viz.simulate.theory",
        "import amusd_viz.views.charts, amusd_viz.views.tables, amusd_viz.metrics",
        "import amusd_viz.export.formats, amusd_viz.export.page",
        "import amusd_viz.cli",
    ],
)
def test_every_viewer_module_is_importable_without_the_engine(code: str) -> None:
    loaded_after(code)
