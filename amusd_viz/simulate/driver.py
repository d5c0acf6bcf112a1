"""The protocol in virtual time: the same two sides as the engine's, with clocks for models."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.protocol import (
    Commit,
    ConstantRunAhead,
    DraftSide,
    Finish,
    Proposal,
    RunAheadPolicy,
    Step,
    TakeTurns,
    TargetSide,
    window_policy,
)
from amusd_viz.trace import Trace


@dataclass(frozen=True)
class Text:
    """What the two imaginary models write.

    Attributes:
        target: the target's token at each position.
        draft: the draft's token at each position; equal where it agrees.
        words: text of each token id.
    """

    target: Sequence[int]
    draft: Sequence[int]
    words: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """How long things take, in ns. ``target(k)`` is one pass over a window of k proposals."""

    draft: int
    target: Callable[[int], int]
    latency_to_target: int = 0
    latency_to_draft: int = 0
    draft_prefill: int = 0
    target_prefill: int = 0


class Simulation:
    """One run in virtual time. Draft steps are not interrupted: a commit is heard between two."""

    def __init__(
        self, text: Text, timing: Timing, target: TargetSide, draft: DraftSide | None
    ) -> None:
        self.text = text
        self.timing = timing
        self.target = target
        self.draft = draft
        self.events: list[ev.Event] = []
        self._queue: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = 0
        self._proposals: list[Proposal] = []
        self._commits: list[Commit] = []
        self._target_waits_since: int | None = None
        self._draft_waits_since: tuple[int, ev.Wait] | None = None

    def run(self) -> list[ev.Event]:
        """Plays the run to its end and returns its events, in order."""
        self._at(self.timing.target_prefill, self._target_prefilled)
        if self.draft:
            self._at(self.timing.draft_prefill, self._draft_prefilled)
        else:
            self.target.lose_draft()
        while self._queue and not self.target.finish:
            t, _, action = heapq.heappop(self._queue)
            action(t)
        return self.events

    def _at(self, t: int, action: Callable[[int], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (t, self._order, action))

    # -- the target --------------------------------------------------------------------------

    def _target_prefilled(self, t: int) -> None:
        self.events.append(ev.Prefill(start=0, end=t, side=ev.Side.TARGET, tokens=1))
        self._take_in_proposals(t)
        self._judge(t, t)

    def _target_wakes(self, t: int) -> None:
        self._take_in_proposals(t)
        if self.target.next_step() is Step.WAIT:
            if self._target_waits_since is None:
                self._target_waits_since = t
            return
        if self._target_waits_since is not None and t > self._target_waits_since:
            self.events.append(
                ev.Waited(
                    start=self._target_waits_since,
                    end=t,
                    side=ev.Side.TARGET,
                    reason=ev.Wait.PROPOSALS,
                )
            )
        self._target_waits_since = None
        window = self.target.take_window()
        self.events.append(stamp.verify_started(t, window))
        self._at(t + self.timing.target(len(window.tokens)), lambda end: self._judge(t, end))

    def _judge(self, start: int, end: int) -> None:
        window = self.target.window or self.target.take_window()
        verdict = self.target.settle(self.text.target[window.position :])
        texts = [self.text.words.get(token, f"⟨{token}⟩") for token in verdict.tokens]
        self.events += stamp.verdict_reached(start, end, window, verdict, texts=texts)
        commit = verdict.commit(self.target.run)
        if verdict.finish:
            self.events.append(self._finished(end, verdict.finish))
        elif self.draft:
            self._at(end + self.timing.latency_to_draft, lambda t: self._commit_arrives(t, commit))
        self._at(end, self._target_wakes)

    def _finished(self, t: int, reason: Finish) -> ev.Finished:
        return ev.Finished(t=t, reason=reason, tokens=len(self.target.committed))

    def _proposal_arrives(self, t: int, proposal: Proposal) -> None:
        self._proposals.append(proposal)
        if self._target_waits_since is not None:
            self._target_wakes(t)

    def _take_in_proposals(self, t: int) -> None:
        for proposal in self._proposals:
            self.events += stamp.proposal_received(t, proposal, self.target.receive(proposal))
        self._proposals.clear()

    # -- the draft ---------------------------------------------------------------------------

    def _draft_prefilled(self, t: int) -> None:
        self.events.append(ev.Prefill(start=0, end=t, side=ev.Side.DRAFT, tokens=1))
        self._draft_wakes(t)

    def _draft_wakes(self, t: int) -> None:
        draft = self.draft
        assert draft is not None
        for commit in self._commits:
            branch = draft.branch
            self.events += stamp.commit_heard(t, commit, draft.hear(commit), draft, branch)
        self._commits.clear()
        if paused := draft.pause():
            if self._draft_waits_since is None:
                self._draft_waits_since = (t, stamp.WAIT_OF_PAUSE[paused])
            return
        if self._draft_waits_since is not None:
            since, reason = self._draft_waits_since
            if t > since:
                self.events.append(ev.Waited(start=since, end=t, side=ev.Side.DRAFT, reason=reason))
            self._draft_waits_since = None
        self._at(t + self.timing.draft, lambda end: self._propose(t, end))

    def _propose(self, start: int, end: int) -> None:
        draft = self.draft
        assert draft is not None
        token = self.text.draft[len(draft.tokens)]
        proposal = draft.propose(token)
        self.events.append(
            ev.Proposed(
                start=start,
                end=end,
                branch=proposal.branch,
                position=proposal.position,
                token=token,
                text=self.text.words.get(token, f"⟨{token}⟩"),
            )
        )
        arrival = end + self.timing.latency_to_target
        self._at(arrival, lambda t: self._proposal_arrives(t, proposal))
        self._draft_wakes(end)

    def _commit_arrives(self, t: int, commit: Commit) -> None:
        self._commits.append(commit)
        if self._draft_waits_since is not None:
            self._draft_wakes(t)


def simulate(
    text: Text,
    timing: Timing,
    *,
    method: str = "amusd",
    max_new_tokens: int,
    policy: str = "paper",
    lookahead: int = 4,
    run_ahead: int = 16,
    rows: int = 8,
) -> Trace:
    """Simulates one run and returns its trace, marked ``simulated``.

    Args:
        text: what the models write; at least ``max_new_tokens`` long.
        timing: how long their steps and messages take.
        method: ``"amusd"``, ``"synchronous"`` or ``"autoregressive"``.
        max_new_tokens: length of the output.
        policy: how many proposals the target waits for (AMUSD only).
        lookahead: proposals a round (synchronous only).
        run_ahead: how far ahead the draft may run (AMUSD only).
        rows: most tokens one target pass takes.
    """
    drafts: dict[str, RunAheadPolicy | None] = {
        "amusd": ConstantRunAhead(run_ahead),
        "synchronous": TakeTurns(lookahead),
        "autoregressive": None,
    }
    ahead = drafts[method]
    waits = {"amusd": policy, "synchronous": f"fixed({lookahead})", "autoregressive": "eager"}[
        method
    ]
    target = TargetSide(
        run=1,
        max_new_tokens=max_new_tokens,
        end_tokens=(),
        rows=rows,
        policy=window_policy(waits),
        run_ahead=ahead.limit(1) if ahead else 0,
    )
    draft = (
        DraftSide(run=1, max_new_tokens=max_new_tokens, end_tokens=(), run_ahead=ahead)
        if ahead
        else None
    )
    events = Simulation(text, timing, target, draft).run()
    header = ev.Header(
        source="simulated",
        method=method,
        policy=target.policy.name if ahead else "",
        run_ahead=ahead.name if ahead else "",
        max_new_tokens=max_new_tokens,
        draft=ev.Model(name="imaginary draft") if ahead else None,
        target=ev.Model(name="imaginary target"),
        draft_device=ev.Device(name="virtual:0", label="virtual device 0") if ahead else None,
        target_device=ev.Device(name="virtual:1", label="virtual device 1"),
    )
    return Trace(header, events)
