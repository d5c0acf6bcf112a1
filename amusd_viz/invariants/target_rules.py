"""What the target takes in, judges, commits and drops must fit what was proposed."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.invariants.replay import Broken, Key, Replay
from amusd_viz.invariants.tree_rules import check_path, others_of
from amusd_viz.protocol import Extra, Fate, Finish


class TargetRules:
    """The rules about the target's side."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.received: set[Key] = set()
        self.window: ev.VerifyStarted | None = None
        self.judges_tree = False
        """The window that was taken last has further candidates."""
        self.chain = 0
        """The branch of the last chain that the target's own side proposed."""
        self.over = ""
        """Why nothing may be committed any more; empty while something may."""

    def look_at(self, event: ev.Event) -> None:
        match event:
            case ev.Proposed() if event.branch < 0:
                self._check_own_proposal(event)
            case ev.Received(side=ev.Side.TARGET):
                self._check_received(event)
            case ev.VerifyStarted():
                self._check_started(event)
            case ev.Verified():
                self._check_verified(event)
            case ev.Dropped():
                self._check_dropped(event)
            case ev.Finished():
                self._check_finished(event)
            case ev.Failed(side=ev.Side.TARGET):
                self.over = "the target failed"

    # -- proposals come in -------------------------------------------------------------------

    def _check_own_proposal(self, event: ev.Proposed) -> None:
        """Of the target's own side: it need not arrive, and is judged next or never."""
        if self.window or self.over:
            raise Broken(f"a proposal of the target's own {self.over or 'within a verification'}")
        if event.branch != self.chain:
            if event.branch != self.chain - 1:
                raise Broken(f"chain {event.branch} of the target's own follows chain {self.chain}")
            if event.position < len(self.replay.committed):
                raise Broken(f"position {event.position} is proposed, but it is committed")
            self.chain = event.branch
        elif (event.branch, event.position - 1) not in self.replay.proposed:
            raise Broken(f"a proposal at position {event.position} leaves a gap in its chain")
        if event.key in self.replay.proposed:
            raise Broken(f"position {event.position} is proposed twice on one branch")
        self.replay.add_proposal(event)
        self.received.add(event.key)

    def _check_received(self, event: ev.Received) -> None:
        for position in range(event.position, event.position + event.count):
            first = (event.branch, position)
            for key in self.replay.candidates.get(first, [first]):
                proposal = self.replay.proposal(key, "received")
                if proposal is None:
                    return  # What a dead draft sent last is missing, and so is all behind it.
                if proposal.end > event.t:
                    raise Broken(
                        f"position {position} was received at {event.t} ns but proposed at "
                        f"{proposal.end} ns"
                    )
                if key in self.received:
                    raise Broken(f"position {position}, branch {event.branch} was received twice")
                self.received.add(key)

    def _known_proposal(self, key: Key, what: str) -> ev.Proposed | None:
        """A proposal that has been received and has no fate yet."""
        proposal = self.replay.proposal(key, what)
        if proposal is not None and key not in self.received and not self.replay.draft_failed:
            raise Broken(f"position {key[1]}, branch {key[0]} was {what} but never received")
        return proposal

    # -- verification ------------------------------------------------------------------------

    def _check_started(self, event: ev.VerifyStarted) -> None:
        if self.window:
            raise Broken("a verification starts before the one before it has ended")
        self._check_goes_on(event.position)
        self._check_own_part(event)
        for key, token in zip(event.keys(), event.tokens, strict=True):
            if key in self.replay.fates:
                raise Broken(f"position {key[1]} is judged, but it was {self.replay.fates[key]}")
            proposal = self._known_proposal(key, "judged")
            if proposal and proposal.token != token:
                raise Broken(
                    f"token {token} is judged at position {key[1]}, but {proposal.token} was proposed"
                )
        others = others_of(self.replay, event.branch, event.position)
        if len(others) != event.others:
            raise Broken(
                f"{event.others} further candidates are judged, but {len(others)} were proposed"
            )
        self.window = event

    def _check_own_part(self, event: ev.VerifyStarted) -> None:
        if event.own > len(event.tokens) or (event.chain < 0) is not (event.own > 0):
            raise Broken(
                f"{event.own} of {len(event.tokens)} proposals are the target's own, of chain "
                f"{event.chain}"
            )
        if event.own and event.others:
            raise Broken("a tree with proposals of the target's own")

    def _check_goes_on(self, position: int) -> None:
        done = len(self.replay.committed)
        if position < done:
            raise Broken(f"position {position} is committed twice")
        if position > done:
            raise Broken(f"positions {done} to {position - 1} were never committed")
        if self.over:
            raise Broken(f"a verification after {self.over}")

    def _check_verified(self, event: ev.Verified) -> None:
        self._check_goes_on(event.position)
        window = self._window_of(event)
        self._check_counts(event)
        if self.judges_tree:
            check_path(self.replay, event)
        else:
            self._check_chain(event, window)
        for key in event.accepted_keys():
            self.replay.end_proposal(key, Fate.ACCEPTED)
        self._check_limits(event)
        self.replay.committed += event.committed
        self.replay.committed_at += [event.end] * len(event.committed)
        if event.extra is Extra.NONE:
            self.over = "one that ended the run"

    def _check_chain(self, event: ev.Verified, window: tuple[int, ...]) -> None:
        for offset, token in enumerate(event.committed[: event.accepted]):
            if token != window[offset]:
                raise Broken(
                    f"token {token} was accepted at position {event.position + offset}, "
                    f"but {window[offset]} was proposed"
                )
        if event.extra is Extra.CORRECTION and event.committed[-1] == window[event.accepted]:
            raise Broken(f"token {event.committed[-1]} is its own correction")

    def _window_of(self, event: ev.Verified) -> tuple[int, ...]:
        started, self.window = self.window, None
        self.judges_tree = started is not None and started.others > 0
        if started is None:
            if event.proposals or self.replay.committed:
                raise Broken("a verification ends that never started")
            return ()  # The prefill chooses the first token.
        judged = (event.branch, event.proposals, event.chain, event.own)
        taken = (started.branch, len(started.tokens), started.chain, started.own)
        if judged != taken:
            raise Broken(
                f"a window of {event.proposals} proposals of branch {event.branch} was judged, but "
                f"{len(started.tokens)} of branch {started.branch} were taken"
            )
        if event.start > started.t:
            raise Broken(f"a window taken at {started.t} ns is judged from {event.start} ns on")
        return started.tokens

    def _check_counts(self, event: ev.Verified) -> None:
        extra = 0 if event.extra is Extra.NONE else 1
        too_many = event.accepted > event.proposals and not self.judges_tree
        if event.accepted + extra != len(event.committed) or too_many:
            raise Broken(
                f"{len(event.committed)} tokens committed, but {event.accepted} of {event.proposals} "
                f"proposals accepted and {extra} token added"
            )
        if not event.committed:
            raise Broken("a verification that commits nothing")
        whole = event.accepted == event.proposals
        fits = {
            Extra.CORRECTION: not whole or self.judges_tree,
            Extra.BONUS: (whole or self.judges_tree) and event.proposals > 0,
            Extra.PLAIN: event.proposals == 0,
            Extra.NONE: True,
        }
        if not fits[event.extra]:
            raise Broken(
                f"a {event.extra} token after {event.accepted} accepted of {event.proposals} proposals"
            )
        if event.texts and len(event.texts) != len(event.committed):
            raise Broken(f"{len(event.texts)} texts of {len(event.committed)} committed tokens")
        judged = max(len(event.probabilities), len(event.alternatives))
        if judged > max(event.proposals, event.accepted) + 1:
            raise Broken(f"probabilities of {judged} positions of {event.proposals} proposals")

    def _check_limits(self, event: ev.Verified) -> None:
        header, committed = self.replay.header, self.replay.committed
        ends = set(header.end_tokens)
        if ends and any(token in ends for token in (*committed[-1:], *event.committed[:-1])):
            raise Broken("a token is committed behind an end token")
        if (total := len(committed) + len(event.committed)) > header.max_new_tokens:
            raise Broken(f"{total} tokens were committed, the limit was {header.max_new_tokens}")

    # -- the end of a proposal, and of the run -----------------------------------------------

    def _check_dropped(self, event: ev.Dropped) -> None:
        key = event.key
        if event.fate is Fate.ACCEPTED:
            raise Broken(f"position {event.position} was dropped and yet accepted")
        proposal = self._known_proposal(key, str(event.fate))
        self.replay.end_proposal(key, event.fate)
        if proposal is None or event.candidate:
            return
        same = {Fate.REJECTED: False, Fate.CONTRADICTED: False, Fate.OVERTAKEN: True}
        if event.fate not in same:
            return
        if event.position >= len(self.replay.committed):
            raise Broken(
                f"position {event.position} was {event.fate}, but nothing is committed there"
            )
        if (proposal.token == self.replay.committed[event.position]) is not same[event.fate]:
            raise Broken(
                f"token {proposal.token} at position {event.position} was {event.fate}, but "
                f"{self.replay.committed[event.position]} is committed there"
            )

    def _check_finished(self, event: ev.Finished) -> None:
        header, committed = self.replay.header, self.replay.committed
        if self.over == "the run finished":
            raise Broken("the run finishes twice")
        self.over = "the run finished"
        if event.tokens != len(committed):
            raise Broken(
                f"finished with {event.tokens} tokens, but {len(committed)} were committed"
            )
        if event.reason is Finish.LENGTH and len(committed) != header.max_new_tokens:
            raise Broken(
                f"finished by length with {len(committed)} tokens, the limit was {header.max_new_tokens}"
            )
        if event.reason is Finish.END_TOKEN and not set(committed[-1:]) & set(header.end_tokens):
            raise Broken("finished by an end token, but the last token is none of the header's")
