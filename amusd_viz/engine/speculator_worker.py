"""A run without a draft model: heads inside the target's process propose from its hidden state.

The draft's side of the protocol runs in the same process and hears every commit at once, so a run is
synchronous decoding whose messages take no time. Which tokens come out is decided as ever: by the
target's own choices.
"""

from __future__ import annotations

from typing import Any

import torch

from amusd_viz import stamp
from amusd_viz.engine.heads import Heads, proposals
from amusd_viz.engine.orders import Birth, RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.engine.target_worker import TargetRun
from amusd_viz.models.drafting import Drafted
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import DraftSide, TakeTurns, Tree, Verdict, Window, look_up
from amusd_viz.protocol.confident_tree import ConfidentTree

NOTHING = Drafted(Tree((), ()), (), (), (), 0)
"""What is drafted where there is no room."""


class SpeculatorRun(TargetRun):
    """One run of target and speculator.

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
        settings = order.settings
        self.heads = Heads(speculator, order, self.chooser, recorder)
        assert lm.rows is not None
        self.most = lm.rows - 1
        """Proposals that a pass can judge."""
        self.draft = DraftSide(
            run=order.run,
            max_new_tokens=settings.max_new_tokens,
            end_tokens=order.end_tokens,
            run_ahead=TakeTurns(self.most),
        )
        self.growth: ConfidentTree | None = None
        """Says how far what the heads propose grows; ``None`` where that is fixed."""
        self.copied: ConfidentTree | None = None
        """Says how much is taken of what the text repeats; ``None`` for all of it."""
        if settings.policy == "adaptive":
            shape = self.heads.shape
            most = self.most if shape.candidates > 1 else shape.heads
            self.growth = self.learnt.setdefault(f"heads {shape}", ConfidentTree(most))
            if settings.prompt_lookup:
                self.copied = self.learnt.setdefault("lookup", ConfidentTree(self.most))

    def _commit(self, verdict: Verdict) -> None:
        t = self.recorder.now()
        commit, branch = verdict.commit(self.order.run), self.draft.branch
        adoption = self.draft.hear(commit)
        if verdict.tokens:
            self._heard = stamp.commit_heard(t, commit, adoption, self.draft, branch)

    def _verify(self) -> None:
        begun = self.recorder.now()
        copied = self._look_up()
        drafted = self._copy(copied) if copied else self._ask_heads()
        start = self.recorder.now()
        self._delay()
        window = self.side.take_tree(self.draft.branch, drafted.tree)
        if window.tokens:
            self.recorder.add(stamp.tree_received(start, window))
        self.recorder.add(stamp.verify_started(start, window))
        verdict = self._settle(start, window, self._logits(window))
        drafting, verifying = start - begun, self.recorder.now() - start
        if growth := self.copied if copied else self.growth:
            judged = drafted.tree.judged(verdict.path or range(verdict.accepted))
            growth.passed(
                judged=((drafted.chances[node], right) for node, right in judged),
                size=len(drafted.tree),
                spoken=drafted.spoken,
                accepted=verdict.accepted,
                drafting=drafting,
                verifying=verifying,
            )

    def _look_up(self) -> tuple[int, ...]:
        """What followed where the text stood like this before; nothing where it did not."""
        if not self.order.settings.prompt_lookup:
            return ()
        return look_up([*self.order.prompt_ids, *self.side.committed], self.most)

    def _logits(self, window: Window) -> torch.Tensor:
        prefix = [*self.order.prompt_ids, *self.side.committed]
        if window.tree is None:
            return self.lm.logits_after(prefix, window.tokens)
        return self.lm.logits_of_tree(prefix, window.tree.tokens, window.tree.parents)

    def _settle(self, start: int, window: Window, logits: torch.Tensor) -> Verdict:
        verdict = super()._settle(start, window, logits)
        self.recorder.extend(self._heard)
        if window.tree:
            accepted = [window.tree.tokens[node] for node in verdict.path]
            self.lm.keep_path(accepted, verdict.path)
        self.heads.remember(self.lm, len(logits), window, verdict)
        return verdict

    def _copy(self, copied: tuple[int, ...]) -> Drafted:
        """Proposes of what the text repeats what fits and pays, and records it."""
        start = self.recorder.now()
        # The longer the past that agrees, the more is copied, and the surer it is.
        chances = (len(copied) / self.most,) * len(copied)
        growth = self.copied
        wanted = growth.choose(growth.in_a_row(chances)) if growth else len(copied)
        depth = min(wanted, self.side.room)
        tree = Tree.chain(copied).limited(self.most, depth, self.order.end_tokens)
        made = [self.draft.propose(token) for token in tree.tokens]
        end = self.recorder.now()
        self.recorder.extend(stamp.looked_up(start, end, made))
        known = chances[: len(tree)]
        return Drafted(tree, known, known, (end,) * len(tree), len(tree))

    def _ask_heads(self) -> Drafted:
        """Lets the heads propose what fits and pays, tells the draft's side and records it."""
        start, depth = self.recorder.now(), min(self.heads.shape.heads, self.side.room)
        if not depth:
            return NOTHING
        committed, branch = self.side.committed, self.draft.branch
        drafted = self.heads.propose(committed, nodes=self.most, depth=depth, growth=self.growth)
        for token in drafted.tree.main_chain:
            self.draft.propose(token)
        self.recorder.extend(proposals(drafted, start, branch, len(committed)))
        return drafted
