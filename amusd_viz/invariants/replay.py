"""What a trace has told so far, as far as both sides' rules need it."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.protocol import Fate

Key = ev.ProposalKey


class Broken(Exception):
    """An event contradicts an earlier one; the message says how."""


class Replay:
    """The state of a run, rebuilt from its events.

    Attributes:
        header: of the trace.
        draft_failed: the last events of the draft may be missing.
        proposed: every proposal, by its key.
        candidates: by branch and position, the keys of all that was proposed there.
    """

    def __init__(self, header: ev.Header, *, draft_failed: bool) -> None:
        self.header = header
        self.draft_failed = draft_failed
        self.proposed: dict[Key, ev.Proposed] = {}
        self.candidates: dict[tuple[int, int], list[Key]] = {}
        self.fates: dict[Key, Fate] = {}
        self.committed: list[int] = []
        self.committed_at: list[int] = []
        """When each token was committed (ns)."""

    def add_proposal(self, proposal: ev.Proposed) -> None:
        """Notes a proposal of a key not seen before."""
        self.proposed[proposal.key] = proposal
        self.candidates.setdefault(proposal.key[:2], []).append(proposal.key)

    def proposal(self, key: Key, what: str) -> ev.Proposed | None:
        """The proposal that ``what`` happened to; ``None`` if it went missing with its draft."""
        found = self.proposed.get(key)
        if found is None and not self.draft_failed:
            branch, position = key[:2]
            raise Broken(f"position {position}, branch {branch} was {what} but never proposed")
        return found

    def end_proposal(self, key: Key, fate: Fate) -> None:
        """Notes the one fate of a proposal."""
        if key in self.fates:
            branch, position = key[:2]
            raise Broken(
                f"position {position}, branch {branch} has two fates: "
                f"{self.fates[key]} and then {fate}"
            )
        self.fates[key] = fate
