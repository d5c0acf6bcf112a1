"""When the target stops waiting for proposals, and how far ahead the draft may run.

A window policy answers one question: how many pending proposals are worth waiting for? A window
then takes everything pending, up to its limit (the dynamic batching of AMUSD, arXiv 2410.17375).
A run-ahead policy answers: how many tokens past the last known committed one may be drafted?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from amusd_viz.protocol.messages import Proposal


class WindowPolicy(Protocol):
    """How many proposals the target waits for. Implementations may keep statistics."""

    name: str

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        """Number of pending proposals (>= 0) at which a verification starts."""
        ...

    def judged(self, *, proposed: int, accepted: int) -> None:
        """Called after every verification with the size of the window and what was accepted."""
        ...


class Fixed:
    """Waits for ``proposals`` pending ones: ``fixed(2)`` is the paper's rule, ``fixed(0)`` never waits."""

    def __init__(self, proposals: int, name: str | None = None) -> None:
        if proposals < 0:
            raise ValueError(f"a target cannot wait for {proposals} proposals; use 0 or more")
        self.proposals = proposals
        self.name = name or f"fixed({proposals})"

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        return self.proposals

    def judged(self, *, proposed: int, accepted: int) -> None:
        pass


class RunAheadPolicy(Protocol):
    """How far past the last known committed token the draft may go."""

    name: str

    def limit(self, known: int) -> int:
        """Largest number of unconfirmed tokens, given ``known`` committed ones."""
        ...

    def heard(self, *, agreed: int, contradicted: bool) -> None:
        """Called on every commit: how many drafted tokens it confirmed, and whether it killed a branch."""
        ...


class ConstantRunAhead:
    """Always ``tokens`` ahead: the free-running draft of AMUSD."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ValueError(
                f"a run-ahead of {tokens} tokens leaves nothing to draft; use 1 or more"
            )
        self.tokens = tokens
        self.name = f"constant({tokens})"

    def limit(self, known: int) -> int:
        return self.tokens

    def heard(self, *, agreed: int, contradicted: bool) -> None:
        pass


class TakeTurns(ConstantRunAhead):
    """``tokens`` a round, and nothing before the first commit: synchronous speculative decoding."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.name = f"lookahead({tokens})"

    def limit(self, known: int) -> int:
        return self.tokens if known else 0


_WINDOW_POLICIES: dict[str, tuple[int, Callable[..., WindowPolicy]]] = {
    "paper": (0, lambda: Fixed(2, "paper")),
    "eager": (0, lambda: Fixed(0, "eager")),
    "fixed": (1, Fixed),
}


def window_policy(name: str) -> WindowPolicy:
    """Makes a policy from its name: ``"paper"``, ``"eager"`` or ``"fixed(3)"``.

    Raises:
        ValueError: for an unknown name or a senseless number, with the names that exist.
    """
    shape = r"\s*([a-z_]+)\s*(?:\(\s*(\d{1,6})\s*\))?\s*"
    match = re.fullmatch(shape, name) if isinstance(name, str) else None
    if match:
        word, number = match.groups()
        arguments = [] if number is None else [int(number)]
        if word in _WINDOW_POLICIES and _WINDOW_POLICIES[word][0] == len(arguments):
            return _WINDOW_POLICIES[word][1](*arguments)
    raise ValueError(
        f"unknown window policy {name!r:.40}; use 'paper' (wait for 2), 'eager' (never wait) or 'fixed(3)'"
    )
