"""Every notebook runs through where torch is not installed, on recordings and simulations."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from amusd_viz.paths import notebooks

ROOT = Path(__file__).parents[1]

HIDES = """
import sys

HIDDEN = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "gguf", "accelerate")

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in HIDDEN:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Hiding, sys.meta_path)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Of a kernel that believes that the extra ``[engine]`` is not installed."""
    folder = tmp_path_factory.mktemp("hides")
    (folder / "sitecustomize.py").write_text(HIDES)
    path = os.pathsep.join([str(folder), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def test_the_engine_is_hidden_from_the_kernel(environment):
    cell = nbformat.v4.new_code_cell("from amusd_viz import doctor\nprint(doctor.mode())")
    done = run(nbformat.v4.new_notebook(cells=[cell]), environment)
    assert "('recordings', 'not installed: torch" in done.cells[0].outputs[0].text


@pytest.mark.parametrize("path", sorted(notebooks().glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_runs_from_recordings(path, environment):
    done = run(nbformat.read(path, as_version=4), environment)
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    said = "".join(output.get("text", "") for output in outputs)
    assert "Traceback" not in said
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    if asks_for_the_engine(done):
        assert 'pip install "amusd-viz[engine]"' in said, "it does not say what is missing"


def asks_for_the_engine(notebook: nbformat.NotebookNode) -> bool:
    return any("except" in cell.source for cell in notebook.cells if cell.cell_type == "code")


def run(notebook: nbformat.NotebookNode, environment: dict[str, str]) -> nbformat.NotebookNode:
    client = NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        resources={"metadata": {"path": str(notebooks())}},
    )
    return client.execute(env=environment)
