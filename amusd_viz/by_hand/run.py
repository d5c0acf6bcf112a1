"""One run of the protocol by hand: its state, its buttons, and undo.

The two devices have a clock each. A press moves one of them; a message can be taken in when its
receiver's clock has reached the moment it was sent, or the receiver waits for it. Nothing here can
change the text: the buttons decide when the two sides of the protocol act, never what they commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.by_hand import sentences
from amusd_viz.by_hand.pair import RUN_AHEAD, Answer, ModelPair
from amusd_viz.by_hand.state import State
from amusd_viz.errors import SettingError
from amusd_viz.protocol import (
    Adoption,
    ConstantRunAhead,
    DraftSide,
    Dropped,
    Fixed,
    Proposal,
    RunAheadPolicy,
    TargetSide,
    Verdict,
    Window,
    WindowPolicy,
)
from amusd_viz.protocol.policies import NO_LIMIT
from amusd_viz.simulate.checks import whole
from amusd_viz.trace import Trace

ACTIONS = ("draft", "read", "receive", "start", "finish")
"""Everything that can be pressed, besides undo."""


class Button(NamedTuple):
    """What a press would do now.

    Attributes:
        action: one of :data:`ACTIONS`.
        label: what will happen.
        why_not: why it cannot be pressed; empty if it can.
    """

    action: str
    label: str
    why_not: str


class ByHand:
    """A run that goes where it is pushed.

    Args:
        pair: what the two models answer.
        max_new_tokens: length of the output, in tokens.
        rows: most tokens one target pass takes.
        run_ahead: how far past the last commit it knows the draft may go.

    Raises:
        SettingError: more tokens than were recorded, or a number that makes no sense.
    """

    def __init__(
        self, pair: ModelPair, *, max_new_tokens: int = 12, rows: int = 8, run_ahead: int = 8
    ) -> None:
        whole("max_new_tokens", max_new_tokens, 1, 4096)
        whole("rows", rows, 1, 64)
        whole("run_ahead", run_ahead, 1, RUN_AHEAD)
        if pair.longest is not None and max_new_tokens > pair.longest:
            raise SettingError(
                f"max_new_tokens is {max_new_tokens}, but only {pair.longest} tokens were recorded "
                "behind the start; give fewer, or start earlier"
            )
        self.pair = pair
        self.max_new_tokens = max_new_tokens
        self.rows = rows
        self.run_ahead = run_ahead
        self.texts: dict[int, str] = {}
        """Text of every token seen so far."""
        self.state = self.opened(Fixed(NO_LIMIT, "by hand"), ConstantRunAhead(run_ahead))
        self._before: list[State] = []
        self.presses: list[str] = []

    # -- what can be done ---------------------------------------------------------------------

    def buttons(self) -> tuple[Button, ...]:
        """One for each action: what it would do now, or why it cannot be done."""
        return tuple(
            Button(action, sentences.label(self, action), self.why_not(action))
            for action in ACTIONS
        )

    def why_not(self, action: str) -> str:
        """Why an action cannot be done now; empty if it can."""
        if action not in ACTIONS:
            known = ", ".join(ACTIONS)
            raise SettingError(f"there is no action {action!r}; there are: {known}, and undo")
        return sentences.why_not(self.state, action)

    def press(self, action: str) -> ByHand:
        """Does one thing.

        Raises:
            SettingError: it cannot be done now; the message says why.
        """
        why_not = self.why_not(action)
        if why_not:
            raise SettingError(f"{action!r} cannot be done now: {why_not}")
        before = self.state
        self.state = before.copied()
        self.act(action, self.state)
        self._before.append(before)
        self.presses.append(action)
        return self

    def act(self, action: str, state: State) -> None:
        """Does one thing to a state, in place; it must be possible there."""
        getattr(self, f"_{action}")(state)

    def undo(self) -> ByHand:
        """Takes back the last press, exactly; does nothing at the beginning."""
        if self._before:
            self.state = self._before.pop()
            self.presses.pop()
        return self

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    def leap(self, state: State, name: str) -> None:
        """Goes on from another state, as one press that can be taken back."""
        self._before.append(self.state)
        self.presses.append(name)
        self.state = state

    # -- what came of it ----------------------------------------------------------------------

    @property
    def tokens(self) -> tuple[int, ...]:
        """What is committed: nothing can change it any more."""
        return tuple(self.state.target.committed)

    def text(self, tokens: Sequence[int] | None = None) -> str:
        """The committed text, or that of some tokens that have been seen."""
        return "".join(self.word(t) for t in (self.tokens if tokens is None else tokens))

    def word(self, token: int) -> str:
        return self.texts.get(token, f"⟨{token}⟩")

    @property
    def trace(self) -> Trace:
        """The run so far. Its times are those of single steps; nothing ran at the same time."""
        return self.trace_of(self.state, "by hand", f"constant({self.run_ahead})")

    def trace_of(self, state: State, policy: str, run_ahead: str, method: str = "amusd") -> Trace:
        header = ev.Header(
            source="simulated",
            method=method,
            policy=policy,
            run_ahead=run_ahead,
            max_new_tokens=self.max_new_tokens,
            end_tokens=self.pair.end_tokens,
            pair=self.pair.name,
            draft=self.pair.draft_model,
            target=self.pair.target_model,
            draft_device=ev.Device(name="by_hand:0", label="device of the draft"),
            target_device=ev.Device(name="by_hand:1", label="device of the target"),
            prompt=self.pair.prompt,
            prompt_ids=self.pair.prompt_ids,
            notes={
                "scheduled": "by hand, from measured steps",
                "follows": self.pair.context[-200:],
            },
        )
        return Trace(header, state.events)

    # -- the beginning ------------------------------------------------------------------------

    def opened(self, policy: WindowPolicy, run_ahead: RunAheadPolicy) -> State:
        """Both models have read the prompt, and the draft has heard of the first token."""
        length, ends = self.max_new_tokens, self.pair.end_tokens
        state = State(
            DraftSide(run=1, max_new_tokens=length, end_tokens=ends, run_ahead=run_ahead),
            TargetSide(
                run=1,
                max_new_tokens=length,
                end_tokens=ends,
                rows=self.rows,
                policy=policy,
                run_ahead=run_ahead.promised,
            ),
        )
        for side in ev.Side:
            read = len(self.pair.prompt_ids)
            state.events.append(ev.Prefill(start=0, end=0, side=side, tokens=read))
        window = state.target.take_window()
        self._judge(state, window, 0, self.pair.verify((), ())[0])
        if not state.done:
            self._hear(state, 0)
        state.sentence = sentences.opening(self, state)
        return state

    # -- the five acts ------------------------------------------------------------------------

    def _draft(self, state: State) -> None:
        answer, took = self.pair.draft(state.draft.tokens)
        self.texts[answer.token] = answer.text
        start, dead = state.draft_clock, state.dead_from
        proposal = state.draft.propose(answer.token)
        state.draft_clock = end = start + took
        state.proposals.append((end, proposal))
        state.events.append(
            stamp.proposed(start, end, proposal, text=answer.text, probability=answer.probability)
        )
        if dead is not None:
            state.wasted += took
        state.sentence = sentences.drafted(self, state, proposal, took, dead)

    def _read(self, state: State) -> None:
        since, paused = state.draft_clock, state.draft.pause()
        state.draft_clock = t = max(since, state.commits[0][0])
        if paused in stamp.WAIT_OF_PAUSE and t > since:
            reason = stamp.WAIT_OF_PAUSE[paused]
            state.events.append(ev.Waited(start=since, end=t, side=ev.Side.DRAFT, reason=reason))
        adoptions = self._hear(state, t)
        state.sentence = sentences.heard(self, state, adoptions, waited=t - since)

    def _hear(self, state: State, t: int) -> list[Adoption]:
        adoptions: list[Adoption] = []
        while state.commits and state.commits[0][0] <= t:
            _, commit = state.commits.popleft()
            branch = state.draft.branch
            adoption = state.draft.hear(commit)
            state.events += stamp.commit_heard(t, commit, adoption, state.draft, branch)
            adoptions.append(adoption)
        return adoptions

    def _receive(self, state: State) -> None:
        since = state.target_clock
        state.target_clock = t = max(since, state.proposals[0][0])
        if t > since:
            state.events.append(
                ev.Waited(start=since, end=t, side=ev.Side.TARGET, reason=ev.Wait.PROPOSALS)
            )
        taken, dropped = self._take_in(state, t)
        state.sentence = sentences.received(self, state, taken, dropped, waited=t - since)

    def _take_in(self, state: State, t: int) -> tuple[list[Proposal], list[Dropped]]:
        taken: list[Proposal] = []
        dropped: list[Dropped] = []
        while state.proposals and state.proposals[0][0] <= t:
            _, proposal = state.proposals.popleft()
            gone = state.target.receive(proposal, t)
            state.events += stamp.proposal_received(t, proposal, gone)
            taken.append(proposal)
            dropped += gone
        return taken, dropped

    def _start(self, state: State) -> None:
        start = state.target_clock
        window = state.target.take_window()
        _, took = self.pair.verify(state.target.committed, window.tokens)
        state.verifying = (start, start + took)
        state.events.append(stamp.verify_started(start, window))
        state.sentence = sentences.started(self, state, window, took)

    def _finish(self, state: State) -> None:
        assert state.verifying is not None
        assert state.target.window is not None
        start, end = state.verifying
        state.target_clock, state.verifying = end, None
        window = state.target.window
        answers, _ = self.pair.verify(state.target.committed, window.tokens)
        self._take_in(state, end)
        verdict = self._judge(state, window, start, answers)
        proposals, tokens = len(window.tokens), len(verdict.tokens)
        state.target.policy.passed(proposals=proposals, tokens=tokens, start=start, end=end)
        state.sentence = sentences.judged(self, state, window, verdict)

    def _judge(
        self, state: State, window: Window, start: int, answers: Sequence[Answer]
    ) -> Verdict:
        end = state.target_clock
        for answer in answers:
            self.texts[answer.token] = answer.text
        verdict = state.target.settle(answer.token for answer in answers)
        texts = [self.word(token) for token in verdict.tokens]
        state.events += stamp.verdict_reached(start, end, window, verdict, texts=texts)
        if verdict.finish:
            state.events.append(
                ev.Finished(t=end, reason=verdict.finish, tokens=len(state.target.committed))
            )
        else:
            state.commits.append((end, verdict.commit(state.target.run)))
        return verdict
