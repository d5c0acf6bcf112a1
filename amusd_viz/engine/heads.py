"""A speculator at work in the target's process: what its heads propose in one run, and the record of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from amusd_viz import events as ev
from amusd_viz.engine.orders import RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.models.choice import TokenChooser
from amusd_viz.models.drafting import (
    Drafted,
    More,
    Shape,
    always,
    draft,
    limited,
    sampling_scores,
    tree_shape,
)
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.native.chain import chain_drafter
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import Verdict, Window

DRAFTER = "speculator"


class Heads:
    """The heads in one run.

    Args:
        speculator: whose heads, on the target's device.
        order: of the run.
        chooser: of the run.
        recorder: whose clock says when a head has spoken.
    """

    def __init__(
        self, speculator: Speculator, order: RunOrder, chooser: TokenChooser, recorder: Recorder
    ) -> None:
        self.speculator = speculator
        self.order = order
        self.chooser = chooser
        self.recorder = recorder
        sampling = order.settings.sampling
        plain = chooser.greedy and sampling.repetition_penalty == 1
        self.in_c = chain_drafter(speculator) if plain else None
        """Drafts chains faster, where it can."""
        self.shape = tree_shape(speculator, order.settings.lookahead, order.settings.candidates)
        self.state = torch.empty(0)
        """The target's hidden state from which the last committed token was chosen."""

    def remember(self, lm: LanguageModel, rows: int, window: Window, verdict: Verdict) -> None:
        """Keeps the state behind the last accepted token of a pass with ``rows`` rows of logits."""
        last = verdict.accepted
        if window.tree:
            last = verdict.path[-1] + 1 if verdict.path else 0
        self.state = lm.hidden[-rows:][last]

    def propose(
        self,
        committed: Sequence[int],
        given: Sequence[int] = (),
        *,
        nodes: int,
        depth: int,
        more: More = always,
    ) -> Drafted:
        """What follows ``committed`` and the ``given`` proposals of another drafter.

        Args:
            nodes: most proposals.
            depth: most of them in a row.
            more: whether a chain goes on.
        """
        shape, token = self.shape, committed[-1]
        if shape.candidates == 1:
            shape = Shape.chain(min(shape.heads, len(given) + depth))
        how: dict[str, Any] = {"given": given, "more": more, "clock": self.recorder.now}
        if shape.candidates == 1 and self.in_c:
            drafted = self.in_c.draft(self.state, token, shape.heads, **how)
        else:
            prefix = [*self.order.prompt_ids, *committed, *given]
            how["scores"] = sampling_scores(self.chooser, self.speculator, len(committed), prefix)
            drafted = draft(self.speculator, self.state, token, shape, **how)
        return limited(drafted, nodes, depth, self.order.end_tokens)


def proposals(
    drafted: Drafted, start: int, branch: int, position: int, first: int = 0
) -> list[ev.Event]:
    """What is recorded of a draft: every head in turn, and of each the main chain's token first.

    Args:
        position: of the first proposal.
        first: the number of the head that made it.
    """
    by_depth: dict[int, list[int]] = defaultdict(list)
    for index, node in enumerate(drafted.tree.nodes):
        by_depth[node.depth].append(index)
    events: list[ev.Event] = []
    for depth, indices in sorted(by_depth.items()):
        for index in indices:
            node = drafted.tree.nodes[index]
            hangs = node.candidate > 0 and node.parent >= 0
            end = drafted.ends[depth]
            events.append(
                ev.Proposed(
                    start=start,
                    end=end,
                    drafter=DRAFTER,
                    branch=branch,
                    position=position + depth,
                    token=node.token,
                    probability=drafted.probabilities[index],
                    head=first + depth,
                    candidate=node.candidate,
                    parent=drafted.tree.nodes[node.parent].candidate if hangs else None,
                )
            )
            start = end
    return events
