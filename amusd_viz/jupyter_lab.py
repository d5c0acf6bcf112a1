"""Opens JupyterLab on the first notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from amusd_viz.notebook_copy import copy_notebooks
from amusd_viz.paths import bundled, in_checkout

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
    command = lab_command(_folder_to_open(), arguments)
    if os.name == "posix":
        # JupyterLab takes the place of this process, so that Ctrl-C is its own to handle.
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def lab_command(folder: Path, arguments: Sequence[str] = ()) -> list[str]:
    """The command line that opens the first notebook with this Python's JupyterLab.

    Args:
        folder: holds ``notebooks/`` and the ``assets/`` the notebooks show; the server's root.
        arguments: of ``jupyter lab``.
    """
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/notebooks/{FIRST}",
        *as_root,
        *arguments,
    ]


def _folder_to_open() -> Path:
    if in_checkout():
        return bundled()
    course = Path.cwd() / COPY
    if not (course / "notebooks" / FIRST).exists():
        copy_notebooks(course)
        print(f"Copied the notebooks to {course}", file=sys.stderr)
    return course
