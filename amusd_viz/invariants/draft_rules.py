"""What the draft proposes, hears and takes back must fit what it believes and what is committed."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.invariants.replay import Broken, Replay
from amusd_viz.invariants.tree_rules import check_hangs_on


class DraftRules:
    """The rules about the draft's side."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.branch = 0
        self.believed: list[int] = []
        self.known = 0
        self.heard_from: int | None = None
        """First position of a commit heard whose outcome has not been told yet."""
        self.failed = False

    def look_at(self, event: ev.Event) -> None:
        match event:
            case ev.Proposed() if event.branch >= 0:
                self._check_proposed(event)
            case ev.Received(side=ev.Side.DRAFT):
                self._check_heard(event)
            case ev.RolledBack():
                self._check_rolled_back(event)
            case ev.FastForwarded():
                self._check_fast_forwarded(event)
            case ev.CarriedOn():
                self._check_carried_on(event)
            case ev.Failed(side=ev.Side.DRAFT):
                self.failed = True

    def _check_proposed(self, event: ev.Proposed) -> None:
        if self.failed:
            raise Broken("a proposal after the draft failed")
        if event.branch != self.branch:
            raise Broken(
                f"a proposal of branch {event.branch} while the draft is on branch {self.branch}"
            )
        if event.key in self.replay.proposed:
            raise Broken(f"position {event.position} is proposed twice on one branch")
        if event.candidate:
            check_hangs_on(self.replay, event)
        elif event.position != len(self.believed):
            raise Broken(
                f"a proposal at position {event.position}, but the draft has "
                f"{len(self.believed)} tokens"
            )
        else:
            self.believed.append(event.token)
        self.replay.add_proposal(event)

    # -- commits -----------------------------------------------------------------------------

    def _check_heard(self, event: ev.Received) -> None:
        committed = self.replay.committed
        if event.branch != self.branch:
            raise Broken(
                f"a commit is heard on branch {event.branch} while the draft is on branch {self.branch}"
            )
        if event.position != self.known:
            raise Broken(
                f"the draft hears of position {event.position} but knew {self.known} tokens"
            )
        self.known += event.count
        if self.known > len(committed):
            raise Broken(f"the draft knows {self.known} committed tokens, {len(committed)} exist")
        if event.count and self.replay.committed_at[self.known - 1] > event.t:
            raise Broken(
                f"the draft hears at {event.t} ns of a token that is committed at "
                f"{self.replay.committed_at[self.known - 1]} ns"
            )
        self.heard_from = event.position

    def _take_heard(self) -> int:
        if self.heard_from is None:
            raise Broken("the draft follows a commit that it has not heard")
        start, self.heard_from = self.heard_from, None
        return start

    def _check_rolled_back(self, event: ev.RolledBack) -> None:
        start = self._take_heard()
        if event.branch != self.branch + 1:
            raise Broken(f"branch {event.branch} follows branch {self.branch}")
        self.branch = event.branch
        if event.position + len(event.discarded) != event.length or not event.discarded:
            raise Broken(
                f"a rollback from length {event.length} to {event.position} discards "
                f"{len(event.discarded)} tokens"
            )
        self._check_adopted(event.position, event.adopted)
        if self.believed[event.position :] != list(event.discarded):
            raise Broken(f"the tokens discarded from {event.position} on are not the draft's")
        first_difference = event.adopted[:1] != event.discarded[:1]
        if not (event.position >= start and first_difference):
            raise Broken(f"nothing contradicts the draft at position {event.position}")
        self._believe(start, event.position, event.adopted)

    def _check_fast_forwarded(self, event: ev.FastForwarded) -> None:
        start = self._take_heard()
        self._check_adopted(event.position, event.adopted)
        if event.position != len(self.believed):
            raise Broken(
                f"a fast-forward from position {event.position}, but the draft has "
                f"{len(self.believed)} tokens"
            )
        self._believe(start, event.position, event.adopted)

    def _check_carried_on(self, event: ev.CarriedOn) -> None:
        start = self._take_heard()
        if event.known != self.known:
            raise Broken(
                f"the draft carries on knowing {event.known} tokens, but it heard of {self.known}"
            )
        self._believe(start, len(self.believed), ())

    def _check_adopted(self, position: int, adopted: tuple[int, ...]) -> None:
        if not adopted or self.replay.committed[position : self.known] != list(adopted):
            raise Broken(f"the tokens adopted at {position} are not those committed there")

    def _believe(self, start: int, position: int, adopted: tuple[int, ...]) -> None:
        """The draft now agrees with all it has heard, or it has not done what it should."""
        self.believed[position:] = adopted
        if self.believed[start : self.known] != self.replay.committed[start : self.known]:
            raise Broken(f"the draft does not follow the commit at position {start}")
