"""What a trace has told so far, as far as both sides' rules need it."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.protocol import Fate

Key = tuple[int, int]
"""A proposal: its branch and its position."""


class Broken(Exception):
    """An event contradicts an earlier one; the message says how."""


class Replay:
    """The state of a run, rebuilt from its events.

    Attributes:
        header: of the trace.
        draft_failed: the last events of the draft may be missing.
        is_chain: every proposal follows the one before it; in a tree only fates are checked.
    """

    def __init__(self, header: ev.Header, *, draft_failed: bool, is_chain: bool) -> None:
        self.header = header
        self.draft_failed = draft_failed
        self.is_chain = is_chain
        self.proposed: dict[Key, ev.Proposed] = {}
        self.fates: dict[Key, Fate] = {}
        self.committed: list[int] = []
        self.committed_at: list[int] = []
        """When each token was committed (ns)."""

    def proposal(self, key: Key, what: str) -> ev.Proposed | None:
        """The proposal that ``what`` happened to; ``None`` if it went missing with its draft."""
        found = self.proposed.get(key)
        if found is None and not self.draft_failed:
            branch, position = key
            raise Broken(f"position {position}, branch {branch} was {what} but never proposed")
        return found

    def end_proposal(self, key: Key, fate: Fate) -> None:
        """Notes the one fate of a proposal."""
        if key in self.fates:
            branch, position = key
            raise Broken(
                f"position {position}, branch {branch} has two fates: "
                f"{self.fates[key]} and then {fate}"
            )
        self.fates[key] = fate
