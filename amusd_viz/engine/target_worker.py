"""The target's half of a run, with a real model: judge, commit, and never depend on the draft."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.engine.mailbox import CommitSender, ProposalReceiver
from amusd_viz.engine.orders import ABORT, DRAFT_LOST, STOP, Birth, RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.engine.settings import RunSettings
from amusd_viz.engine.waiting import wait_until
from amusd_viz.models.choice import TokenChooser, chances
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.native.library import Chances
from amusd_viz.models.tokens import Tokens
from amusd_viz.protocol import Step, TargetSide, Verdict, Window, WindowPolicy
from amusd_viz.stop_strings import StopStrings

SILENCE_S = 2.0
"""How long the target waits for a draft that sends nothing before it decodes on without it."""


def stop_condition(stops: Sequence[str], folder: Path) -> StopStrings | None:
    """Whether an output is over; ``None`` without stop strings, which need no tokenizer here."""
    return StopStrings(stops, tokens_of(folder).text) if stops else None


tokens_of = lru_cache(maxsize=1)(Tokens)


def _experienced(settings: RunSettings, learnt: dict[str, Any]) -> WindowPolicy:
    """The run's policy, which starts from what it measured in the last run of the same method."""
    policy = settings.window_policy()
    name = f"{settings.method} {policy.name}"
    if name in learnt:
        policy.learn_from(learnt[name])
    learnt[name] = policy
    return policy


class TargetRun:
    """One run of the target.

    Args:
        lm: the model, on its device, with fixed rows.
        order: what to decode.
        birth: what the worker was told; here, its shared memory and vocabulary.
        recorder: where events go.
        learnt: what chose in earlier runs, by name; what measures goes on from what it found, and
            this run's is left there.
    """

    def __init__(
        self,
        lm: LanguageModel,
        order: RunOrder,
        birth: Birth,
        recorder: Recorder,
        learnt: dict[str, Any] | None = None,
    ) -> None:
        settings = order.settings
        assert lm.rows is not None, "the target's passes have one shape"
        self.lm = lm
        self.order = order
        self.inbox = ProposalReceiver(birth.proposals)
        self.outbox = CommitSender(birth.commits)
        self.flags = birth.flags
        self.recorder = recorder
        self.chooser = TokenChooser(settings.sampling, birth.vocabulary)
        self.learnt = {} if learnt is None else learnt
        self.side = TargetSide(
            run=order.run,
            max_new_tokens=settings.max_new_tokens,
            end_tokens=order.end_tokens,
            rows=lm.rows,
            policy=_experienced(settings, self.learnt),
            run_ahead=settings.run_ahead_policy().promised,
            is_stop=stop_condition(settings.stop, birth.source.folder),
        )
        if not settings.uses_draft:
            self.side.lose_draft()
        self._steps = 0

    def play(self) -> None:
        """Runs until the output is complete, or the caller asks for its end."""
        self._prefill()
        while True:
            self._receive()
            step = self.side.next_step()
            if step is Step.DONE:
                break
            if step is Step.WAIT:
                self._wait()
            else:
                self._verify()
            self.recorder.flush_if_due()
        self.recorder.flush()

    # -- messages ----------------------------------------------------------------------------

    def _receive(self) -> None:
        """Takes in what has arrived: proposals, the loss of the draft, a request to stop."""
        if self._flag(DRAFT_LOST):
            self.side.lose_draft()
        self._receive_proposals()
        if (self._flag(STOP) or self._flag(ABORT)) and (verdict := self.side.request_stop()):
            self._commit(verdict)
            t = self.recorder.now()
            self.recorder.extend(stamp.proposals_dropped(t, verdict.dropped))
            self._finish(verdict, t)

    def _receive_proposals(self) -> None:
        for proposal in self.inbox.receive():
            now = self.recorder.now()
            dropped = self.side.receive(proposal, now)
            self.recorder.later(partial(stamp.proposal_received, now, proposal, dropped))

    def _flag(self, which: int) -> bool:
        return self.flags[which] == self.order.run

    def _commit(self, verdict: Verdict) -> None:
        if self.side.draft_lost:
            return
        if self.outbox.has_room(len(verdict.tokens)):
            self.outbox.send(verdict.commit(self.order.run))
        else:
            # A draft that has read nothing for thousands of tokens hangs; it must not stop us.
            self.side.lose_draft()

    def _wait(self) -> None:
        self.recorder.flush()
        start = self.recorder.now()
        if not wait_until(self._something_new, SILENCE_S):
            self.side.give_up_waiting()
        self.recorder.add(
            ev.Waited(
                start=start,
                end=self.recorder.now(),
                side=ev.Side.TARGET,
                reason=ev.Wait.PROPOSALS,
            )
        )

    def _something_new(self) -> bool:
        return (
            self.inbox.waiting()
            or self._flag(STOP)
            or self._flag(ABORT)
            or (self._flag(DRAFT_LOST) and not self.side.draft_lost)
        )

    # -- forward passes ----------------------------------------------------------------------

    def _prefill(self) -> None:
        prompt = self.order.prompt_ids
        start = self.recorder.now()
        logits = self.lm.prefill(prompt)
        end = self.recorder.now()
        self.recorder.add(ev.Prefill(start=start, end=end, side=ev.Side.TARGET, tokens=len(prompt)))
        self._receive()
        if self.side.finish is None:
            self._settle(self.recorder.now(), self.side.take_window(), logits[None])

    def _verify(self) -> None:
        start = self.recorder.now()
        self._delay()
        self._judge(start, self.side.take_window())

    def _judge(self, start: int, window: Window) -> None:
        """One pass over a window taken at ``start``, and its verdict."""
        self.recorder.add(stamp.verify_started(start, window))
        prefix = [*self.order.prompt_ids, *self.side.committed]
        logits = self.lm.logits_after(prefix, window.tokens)
        # What arrived meanwhile is there when the verdict is, and may be contradicted by its bonus.
        self._receive_proposals()
        self._settle(start, window, logits)

    def _settle(self, start: int, window: Window, logits: torch.Tensor) -> Verdict:
        """Judges the window by the rows of ``logits``, commits and records."""
        computed = self.recorder.now()
        scores: list[np.ndarray] = []

        def choose(node: int) -> int:
            # What was accepted of the window so far is committed by now.
            committed = self.side.committed
            row = self.chooser.processed(logits[node + 1], [*self.order.prompt_ids, *committed])
            scores.append(row)
            return self.chooser.choose(row, len(committed))

        verdict = self.side.settle_tree(choose)
        end = self.recorder.now()
        self._commit(verdict)
        if window.position:
            proposals, tokens = len(window.tokens), len(verdict.tokens)
            self.side.policy.passed(proposals=proposals, tokens=tokens, start=start, end=end)
        judged = verdict.tokens if window.tree else (*window.tokens, *verdict.tokens[-1:])
        seen = [chances(row, judged[i]) for i, row in enumerate(scores)]
        self.recorder.later(partial(_judged, start, computed, end, window, verdict, seen))
        if verdict.finish:
            self._finish(verdict, end)
        return verdict

    def _finish(self, verdict: Verdict, t: int) -> None:
        assert verdict.finish is not None
        self.recorder.add(ev.Finished(t=t, reason=verdict.finish, tokens=len(self.side.committed)))

    def _delay(self) -> None:
        if delays := self.order.settings.delays[1]:
            time.sleep(delays[self._steps % len(delays)])
            self._steps += 1


def _judged(
    start: int,
    computed: int,
    end: int,
    window: Window,
    verdict: Verdict,
    seen: Sequence[Chances],
) -> list[ev.Event]:
    """What is recorded of a pass."""
    return stamp.verdict_reached(
        start,
        end,
        window,
        verdict,
        probabilities=[row.taken for row in seen],
        alternatives=[stamp.candidates(row.candidates()) for row in seen],
        computed=computed,
    )
