"""The draft's half of a run, with a real model: propose, hear, roll back."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.engine.mailbox import CommitReceiver, ProposalSender
from amusd_viz.engine.orders import ABORT, Birth, RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.engine.waiting import wait_until
from amusd_viz.models.choice import TokenChooser, chances
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.native.library import Chances
from amusd_viz.protocol import DraftSide, Pause, Proposal


class DraftRun:
    """One run of the draft. Never decides anything about the output: it only proposes.

    Args:
        lm: the model, on its device.
        order: what to decode.
        birth: what the worker was told; here, its shared memory and vocabulary.
        recorder: where events go.
    """

    def __init__(
        self, lm: LanguageModel, order: RunOrder, birth: Birth, recorder: Recorder
    ) -> None:
        settings = order.settings
        self.lm = lm
        self.order = order
        self.outbox = ProposalSender(birth.proposals)
        self.inbox = CommitReceiver(birth.commits)
        self.flags = birth.flags
        self.recorder = recorder
        self.chooser = TokenChooser(settings.sampling, birth.vocabulary)
        self.side = DraftSide(
            run=order.run,
            max_new_tokens=settings.max_new_tokens,
            end_tokens=order.end_tokens,
            run_ahead=settings.run_ahead_policy(),
        )
        self._steps = 0

    def play(self) -> None:
        """Runs until the target says that it is done, or the run is aborted."""
        start = self.recorder.now()
        first = self.lm.prefill(self.order.prompt_ids)
        end = self.recorder.now()
        self.recorder.add(
            ev.Prefill(start=start, end=end, side=ev.Side.DRAFT, tokens=len(self.order.prompt_ids))
        )
        while not self._over():
            self._hear()
            paused = self.side.pause()
            if paused is None and self.outbox.has_room():
                self._propose(None if self.side.tokens else first)
                self.recorder.flush_if_due()
            elif paused is not Pause.DONE:
                self._wait(paused or Pause.RUN_AHEAD_LIMIT)
        self.recorder.flush()

    def _over(self) -> bool:
        return self.side.done or self._aborted()

    def _aborted(self) -> bool:
        return self.flags[ABORT] == self.order.run

    def _hear(self) -> None:
        for commit in self.inbox.receive():
            branch = self.side.branch
            adoption = self.side.hear(commit)
            t = self.recorder.now()
            self.recorder.extend(stamp.commit_heard(t, commit, adoption, self.side, branch))

    def _propose(self, logits: Any) -> None:
        """One step of the model; ``logits`` are those of the prefill before the first token."""
        start = self.recorder.now()
        self._delay()
        side = self.side
        prefix = [*self.order.prompt_ids, *side.tokens]
        if logits is None:
            logits = self.lm.logits_after(prefix)[0]
        computed = self.recorder.now()
        scores = self.chooser.processed(logits, prefix)
        token = self.chooser.choose(scores, len(side.tokens))
        threshold = self.order.settings.unsure_below
        seen = chances(scores, token) if threshold else None
        unsure = seen is not None and seen.taken < threshold
        proposal = side.propose(token, unsure=unsure)
        end = self.recorder.now()
        self.outbox.send(proposal)
        # What only the record needs is worked out behind the message.
        seen = seen or chances(scores, token)
        self.recorder.later(partial(_proposed, proposal, seen, start, computed, end))

    def _wait(self, paused: Pause) -> None:
        self.recorder.flush()
        start = self.recorder.now()
        wait_until(lambda: self.inbox.waiting() or self._aborted() or self._may_send())
        reason = stamp.WAIT_OF_PAUSE[paused]
        self.recorder.add(
            ev.Waited(start=start, end=self.recorder.now(), side=ev.Side.DRAFT, reason=reason)
        )

    def _may_send(self) -> bool:
        """A full mailbox is the one wait that ends without a commit."""
        return self.side.pause() is None and self.outbox.has_room()

    def _delay(self) -> None:
        if delays := self.order.settings.delays[0]:
            time.sleep(delays[self._steps % len(delays)])
            self._steps += 1


def _proposed(
    proposal: Proposal, seen: Chances, start: int, computed: int, end: int
) -> list[ev.Event]:
    """What is recorded of a step."""
    step = stamp.proposed(
        start,
        end,
        proposal,
        probability=seen.taken,
        alternatives=stamp.candidates(seen.candidates()),
        computed=computed,
    )
    return [step]
