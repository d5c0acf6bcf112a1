"""Stop strings: an output is over when one of them has been written, and its text ends before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MARGIN = 4
"""Tokens decoded in front of those that may spell a stop string: decoders may trim the first one."""


class StopStrings:
    """Says of committed tokens whether the last one completed a stop string.

    Args:
        stops: the strings; none may be empty.
        text: the text of some token ids.
    """

    def __init__(self, stops: Sequence[str], text: Callable[[Sequence[int]], str]) -> None:
        self.stops = tuple(stops)
        self._text = text
        longest = max((len(stop.encode()) for stop in stops), default=0)
        # Every token but those without text adds a byte at least.
        self._tail = longest + MARGIN

    def __call__(self, committed: Sequence[int]) -> bool:
        text = self._text(committed[-self._tail :])
        return any(stop in text for stop in self.stops)


def until_stop(text: str, stops: Sequence[str]) -> str:
    """``text`` up to the first stop string in it."""
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else text


def surely_shown(text: str, stops: Sequence[str]) -> str:
    """What of a text that goes on can be shown already: its end may be the start of a stop string."""
    final = until_stop(text, stops)
    if final != text:
        return final
    held = 0
    for stop in stops:
        for length in range(min(len(stop) - 1, len(text)), held, -1):
            if text.endswith(stop[:length]):
                held = length
                break
    return text[: len(text) - held]
