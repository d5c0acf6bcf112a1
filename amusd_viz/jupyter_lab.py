"""Opens JupyterLab on the first notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from amusd_viz.errors import MissingExtraError
from amusd_viz.extras import missing_from
from amusd_viz.notebook_copy import copy_notebooks
from amusd_viz.paths import in_checkout, notebooks

FIRST = "00_watch_it_decode.ipynb"
COPY = "amusd-viz-course"
"""Folder, in the current one, into which an installed package copies its notebooks to open them."""


def open_lab(arguments: Sequence[str] = ()) -> int:
    """Runs JupyterLab until the person ends it; returns its exit code.

    In a checkout the notebooks are opened where they are. From an installed package they are first
    copied to the folder ``amusd-viz-course``; copies that were changed stay as they are.

    Args:
        arguments: passed on to ``jupyter lab``, such as ``--no-browser``.
    """
    if missing_from(("jupyterlab",)):
        raise MissingExtraError("Opening JupyterLab", "engine", "jupyterlab")
    return subprocess.run(lab_command(_notebook_to_open(), arguments), check=False).returncode


def lab_command(notebook: Path, arguments: Sequence[str] = ()) -> list[str]:
    """The command line that opens ``notebook`` with this Python's JupyterLab."""
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [sys.executable, "-m", "jupyterlab", str(notebook), *root, *arguments]


def _notebook_to_open() -> Path:
    if in_checkout():
        return notebooks(FIRST)
    course = Path.cwd() / COPY
    if not (course / "notebooks" / FIRST).exists():
        copy_notebooks(course)
        print(f"Copied the notebooks to {course}", file=sys.stderr)
    return course / "notebooks" / FIRST
