"""Text from models and files, made safe to print on a terminal; and how a command ends in words."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable

from amusd_viz.errors import AmusdVizError


def printable(text: str) -> str:
    """The text without control characters, which could move a terminal's cursor or worse."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else "�" for c in text)


def one_line(text: str) -> str:
    """The text as one printable line."""
    return printable(" ".join(text.split()))


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
