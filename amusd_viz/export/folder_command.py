"""The command line of what writes files into one folder: ``python -m amusd_viz.site FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from amusd_viz.errors import AmusdVizError


def into_folder(
    arguments: Sequence[str],
    write: Callable[[str], Sequence[Path]],
    report: Callable[[Sequence[Path]], str],
    *,
    usage: str,
) -> int:
    """Writes into the one folder named, prints a report, and returns the exit code.

    Args:
        arguments: of the command line, without the program.
        write: given the folder; returns the files written.
        report: what to print of them.
        usage: what to print where the arguments are not one folder.
    """
    if len(arguments) != 1:
        print(f"usage: {usage}", file=sys.stderr)
        return 2
    try:
        written = write(arguments[0])
    except AmusdVizError as error:
        print(f"amusd-viz: {error}", file=sys.stderr)
        return 1
    print(report(written))
    return 0
