"""The target side: it owns the truth, judges proposals, and never depends on the draft."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from amusd_viz.protocol.messages import Commit, Dropped, Fate, Proposal
from amusd_viz.protocol.policies import WindowPolicy
from amusd_viz.protocol.tree import ROOT, Tree


class Extra(StrEnum):
    """The last token of a verdict: what the target's own choice stands for."""

    CORRECTION = "correction"
    """In place of a rejected proposal."""
    BONUS = "bonus"
    """After a fully accepted window of at least one proposal."""
    PLAIN = "plain"
    """After a window without proposals: one step of ordinary decoding."""
    NONE = "none"
    """The run ended inside the accepted proposals, or committed nothing."""


class Finish(StrEnum):
    """Why a run ended."""

    END_TOKEN = "end_token"
    LENGTH = "length"
    STOP_CONDITION = "stop_condition"
    STOP_REQUEST = "stop_request"


class Step(StrEnum):
    """What the target side wants to do next."""

    VERIFY = "verify"
    WAIT = "wait"
    DONE = "done"


class Window(NamedTuple):
    """The proposals one verification looks at: the first one stands at ``position``."""

    branch: int
    position: int
    tokens: tuple[int, ...]
    """Of a tree, those of its main chain."""
    tree: Tree | None = None
    """``None`` where every proposal follows the one before it."""
    own: int = 0
    """How many of the last tokens are not the draft's but the target's own side's: a chain of its
    speculator."""
    chain: int = 0
    """The branch of those, always below 0, so that it is never one of the draft's."""

    @property
    def drafted(self) -> int:
        """How many of the tokens are the draft's."""
        return len(self.tokens) - self.own

    def branch_of(self, offset: int) -> int:
        """The branch of the token at ``position + offset``."""
        return self.branch if offset < self.drafted else self.chain

    def child(self, node: int, token: int) -> int | None:
        """The proposal of ``token`` behind ``node`` (or ``ROOT``), if there is one."""
        if self.tree:
            return self.tree.child(node, token)
        return node + 1 if self.tokens[node + 1 : node + 2] == (token,) else None

    def has_children(self, node: int) -> bool:
        """Whether anything is proposed behind ``node`` (or ``ROOT``)."""
        return self.tree.has_children(node) if self.tree else node + 1 < len(self.tokens)

    def contradicts_draft(self, path: Sequence[int], extra: Extra) -> bool:
        """Whether the target's choices went another way than the draft's tokens in it."""
        if self.tree:
            return extra is Extra.CORRECTION or bool(path and path[-1] != len(path) - 1)
        return extra is Extra.CORRECTION and len(path) < self.drafted

    def unaccepted(self, path: Sequence[int], extra: Extra) -> list[Dropped]:
        """What became of the other proposals, once the target's choices went along ``path``."""
        if self.tree:
            return _unaccepted_of_tree(self, self.tree, path, extra)
        first, rest = Fate.REJECTED, Fate.AFTER_MISMATCH
        if extra is not Extra.CORRECTION:
            first = rest = Fate.UNFINISHED
        return [
            Dropped(self.branch_of(i), self.position + i, first if i == len(path) else rest)
            for i in range(len(path), len(self.tokens))
        ]


class Verdict(NamedTuple):
    """The outcome of one verification.

    ``tokens`` are newly committed from ``position`` on: the ``accepted`` leading proposals, then
    one more of kind ``extra`` unless the run was cut before it. ``path`` are the accepted nodes of a
    tree; of a chain they are simply the first ones.
    """

    position: int
    accepted: int
    tokens: tuple[int, ...]
    extra: Extra
    dropped: tuple[Dropped, ...]
    finish: Finish | None
    path: tuple[int, ...] = ()
    awaited: int = 0
    """How many proposals the target may wait for next."""
    rest: bool = False
    """The draft is to go at most one proposal further for now; nowhere, where that is 0."""

    def commit(self, run: int) -> Commit:
        """The message that tells the draft."""
        done = self.finish is not None
        return Commit(run, self.position, self.tokens, done, self.awaited, self.rest)


class TargetSide:
    """The state of the target in one run. Pure: no clock, no tensors, no I/O.

    Args:
        run: number of the run; messages of other runs are refused.
        max_new_tokens: exact length limit of the output, in tokens.
        end_tokens: the output is cut after the first of these ids.
        rows: most tokens one forward pass takes (the last committed one and the window).
        policy: how many proposals to wait for.
        run_ahead: how far ahead the draft goes at least where a commit asks for it; waiting for
            more would be waiting for ever.
        is_stop: called with the committed tokens after each one; the output is cut at the first true.

    Raises:
        ValueError: if no token could ever be committed, or no row be computed.
    """

    def __init__(
        self,
        *,
        run: int,
        max_new_tokens: int,
        end_tokens: Collection[int],
        rows: int,
        policy: WindowPolicy,
        run_ahead: int,
        is_stop: Callable[[Sequence[int]], bool] | None = None,
    ) -> None:
        if max_new_tokens < 1:
            raise ValueError(f"a run of {max_new_tokens} tokens has no first one; use 1 or more")
        if rows < 1:
            raise ValueError(f"a pass over {rows} rows computes nothing; use 1 or more")
        self.run = run
        self.max_new_tokens = max_new_tokens
        self.end_tokens = frozenset(end_tokens)
        self.rows = rows
        self.policy = policy
        self.run_ahead = run_ahead
        self.is_stop = is_stop
        self.committed: list[int] = []
        self.pending: deque[Proposal] = deque()
        self.window: Window | None = None
        self.branch = 0
        self.dead_branch = -1
        """Every branch up to this number is dead."""
        self.draft_lost = False
        self.draft_silent = False
        """The driver has waited long enough: nothing is waited for until the draft speaks again."""
        self.finish: Finish | None = None
        self.awaited = 0
        """How many proposals the last commit asked for; the draft will not stop short of them."""
        self.chains = 0
        """How many chains of its own this side has judged or begun to."""

    # -- messages in -------------------------------------------------------------------------

    def receive(self, proposal: Proposal, at: int = 0) -> list[Dropped]:
        """Takes in one proposal, at ``at`` ns; returns those that were dropped because of it."""
        assert proposal.run == self.run, f"proposal of run {proposal.run} in run {self.run}"
        branch, position = proposal.branch, proposal.position
        self.draft_silent = False
        if self.finish:
            return [Dropped(branch, position, Fate.UNFINISHED)]
        if branch <= self.dead_branch:
            return [Dropped(branch, position, Fate.TOO_LATE)]
        self.policy.arrived(proposal, at=at, idle=self.window is None)
        assert branch >= self.branch, f"branch {branch} arrived after branch {self.branch}"
        dropped: list[Dropped] = []
        if branch > self.branch:
            dropped = self._clear_pending(Fate.NEVER_JUDGED)
            self.branch = branch
        if position < len(self.committed):
            agreed = self.committed[position] == proposal.token
            self.policy.compared(agreed=agreed)
            if agreed:
                dropped.append(Dropped(branch, position, Fate.OVERTAKEN))
            else:
                dropped.append(Dropped(branch, position, Fate.CONTRADICTED))
                dropped += self._kill_branch()
            return dropped
        expected = len(self.committed) + self._window_size() + len(self.pending)
        assert position == expected, f"proposal at {position}, expected {expected}"
        self.pending.append(proposal)
        return dropped

    def lose_draft(self) -> None:
        """The draft is gone: nothing is waited for any more."""
        self.draft_lost = True

    def give_up_waiting(self) -> None:
        """The draft may hang: nothing is waited for until its next proposal arrives."""
        self.draft_silent = True

    def request_stop(self) -> Verdict | None:
        """Ends the run with what is committed; the verdict tells the draft (``None`` if over)."""
        if self.finish:
            return None
        self.finish = Finish.STOP_REQUEST
        dropped = self._drop_window() + self._clear_pending(Fate.UNFINISHED)
        self.window = None
        return Verdict(len(self.committed), 0, (), Extra.NONE, tuple(dropped), self.finish)

    # -- what next ---------------------------------------------------------------------------

    def next_step(self) -> Step:
        """Whether to verify now, to wait for proposals, or to leave. Verifying is always allowed."""
        if self.finish:
            return Step.DONE
        return Step.VERIFY if len(self.pending) >= self.waits_for() else Step.WAIT

    def waits_for(self) -> int:
        """How many pending proposals start a verification, clipped to what can still arrive."""
        if not self.committed:
            return 0  # The prefill chooses the first token; a draft taking turns waits for it.
        if (
            self.draft_lost
            or self.draft_silent
            or any(p.token in self.end_tokens for p in self.pending)
        ):
            return 0
        return max(0, min(self.policy.wait_for(self.pending), self.awaited, self._window_limit()))

    def _window_limit(self) -> int:
        room = min(self.rows - 1, self.max_new_tokens - len(self.committed) - 1)
        return max(0, min(room, self.policy.most()))

    def lacks(self) -> int:
        """How many proposals of its own may follow the pending ones in the next window.

        0 where the draft has sent what is waited for: then that is judged, as it is.
        """
        if self.finish or not self.committed:
            return 0
        if self.pending and self.next_step() is Step.VERIFY:
            return 0
        return max(0, min(self.rows - 1, self.room) - len(self.pending))

    @property
    def next_chain(self) -> int:
        """The branch of the next chain of this side's own."""
        return -self.chains - 1

    # -- verification ------------------------------------------------------------------------

    def take_window(self, most: int | None = None, own: Sequence[int] = ()) -> Window:
        """Takes what is pending, up to the limit (and ``most``), for one forward pass.

        The pass feeds the last committed token and the window, and gives one choice more than the
        window has proposals. Before the first commit the pass is the prefill and takes none.

        Args:
            own: tokens that this side's own speculator proposes behind all that is pending; at most
                :meth:`lacks` of them. The draft is told of them only once they are committed, so they
                neither are of its branch nor end it.
        """
        assert self.window is None, "a window is already out"
        assert self.finish is None, "the run is over"
        size = min(len(self.pending), self._window_limit()) if self.committed else 0
        if most is not None:
            size = min(size, most)
        assert len(own) <= (self.lacks() if own else 0), f"{len(own)} proposals of its own"
        tokens = tuple(self.pending.popleft().token for _ in range(size))
        assert not (own and self.pending), "a proposal of its own behind some that were left"
        self.window = Window(self.branch, len(self.committed), (*tokens, *own))
        if own:
            self.window = self.window._replace(own=len(own), chain=self.next_chain)
            self.chains += 1
        return self.window

    def take_tree(self, branch: int, tree: Tree) -> Window:
        """Takes a tree that was drafted on ``branch`` at once, where nothing is pending.

        It must have a row for each of its nodes and end before the output does; see
        :meth:`~amusd_viz.protocol.tree.Tree.limited` and :attr:`room`.
        """
        assert self.window is None, "a window is already out"
        assert self.finish is None, "the run is over"
        assert self.committed, "before the first commit there is nothing to verify"
        assert not self.pending, "a tree does not follow pending proposals"
        assert branch >= self.branch, f"a tree of branch {branch} after branch {self.branch}"
        assert len(tree) < self.rows, f"{len(tree)} proposals exceed {self.rows} rows"
        assert max(tree.depths, default=-1) < self.room, "the tree goes beyond the output"
        self.branch = branch
        whole = None if tree.is_chain else tree
        self.window = Window(branch, len(self.committed), tree.main_chain, whole)
        return self.window

    @property
    def room(self) -> int:
        """How many proposals in a row can still be accepted."""
        return self.max_new_tokens - len(self.committed) - 1

    def settle(self, choices: Iterable[int]) -> Verdict:
        """Judges a chain by the target's own ``choices``, consumed only as far as needed.

        The choices are one more than the window has proposals; fewer would leave the output
        without its next token.
        """
        rows = iter(choices)
        given: list[int] = []

        def choose(_node: int) -> int:
            choice = next(rows, None)
            assert choice is not None, f"only {len(given)} choices were given"
            given.append(choice)
            return choice

        return self.settle_tree(choose)

    def settle_tree(self, choose: Callable[[int], int]) -> Verdict:
        """Judges a window along the path that the target's own choices take through it.

        Args:
            choose: gives the target's choice behind a node of the window, or behind the last
                committed token for :data:`~amusd_viz.protocol.tree.ROOT`; called along the path only.
        """
        assert self.window is not None, "no window is out"
        window, self.window = self.window, None
        tokens: list[int] = []
        path: list[int] = []
        extra = Extra.NONE
        while self.finish is None and extra is Extra.NONE:
            node = path[-1] if path else ROOT
            choice = choose(node)
            tokens.append(choice)
            child = window.child(node, choice)
            if child is not None:
                path.append(child)
            elif window.has_children(node):
                extra = Extra.CORRECTION
            else:
                extra = Extra.BONUS if path else Extra.PLAIN
            self.committed.append(choice)
            self.finish = self._finish_after(choice)
        accepted = len(path) if window.tree else min(len(path), window.drafted)
        self.policy.judged(proposed=window.drafted, accepted=accepted)
        dropped = tuple(self._fates_after(window, path, extra))
        whole = tuple(path) if window.tree else ()
        self.awaited = self._asks_for()
        return Verdict(
            window.position,
            len(path),
            tuple(tokens),
            extra,
            dropped,
            self.finish,
            whole,
            self.awaited,
            self.finish is None and self.policy.rests(),
        )

    def _asks_for(self) -> int:
        """How many proposals behind the new commit the draft is to let the target have."""
        if self.finish or self.draft_lost:
            return 0
        return max(0, min(self.policy.wait_for(self.pending), self.run_ahead, self._window_limit()))

    def _finish_after(self, token: int) -> Finish | None:
        if token in self.end_tokens:
            return Finish.END_TOKEN
        if self.is_stop is not None and self.is_stop(self.committed):
            return Finish.STOP_CONDITION
        if len(self.committed) >= self.max_new_tokens:
            return Finish.LENGTH
        return None

    def _fates_after(self, window: Window, path: list[int], extra: Extra) -> list[Dropped]:
        dropped = window.unaccepted(path, extra)
        if window.contradicts_draft(path, extra):
            # Every earlier token of the branch was compared before its window was taken, so the
            # draft cannot have left the branch yet.
            assert self.branch == window.branch, "the branch changed under its own window"
            dropped += self._kill_branch()
        else:
            dropped += self._compare_pending_with_commit()
        if self.finish:
            dropped += self._clear_pending(Fate.UNFINISHED)
        return dropped

    def _compare_pending_with_commit(self) -> list[Dropped]:
        """Pending proposals that stand where tokens are committed by now: one, unless the window held
        proposals of this side's own."""
        dropped: list[Dropped] = []
        while self.pending and self.pending[0].position < len(self.committed):
            head = self.pending.popleft()
            agreed = head.token == self.committed[head.position]
            self.policy.compared(agreed=agreed)
            fate = Fate.OVERTAKEN if agreed else Fate.CONTRADICTED
            dropped.append(Dropped(head.branch, head.position, fate))
            if not agreed:
                dropped += self._kill_branch()
        return dropped

    # -- dropping ----------------------------------------------------------------------------

    def _kill_branch(self) -> list[Dropped]:
        self.dead_branch = self.branch
        return self._clear_pending(Fate.NEVER_JUDGED)

    def _clear_pending(self, fate: Fate) -> list[Dropped]:
        dropped = [Dropped(p.branch, p.position, fate) for p in self.pending]
        self.pending.clear()
        return dropped

    def _drop_window(self) -> list[Dropped]:
        return self.window.unaccepted((), Extra.NONE) if self.window else []

    def _window_size(self) -> int:
        """How many of the draft's proposals are being judged."""
        return self.window.drafted if self.window else 0


def _unaccepted_of_tree(
    window: Window, tree: Tree, path: Sequence[int], extra: Extra
) -> list[Dropped]:
    last = path[-1] if path else ROOT
    accepted = {ROOT, *path}
    fates: list[Fate] = []
    for node, parent in enumerate(tree.parents):
        if node in accepted:
            fates.append(Fate.ACCEPTED)
        elif parent == last and extra is Extra.NONE:
            fates.append(Fate.UNFINISHED)
        elif parent in accepted:
            fates.append(Fate.REJECTED)
        elif fates[parent] is Fate.UNFINISHED:
            fates.append(Fate.UNFINISHED)
        else:
            fates.append(Fate.AFTER_MISMATCH)
    return [
        Dropped(window.branch, window.position + node.depth, fate, node.candidate)
        for node, fate in zip(tree.nodes, fates, strict=True)
        if fate is not Fate.ACCEPTED
    ]
