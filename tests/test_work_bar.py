"""Long work tells how far it is: lines where output is kept, one bar where somebody looks."""

from __future__ import annotations

import subprocess
import sys

import nbformat
from nbclient import NotebookClient

WORK = """
from amusd_viz.training.work_bar import work_bar
with work_bar("Working", total=3) as bar:
    for step in range(1, 4):
        bar.update(step, f"step {step} done")
        bar.keep(f"step {step} done")
"""


def test_a_file_gets_a_line_for_each_thing_worth_keeping():
    told = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, check=True
    ).stdout
    assert [line for line in told.splitlines() if line.startswith("step")] == [
        "step 1 done",
        "step 2 done",
        "step 3 done",
    ]


def test_a_notebook_gets_one_bar_and_no_lines_below_it():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(WORK)])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert not [output for output in outputs if output.output_type == "stream"]
    assert len(outputs) <= 2  # the bar, and what rich leaves where it stood
    bar = str(notebook.metadata.widgets)
    assert "3/3" in bar
    assert "step 3 done" in bar
