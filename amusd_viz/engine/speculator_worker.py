"""A run without a draft model: heads inside the target's process propose from its hidden state.

The draft's side of the protocol runs in the same process and hears every commit at once, so a run is
synchronous decoding whose messages take no time. Which tokens come out is decided as ever: by the
target's own choices.
"""

from __future__ import annotations

from collections import defaultdict

import torch

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.engine.orders import Birth, RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.engine.target_worker import TargetRun
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.drafting import Drafted, Shape, draft, limited, sampling_scores
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import DraftSide, Tree, Verdict, Window
from amusd_viz.protocol.payoff import Payoff

DRAFTER = "speculator"
BEAMS_PER_CANDIDATE = 2
"""A tree follows so many prefixes for each candidate it keeps: all would cost more than it finds."""


class SpeculatorRun(TargetRun):
    """One run of target and speculator.

    Args:
        lm, order, birth, recorder: see :class:`~amusd_viz.engine.target_worker.TargetRun`.
        speculator: the heads, on the target's device.
    """

    def __init__(
        self,
        lm: CausalLM,
        order: RunOrder,
        birth: Birth,
        recorder: Recorder,
        speculator: Speculator,
    ) -> None:
        super().__init__(lm, order, birth, recorder)
        settings = order.settings
        self.speculator = speculator
        self.shape = tree_shape(speculator, settings.lookahead, settings.candidates)
        self.draft = DraftSide(
            run=order.run,
            max_new_tokens=settings.max_new_tokens,
            end_tokens=order.end_tokens,
            run_ahead=settings.run_ahead_policy(),
        )
        self.payoff = Payoff() if settings.policy == "adaptive" else None
        """Says when drafting is left out; ``None`` never leaves it out."""
        self.state = torch.empty(0)
        """The hidden state from which the last committed token was chosen."""

    def _commit(self, verdict: Verdict) -> None:
        t = self.recorder.now()
        commit, branch = verdict.commit(self.order.run), self.draft.branch
        adoption = self.draft.hear(commit)
        if verdict.tokens:
            self._heard = stamp.commit_heard(t, commit, adoption, self.draft, branch)

    def _verify(self) -> None:
        begun, committed = self.recorder.now(), len(self.side.committed)
        drafts = self.payoff is None or self.payoff.worth_drafting()
        tree = self._draft().tree if drafts else Tree((), ())
        start = self.recorder.now()
        self._delay()
        window = self.side.take_tree(self.draft.branch, tree)
        if window.tokens:
            self.recorder.add(stamp.tree_received(start, window))
        self.recorder.add(stamp.verify_started(start, window))
        self._settle(start, window, self._logits(window))
        if self.payoff:
            self.payoff.passed(
                tokens=len(self.side.committed) - committed,
                ns=self.recorder.now() - begun,
                proposals=len(tree),
            )

    def _logits(self, window: Window) -> torch.Tensor:
        prefix = [*self.order.prompt_ids, *self.side.committed]
        if window.tree is None:
            return self.lm.logits_after(prefix, window.tokens)
        return self.lm.logits_of_tree(prefix, window.tree.tokens, window.tree.parents)

    def _settle(self, start: int, window: Window, logits: torch.Tensor) -> Verdict:
        verdict = super()._settle(start, window, logits)
        self.recorder.extend(self._heard)
        last = verdict.accepted
        if window.tree:
            accepted = [window.tree.tokens[node] for node in verdict.path]
            self.lm.keep_path(accepted, verdict.path)
            last = verdict.path[-1] + 1 if verdict.path else 0
        self.state = self.lm.hidden[-len(logits) :][last]
        return verdict

    def _draft(self) -> Drafted:
        """Drafts what fits, tells the draft's side and records every proposal."""
        start = self.recorder.now()
        committed = self.side.committed
        prefix = [*self.order.prompt_ids, *committed]
        drafted = draft(
            self.speculator,
            self.state,
            committed[-1],
            self.shape,
            scores=sampling_scores(self.chooser, self.speculator, len(committed), prefix),
            clock=self.recorder.now,
        )
        assert self.lm.rows is not None
        drafted = limited(drafted, self.lm.rows - 1, self.side.room, self.order.end_tokens)
        for token in drafted.tree.main_chain:
            self.draft.propose(token)
        self.recorder.extend(proposals(drafted, start, self.draft.branch, len(committed)))
        return drafted


def tree_shape(speculator: Speculator, heads: int, candidates: int) -> Shape:
    """What a run drafts: a chain, or the best candidates of a tree.

    A speculator whose heads are tied may draft beyond those it was trained with; another may not.
    """
    config = speculator.config
    if not config.tie_weights:
        heads = min(heads, config.n_predict)
    if candidates == 1:
        return Shape.chain(heads)
    offered = config.top_k_tokens_per_head
    top_k = (*offered, *offered[-1:] * heads)[:heads]
    return Shape(heads, top_k, candidates, BEAMS_PER_CANDIDATE * candidates)


def proposals(drafted: Drafted, start: int, branch: int, position: int) -> list[ev.Event]:
    """What is recorded of a draft: every head in turn, and of each the main chain's token first."""
    by_head: dict[int, list[int]] = defaultdict(list)
    for index, node in enumerate(drafted.tree.nodes):
        by_head[node.depth].append(index)
    events: list[ev.Event] = []
    for head, indices in sorted(by_head.items()):
        for index in indices:
            node = drafted.tree.nodes[index]
            hangs = node.candidate > 0 and node.parent >= 0
            end = drafted.ends[head]
            events.append(
                ev.Proposed(
                    start=start,
                    end=end,
                    drafter=DRAFTER,
                    branch=branch,
                    position=position + head,
                    token=node.token,
                    probability=drafted.probabilities[index],
                    head=head,
                    candidate=node.candidate,
                    parent=drafted.tree.nodes[node.parent].candidate if hangs else None,
                )
            )
            start = end
    return events
