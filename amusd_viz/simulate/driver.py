"""The protocol in virtual time: the same two sides as the engine's, with clocks for models.

The two devices have a clock each. The target's is carried from verdict to verdict; the draft's is
carried along as far as the target can know of it. At equal times proposals arrive first, then a
verdict is reached, then commits arrive, then new steps start.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

from amusd_viz import events as ev
from amusd_viz import words
from amusd_viz.errors import SettingError
from amusd_viz.protocol import (
    AdaptiveRunAhead,
    AdaptiveWindow,
    Commit,
    Confidence,
    ConstantRunAhead,
    DraftSide,
    Fixed,
    Proposal,
    RunAheadPolicy,
    Step,
    TakeTurns,
    TargetSide,
    Verdict,
    WindowPolicy,
    window_policy,
)
from amusd_viz.simulate.checks import whole
from amusd_viz.simulate.logs import Log, Recorder
from amusd_viz.simulate.text import Text
from amusd_viz.simulate.timing import Timing
from amusd_viz.stamp import WAIT_OF_PAUSE
from amusd_viz.trace import Trace

__all__ = ["Simulation", "Text", "Timing", "simulate"]


class Simulation:
    """One run in virtual time.

    Args:
        text: what the models write.
        timing: how long things take.
        target: the target's side of the protocol, fresh.
        draft: the draft's side; ``None`` for plain decoding.
        log: is told everything that happens.
        preemptible: the draft drops the step it is in when it hears that its branch is dead; a real
            one hears commits between two steps only.
        shared: both models run on one device, one step or pass at a time, first come, first served.
        heads: the draft is a speculator's heads, which read no prompt.
        stepping_in: how many heads of a speculator may step in where the target would wait for the
            draft.
    """

    def __init__(
        self,
        text: Text,
        timing: Timing,
        target: TargetSide,
        draft: DraftSide | None,
        log: Log,
        *,
        preemptible: bool = False,
        shared: bool = False,
        heads: bool = False,
        stepping_in: int = 0,
    ) -> None:
        self.text = text
        self.timing = timing
        self.target = target
        self.draft = draft
        self.log = log
        self.preemptible = preemptible
        self.shared = shared
        self.heads = heads
        self.stepping_in = stepping_in
        self.doubts = isinstance(target.policy, Confidence)
        """Whether the draft flags what it is unsure of: exactly where it is wrong."""
        self.now = 0
        """When the target reached its last verdict."""
        self.proposals: deque[tuple[int, Proposal]] = deque()
        """On their way to the target or in its mailbox, with their arrival."""
        self.commits: deque[tuple[int, Commit]] = deque()
        """On their way to the draft or in its mailbox, with their arrival."""
        self.step: tuple[int, int] | None = None
        """Start and end of the step the draft is in."""
        self.draft_free = 0
        """Since when the draft is in no step."""
        self.paused: tuple[int, ev.Wait] | None = None
        """Since when and why the draft stands still."""
        self.lacked = 0
        """Tokens adopted without having been drafted, since the last step began."""
        self.astray = False
        """Whether the draft builds on a token that the target will not choose."""

    def run(self) -> None:
        """Plays the run from its prefill to its end."""
        self.prefill()
        while not self.target.finish:
            self.next_verdict()

    # -- the target --------------------------------------------------------------------------

    def prefill(self) -> None:
        """Both sides read the prompt; the target commits the first token."""
        end = self.timing.target_prefill
        self.log.prefilled(ev.Side.TARGET, end)
        if self.draft is None:
            self.target.lose_draft()
        else:
            self.draft_free = self.timing.draft_prefill + (end if self.shared else 0)
            if not self.heads:
                self.log.prefilled(ev.Side.DRAFT, self.draft_free)
        self._draft_until(end)
        self._judge(end, end)

    def next_verdict(self) -> Verdict:
        """Plays until the target has judged one more window."""
        start, own = self._step_in(self._start_of_pass())
        window = self.target.take_window(own=own)
        self.log.verify_started(start, window)
        return self._judge(start, start + self.timing.target(len(window.tokens)))

    def _start_of_pass(self) -> int:
        arrival = self.now
        start = self._when_device_free(arrival, draft_first=True)
        self._take_in(start)
        while self.target.next_step() is Step.WAIT and not self._room_for_heads():
            arrival = max(start, self._next_arrival())
            start = self._when_device_free(arrival)
            self._take_in(start)
        if arrival > self.now:
            self.log.waited(ev.Side.TARGET, self.now, arrival, ev.Wait.PROPOSALS)
        return start

    def _room_for_heads(self) -> int:
        return max(0, min(self.stepping_in - len(self.target.pending), self.target.lacks()))

    def _step_in(self, start: int) -> tuple[int, list[int]]:
        """What heads propose behind all that is pending, and when they have spoken."""
        pending, run = len(self.target.pending), self.target.run
        first = len(self.target.committed) + pending
        own = list(self.text.heads[first : first + self._room_for_heads()])
        for i, token in enumerate(own):
            proposal = Proposal(run, self.target.next_chain, first + i, token)
            self.log.stepped_in(start, start + self.timing.head, proposal, pending + i)
            start += self.timing.head
        return start, own

    def _judge(self, start: int, end: int) -> Verdict:
        window = self.target.window or self.target.take_window()
        self.now = end
        self._draft_until(end)
        self._take_in(end)
        verdict = self.target.settle(
            self.text.target[window.position : window.position + len(window.tokens) + 1]
        )
        self.log.judged(start, end, window, verdict)
        if window.position:
            proposals, tokens = len(window.tokens), len(verdict.tokens)
            self.target.policy.passed(proposals=proposals, tokens=tokens, start=start, end=end)
        if verdict.finish:
            self.log.finished(end, verdict.finish, len(self.target.committed))
        elif self.draft:
            arrival = end + self.timing.latency_to_draft
            self.commits.append((arrival, verdict.commit(self.target.run)))
        return verdict

    def _take_in(self, t: int) -> None:
        while self.proposals and self.proposals[0][0] <= t:
            _, proposal = self.proposals.popleft()
            self.log.received(t, proposal, self.target.receive(proposal, t))

    def _next_arrival(self) -> int:
        if not self.proposals:
            self._draft_until(math.inf, one_proposal=True)
            assert self.proposals, "the target waits for a draft that waits for the target"
        return self.proposals[0][0]

    def _when_device_free(self, t: int, *, draft_first: bool = False) -> int:
        """When the target may start: on a shared device, after the step the draft is in.

        After a verdict a draft that has been kept waiting goes first.
        """
        if not self.shared or self.draft is None:
            return t
        self._draft_until(t)
        if self.step is None and draft_first:
            self._start_step(t, latest=t)
        if self.step is not None:
            t = self.step[1]
            self._draft_until(t)
        return t

    # -- the draft ---------------------------------------------------------------------------

    def _draft_until(self, t: float, *, one_proposal: bool = False) -> None:
        """Carries the draft's clock to ``t``; a step that could start at ``t`` itself waits."""
        if self.draft is None:
            return
        while True:
            if self.step is None:
                if not self._start_step(self.draft_free, latest=t - 1):
                    return
            elif self.preemptible and self._hears_within_step(t):
                continue
            elif self.step[1] > t:
                return
            else:
                self._propose()
                if one_proposal:
                    return

    def _start_step(self, t: int, latest: float) -> bool:
        """Starts the draft's next step, at ``t`` or when a commit ends its pause by ``latest``."""
        draft = self.draft
        assert draft is not None
        if self.shared:
            t = max(t, self.now)
        while t <= latest:
            while self.commits and self.commits[0][0] <= t:
                self._hear(t)
            paused = draft.pause()
            if paused is None:
                if self.paused:
                    since, reason = self.paused
                    self.log.waited(ev.Side.DRAFT, since, t, reason)
                    self.paused = None
                catching_up = self.lacked * self.timing.catching_up
                self.step = (t, t + self.timing.draft_step() + catching_up)
                self.lacked = 0
                return True
            if self.paused is None:
                self.paused = (t, WAIT_OF_PAUSE[paused])
            if not self.commits:
                return False
            t = self.commits[0][0]
        return False

    def _hears_within_step(self, t: float) -> bool:
        assert self.step is not None
        start, end = self.step
        if not self.commits or self.commits[0][0] > t or self.commits[0][0] >= end:
            return False
        arrival = max(start, self.commits[0][0])
        if self._hear(arrival) != "carried_on":
            self.log.interrupted(start, arrival)
            self.step, self.draft_free = None, arrival
        return True

    def _hear(self, t: int) -> str:
        assert self.draft is not None
        _, commit = self.commits.popleft()
        branch = self.draft.branch
        adoption = self.draft.hear(commit)
        if adoption.kind == "rolled_back":
            self.astray = False
        elif adoption.kind == "fast_forwarded":
            self.lacked += len(adoption.adopted)
        self.log.heard(t, commit, adoption, self.draft, branch)
        return adoption.kind

    def _propose(self) -> None:
        assert self.draft is not None
        assert self.step is not None
        start, end = self.step
        position = len(self.draft.tokens)
        tokens = self.text.astray if self.astray and self.text.astray else self.text.draft
        token = tokens[position]
        if self.text.astray and token != self.text.target[position]:
            self.astray = True
        unsure = self.doubts and self.text.target[position : position + 1] != [token]
        proposal = self.draft.propose(token, unsure=unsure)
        self.log.proposed(start, end, proposal)
        self.proposals.append((end + self.timing.latency_to_target, proposal))
        self.step, self.draft_free = None, end


METHODS = tuple(words.METHODS)
MOST_TOKENS = 10**8


def simulate(
    text: Text,
    timing: Timing,
    *,
    method: str = "amusd",
    max_new_tokens: int,
    policy: str | WindowPolicy = "paper",
    lookahead: int = 4,
    run_ahead: int = 16,
    rows: int = 8,
    preemptible: bool = False,
    shared: bool = False,
    notes: dict[str, str] | None = None,
) -> Trace:
    """Simulates one run and returns its trace, marked ``simulated``.

    Args:
        text: what the models write; at least ``max_new_tokens`` long.
        timing: how long their steps and messages take.
        method: ``"amusd"``, ``"synchronous"``, ``"speculator"`` (a chain of heads inside the
            target's process: turns without messages on one device), ``"amusd+speculator"`` (heads
            step in where the target would wait for the draft) or ``"autoregressive"``.
        max_new_tokens: length of the output.
        policy: how many proposals the target waits for (both AMUSDs). Under ``confidence(p)`` an
            imaginary draft is unsure exactly where it is wrong, which no real one can be.
        lookahead: proposals a round (synchronous); how many heads speak (of a speculator).
        run_ahead: how far ahead the draft may run (both AMUSDs).
        rows: most tokens one target pass takes.
        preemptible: the draft drops the step it is in when its branch dies.
        shared: both models on one device.
        notes: remarks for the header, such as where the numbers come from.

    Raises:
        SettingError: a number or name that makes no sense.
    """
    whole("max_new_tokens", max_new_tokens, 1, MOST_TOKENS)
    target, draft = sides(
        method,
        max_new_tokens=max_new_tokens,
        policy=policy,
        lookahead=lookahead,
        run_ahead=run_ahead,
        rows=rows,
    )
    if min(len(text.target), len(text.draft)) < max_new_tokens:
        raise SettingError(
            f"the text has {min(len(text.target), len(text.draft))} tokens; "
            f"give at least max_new_tokens ({max_new_tokens})"
        )
    recorder = Recorder(text.words)
    heads, both = method == "speculator", method == "amusd+speculator"
    if heads:
        timing, shared = inside_target(timing), True
    if both and len(text.heads) < max_new_tokens:
        raise SettingError(
            f"the text has {len(text.heads)} tokens of heads that step in; "
            f"give at least max_new_tokens ({max_new_tokens})"
        )
    Simulation(
        text,
        timing,
        target,
        draft,
        recorder,
        preemptible=preemptible,
        shared=shared,
        heads=heads,
        stepping_in=lookahead if both else 0,
    ).run()
    target_device = 0 if shared else 1
    header = ev.Header(
        source="simulated",
        method=method,
        policy=target.policy.name if draft else "",
        run_ahead=draft.run_ahead.name if draft else "",
        max_new_tokens=max_new_tokens,
        draft=ev.Model(name=f"imaginary {'speculator' if heads else 'draft'}") if draft else None,
        target=ev.Model(name="imaginary target"),
        speculator=ev.Model(name="imaginary speculator") if both else None,
        draft_device=_virtual_device(0) if draft else None,
        target_device=_virtual_device(target_device),
        notes=notes or {},
    )
    return Trace(header, recorder.events)


def inside_target(timing: Timing) -> Timing:
    """The same times for heads in the target's process: no messages travel, and no prompt is read."""
    return replace(timing, latency_to_target=0, latency_to_draft=0, draft_prefill=0)


def _virtual_device(number: int) -> ev.Device:
    return ev.Device(name=f"virtual:{number}", label=f"virtual device {number}")


def sides(
    method: str,
    *,
    max_new_tokens: int,
    policy: str | WindowPolicy,
    lookahead: int,
    run_ahead: int,
    rows: int,
) -> tuple[TargetSide, DraftSide | None]:
    """The two sides of the protocol, fresh, as ``method`` drives them."""
    if method not in METHODS:
        raise SettingError(f"unknown method {method!r}; use one of {', '.join(METHODS)}")
    whole("rows", rows, 1, 4096)
    ahead: RunAheadPolicy | None = None
    window = window_policy_of(policy)
    if method in ("synchronous", "speculator"):
        ahead = TakeTurns(whole("lookahead", lookahead, 1, 4096))
        window = Fixed(lookahead, f"lookahead({lookahead})")
    elif method in ("amusd", "amusd+speculator"):
        whole("lookahead", lookahead, 1, 4096)
        adaptive = isinstance(window, AdaptiveWindow)
        kind = AdaptiveRunAhead if adaptive else ConstantRunAhead
        ahead = kind(whole("run_ahead", run_ahead, 1, 4096))
    else:
        window = Fixed(0, "none")
    target = TargetSide(
        run=1,
        max_new_tokens=max_new_tokens,
        end_tokens=(),
        rows=rows,
        policy=window,
        run_ahead=ahead.promised if ahead else 0,
    )
    if ahead is None:
        return target, None
    return target, DraftSide(run=1, max_new_tokens=max_new_tokens, end_tokens=(), run_ahead=ahead)


def window_policy_of(policy: str | WindowPolicy) -> WindowPolicy:
    """The policy of a name, fresh; or the given one."""
    if not isinstance(policy, str):
        return policy
    try:
        return window_policy(policy)
    except ValueError as error:
        raise SettingError(str(error)) from None
