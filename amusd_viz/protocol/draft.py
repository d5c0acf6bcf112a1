"""The draft side: what it believes, what it knows to be committed, and when it rolls back."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from amusd_viz.protocol.messages import Commit, Proposal
from amusd_viz.protocol.policies import RunAheadPolicy


class Pause(StrEnum):
    """Why the draft may not propose now."""

    RUN_AHEAD_LIMIT = "run_ahead_limit"
    FIRST_COMMIT = "first_commit"
    END_TOKEN = "end_token"
    LENGTH_LIMIT = "length_limit"
    RESTING = "resting"
    DONE = "done"


class Adoption(NamedTuple):
    """What one commit did to the draft.

    ``kind`` is ``"carried_on"`` (all committed tokens were already believed), ``"fast_forwarded"``
    (nothing contradicted, but ``adopted`` tokens were lacking) or ``"rolled_back"`` (``discarded``
    tokens from ``position`` on were wrong or built on a wrong one).
    """

    kind: str
    position: int
    adopted: tuple[int, ...]
    discarded: tuple[int, ...]


class DraftSide:
    """The state of the draft in one run. Pure: no clock, no tensors, no I/O.

    Args:
        run: number of the run, carried by every message.
        max_new_tokens: exact length limit of the output, in tokens.
        end_tokens: ids after which nothing is drafted.
        run_ahead: how far past the last known committed token the draft may go.

    Raises:
        ValueError: if no token could ever be drafted.
    """

    def __init__(
        self,
        *,
        run: int,
        max_new_tokens: int,
        end_tokens: Collection[int],
        run_ahead: RunAheadPolicy,
    ) -> None:
        if max_new_tokens < 1:
            raise ValueError(f"a run of {max_new_tokens} tokens has no first one; use 1 or more")
        self.run = run
        self.max_new_tokens = max_new_tokens
        self.end_tokens = frozenset(end_tokens)
        self.run_ahead = run_ahead
        self.tokens: list[int] = []
        """The output as the draft believes it."""
        self.known = 0
        """How many leading tokens it knows to be committed."""
        self.branch = 0
        self.done = False
        self.awaited = 0
        """How many proposals the target may be waiting for, as it said with its last commit."""
        self.resting = False
        """Whether the target has asked for hardly more than it may be waiting for."""

    def pause(self) -> Pause | None:
        """Why the draft may not propose now; ``None`` if it may."""
        if self.done:
            return Pause.DONE
        if len(self.tokens) >= self.max_new_tokens:
            return Pause.LENGTH_LIMIT
        if self.tokens and self.tokens[-1] in self.end_tokens:
            return Pause.END_TOKEN
        awaited = min(self.awaited, self.run_ahead.promised)
        ahead = len(self.tokens) - self.known
        limit = max(self.run_ahead.limit(self.known), awaited)
        # One more than is waited for: to draft it, the last proposal is read while that is being
        # verified, and whatever the verdict adds is a single token to read.
        if self.resting and ahead >= min(limit, awaited + bool(awaited)):
            return Pause.RESTING
        if ahead >= limit:
            return Pause.FIRST_COMMIT if limit == 0 and self.known == 0 else Pause.RUN_AHEAD_LIMIT
        return None

    def propose(self, token: int, *, unsure: bool = False) -> Proposal:
        """Appends the drafted ``token`` to the branch and returns the message for the target."""
        paused = self.pause()
        assert paused is None, f"proposed while paused: {paused}"
        proposal = Proposal(self.run, self.branch, len(self.tokens), token, unsure)
        self.tokens.append(token)
        return proposal

    def hear(self, commit: Commit) -> Adoption:
        """Compares a commit with the believed tokens and adopts what differs or lacks."""
        assert commit.run == self.run, f"commit of run {commit.run} in run {self.run}"
        assert commit.position == self.known, f"commit at {commit.position}, knew {self.known}"
        self.done = self.done or commit.done
        self.awaited = commit.awaited
        self.resting = commit.rest
        start, end = commit.position, commit.position + len(commit.tokens)
        self.known = end
        believed = self.tokens[start:end]
        for offset, (ours, theirs) in enumerate(zip(believed, commit.tokens, strict=False)):
            if ours != theirs:
                self.run_ahead.heard(agreed=offset, contradicted=True)
                return self._roll_back(start + offset, commit.tokens[offset:])
        lacking = commit.tokens[len(believed) :]
        self.tokens.extend(lacking)
        kind = "fast_forwarded" if lacking else "carried_on"
        self.run_ahead.heard(agreed=len(believed), contradicted=False)
        return Adoption(kind, end - len(lacking), lacking, ())

    def _roll_back(self, position: int, tokens: tuple[int, ...]) -> Adoption:
        discarded = tuple(self.tokens[position:])
        self.tokens[position:] = tokens
        self.branch += 1
        return Adoption("rolled_back", position, tokens, discarded)
