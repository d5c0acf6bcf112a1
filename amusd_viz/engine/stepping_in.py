"""AMUSD with a speculator: its heads step in where the target would wait for the draft.

Draft and target run all the time, as in AMUSD. Where the draft has not sent what is waited for (right
after a rollback it has nothing) the heads in the target's process go on where the pending proposals end,
and all is judged at once. The draft hears what is committed, as ever, and takes over where it is ahead.
"""

from __future__ import annotations

from typing import Any

import torch

from amusd_viz.engine.heads import Heads, proposals
from amusd_viz.engine.orders import Birth, RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.engine.target_worker import TargetRun
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import Verdict, Window
from amusd_viz.protocol.payoff import Payoff

TRIAL = 24
"""Passes with heads in reserve, and as many without, before both ways are compared."""


class SteppingInRun(TargetRun):
    """The target's half of a run whose draft is stood in for by heads.

    Args:
        lm, order, birth, recorder, learnt: see :class:`~amusd_viz.engine.target_worker.TargetRun`.
        speculator: the heads, on the target's device.
    """

    def __init__(
        self,
        lm: LanguageModel,
        order: RunOrder,
        birth: Birth,
        recorder: Recorder,
        speculator: Speculator,
        learnt: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(lm, order, birth, recorder, learnt)
        self.heads = Heads(speculator, order, self.chooser, recorder)
        self.payoff: Payoff | None = None
        """Says when the heads keep silent, as in plain AMUSD; ``None`` always lets them speak."""
        if order.settings.policy == "adaptive":
            name = f"stepping in {self.heads.shape}"
            self.payoff = self.learnt.setdefault(name, Payoff(TRIAL, TRIAL))
        self._judged_at = 0
        """When the last verdict was reached (ns)."""

    def _wait(self) -> None:
        if self._room_for_heads():
            self._verify()
        else:
            super()._wait()

    def _verify(self) -> None:
        own = self._draft() if self._room_for_heads() else ()
        start = self.recorder.now()
        self._delay()
        self._judge(start, self.side.take_window(own=own))

    def _room_for_heads(self) -> int:
        """How many heads have something to propose now; 0 where the draft's proposals are enough."""
        if self.payoff and not self.payoff.worth_drafting():
            return 0
        unheard = self.heads.shape.heads - len(self.side.pending)
        return max(0, min(unheard, self.side.lacks()))

    def _draft(self) -> tuple[int, ...]:
        """Lets the heads go on behind all that is pending; records what they propose."""
        start = self.recorder.now()
        side, pending = self.side, [proposal.token for proposal in self.side.pending]
        room = self._room_for_heads()
        drafted = self.heads.propose(side.committed, pending, nodes=room, depth=room)
        position = len(side.committed) + len(pending)
        self.recorder.extend(
            proposals(drafted, start, side.next_chain, position, first=len(pending))
        )
        return drafted.tree.tokens

    def _settle(self, start: int, window: Window, logits: torch.Tensor) -> Verdict:
        verdict = super()._settle(start, window, logits)
        end = self.recorder.now()
        if self.payoff and window.position:
            # Of a pass and the wait before it: with heads in reserve, whether they spoke or not.
            self.payoff.passed(
                tokens=len(verdict.tokens),
                ns=end - self._judged_at,
                proposals=int(self.payoff.worth_drafting()),
            )
        self._judged_at = end
        self.heads.remember(self.lm, len(logits), window, verdict)
        return verdict
