"""Text from models and files, made safe to print on a terminal."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text without control characters, which could move a terminal's cursor or worse."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else "�" for c in text)


def one_line(text: str) -> str:
    """The text as one printable line."""
    return printable(" ".join(text.split()))
