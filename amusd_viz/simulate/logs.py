"""What a simulation is told to write down: a recording, or nothing but counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.protocol import (
    Adoption,
    Commit,
    DraftSide,
    Dropped,
    Fate,
    Finish,
    Proposal,
    Verdict,
    Window,
)


class Log(Protocol):
    """Is told everything that happens in a simulation; times in ns."""

    def prefilled(self, side: ev.Side, end: int) -> None: ...
    def proposed(self, start: int, end: int, proposal: Proposal) -> None: ...
    def stepped_in(self, start: int, end: int, proposal: Proposal, head: int) -> None: ...
    def interrupted(self, start: int, end: int) -> None: ...
    def received(self, t: int, proposal: Proposal, dropped: Sequence[Dropped]) -> None: ...
    def verify_started(self, t: int, window: Window) -> None: ...
    def judged(self, start: int, end: int, window: Window, verdict: Verdict) -> None: ...
    def heard(
        self, t: int, commit: Commit, adoption: Adoption, draft: DraftSide, branch: int
    ) -> None: ...
    def waited(self, side: ev.Side, start: int, end: int, reason: ev.Wait) -> None: ...
    def finished(self, t: int, reason: Finish, tokens: int) -> None: ...


class Recorder:
    """Keeps the events of a trace.

    Args:
        words: text of each token id.
    """

    def __init__(self, words: dict[int, str]) -> None:
        self.words = words
        self.events: list[ev.Event] = []

    def prefilled(self, side: ev.Side, end: int) -> None:
        self.events.append(ev.Prefill(start=0, end=end, side=side, tokens=1))

    def proposed(self, start: int, end: int, proposal: Proposal) -> None:
        text = self._word(proposal.token)
        self.events.append(stamp.proposed(start, end, proposal, text=text))

    def stepped_in(self, start: int, end: int, proposal: Proposal, head: int) -> None:
        text = self._word(proposal.token)
        self.events.append(
            stamp.proposed(start, end, proposal, text=text, drafter="speculator", head=head)
        )

    def interrupted(self, start: int, end: int) -> None:
        """A dropped step leaves a gap: nothing came of it."""

    def received(self, t: int, proposal: Proposal, dropped: Sequence[Dropped]) -> None:
        self.events += stamp.proposal_received(t, proposal, dropped)

    def verify_started(self, t: int, window: Window) -> None:
        self.events.append(stamp.verify_started(t, window))

    def judged(self, start: int, end: int, window: Window, verdict: Verdict) -> None:
        texts = [self._word(token) for token in verdict.tokens]
        self.events += stamp.verdict_reached(start, end, window, verdict, texts=texts)

    def heard(
        self, t: int, commit: Commit, adoption: Adoption, draft: DraftSide, branch: int
    ) -> None:
        self.events += stamp.commit_heard(t, commit, adoption, draft, branch)

    def waited(self, side: ev.Side, start: int, end: int, reason: ev.Wait) -> None:
        if end > start:
            self.events.append(ev.Waited(start=start, end=end, side=side, reason=reason))

    def finished(self, t: int, reason: Finish, tokens: int) -> None:
        self.events.append(ev.Finished(t=t, reason=reason, tokens=tokens))

    def _word(self, token: int) -> str:
        return self.words.get(token, f"⟨{token}⟩")


class Counts(NamedTuple):
    """What a run, or a part of it, came to."""

    tokens: int = 0
    """Committed behind the first one."""
    verifications: int = 0
    proposals: int = 0
    accepted: int = 0
    confirmed: int = 0
    """Not judged in a window, but equal to a token the target had committed already."""
    rollbacks: int = 0
    draft_busy: int = 0
    """ns, interrupted steps included."""
    target_busy: int = 0
    """ns, prefill not included."""


class Counter:
    """Counts, and remembers nothing else; the fields are those of :class:`Counts`."""

    def __init__(self) -> None:
        for field in Counts._fields:
            setattr(self, field, 0)

    def counts(self) -> Counts:
        return Counts(*(getattr(self, field) for field in Counts._fields))

    def prefilled(self, side: ev.Side, end: int) -> None:
        pass

    def proposed(self, start: int, end: int, proposal: Proposal) -> None:
        self.proposals += 1
        self.draft_busy += end - start

    def stepped_in(self, start: int, end: int, proposal: Proposal, head: int) -> None:
        self.proposals += 1
        self.target_busy += end - start

    def interrupted(self, start: int, end: int) -> None:
        self.draft_busy += end - start

    def received(self, t: int, proposal: Proposal, dropped: Sequence[Dropped]) -> None:
        self._count_confirmed(dropped)

    def verify_started(self, t: int, window: Window) -> None:
        pass

    def judged(self, start: int, end: int, window: Window, verdict: Verdict) -> None:
        self._count_confirmed(verdict.dropped)
        if window.position == 0:
            return
        self.tokens += len(verdict.tokens)
        self.verifications += 1
        self.accepted += verdict.accepted
        self.target_busy += end - start

    def heard(
        self, t: int, commit: Commit, adoption: Adoption, draft: DraftSide, branch: int
    ) -> None:
        self.rollbacks += adoption.kind == "rolled_back"

    def waited(self, side: ev.Side, start: int, end: int, reason: ev.Wait) -> None:
        pass

    def finished(self, t: int, reason: Finish, tokens: int) -> None:
        pass

    def _count_confirmed(self, dropped: Sequence[Dropped]) -> None:
        for proposal in dropped:
            self.confirmed += proposal.fate is Fate.OVERTAKEN
