"""How every command of the package ends: well, or with one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable

from amusd_viz.errors import AmusdVizError
from amusd_viz.terminal import one_line


def run_command(name: str, main: Callable[[], object]) -> None:
    """Runs a command; a named error becomes one sentence on stderr, and exit code 1.

    Args:
        name: how the command calls itself.
        main: the command; what it returns is of no interest.
    """
    try:
        main()
    except AmusdVizError as error:
        print(f"{name}: {one_line(str(error))}", file=sys.stderr)
        sys.exit(1)
