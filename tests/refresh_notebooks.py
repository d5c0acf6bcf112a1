"""Runs the notebooks and stores the outputs anew of those cells that store any.

    python tests/refresh_notebooks.py [--without-engine] [notebooks/03_asynchronous_decoding.ipynb ...]

Needed when a recording or a sentence changed. Which cells store their output is decided by whoever
wrote them: what is the same on every machine. To let a cell begin to, give it any output by hand.
``--without-engine`` hides torch from the kernel: quick, and right wherever stored outputs do not depend
on a live run, as they should not.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from test_notebooks_without_torch import HIDES

ROOT = Path(__file__).parents[1]


def refresh(path: Path, environment: dict[str, str]) -> int:
    """Runs one notebook in place; returns how many cells' outputs changed."""
    notebook = nbformat.read(path, as_version=4)
    ran = copy.deepcopy(notebook)
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(ran, timeout=600, kernel_name="python3", resources=where).execute(
        env=environment
    )
    changed = 0
    for cell, after in zip(notebook.cells, ran.cells, strict=True):
        if cell.cell_type != "code" or not cell.outputs:
            continue
        outputs = _joined(after.outputs)
        changed += _contents(outputs) != _contents(cell.outputs)
        cell.outputs, cell.execution_count = outputs, after.execution_count
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, path)
    return changed


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Pieces of one stream as one output; how they were cut is chance."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _contents(outputs: list[nbformat.NotebookNode]) -> list[object]:
    return [output.get("text", output.get("data")) for output in outputs]


def main(arguments: list[str]) -> int:
    hide = "--without-engine" in arguments
    chosen = [Path(a).resolve() for a in arguments if not a.startswith("--")]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(HIDES)
        paths = [folder, str(ROOT)] if hide else [str(ROOT)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        for path in chosen or sorted((ROOT / "notebooks").glob("*.ipynb")):
            print(f"{path.name}: {refresh(path, environment)} outputs changed", flush=True)
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-q", str(ROOT / "notebooks")], check=False
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
