"""A speculator at work in the target's process: what its heads propose in one run, and the record of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from amusd_viz import events as ev
from amusd_viz.engine.orders import RunOrder
from amusd_viz.engine.recorder import Recorder
from amusd_viz.models.choice import TokenChooser
from amusd_viz.models.drafting import Drafted, draft, limited, sampling_scores, tree_shape
from amusd_viz.models.growing import Growth, Torch, grow
from amusd_viz.models.kernels import LanguageModel
from amusd_viz.models.native.heads import native_heads
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
        self.in_c = native_heads(speculator) if plain else None
        """Faster, where they can be had."""
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
        growth: Growth | None = None,
    ) -> Drafted:
        """What follows ``committed`` and the ``given`` proposals of another drafter.

        Args:
            nodes: most proposals.
            depth: most of them in a row.
            growth: how far a chain or tree grows; ``None``: a chain of all heads, or the best
                candidates of a tree.
        """
        shape, token, ends = self.shape, committed[-1], self.order.end_tokens
        prefix = [*self.order.prompt_ids, *committed, *given]
        scores = sampling_scores(self.chooser, self.speculator, len(committed), prefix)
        clock = self.recorder.now
        if shape.candidates > 1 and growth is None:
            how = {"given": given, "scores": scores, "clock": clock}
            drafted = draft(self.speculator, self.state, token, shape, **how)
            return limited(drafted, nodes, depth, ends)
        heads = self.in_c or Torch(self.speculator, scores)
        room = {"nodes": nodes, "depth": depth, "given": given, "end_tokens": ends}
        return grow(heads, self.state, token, shape, **room, growth=growth, clock=clock)


def proposals(
    drafted: Drafted, start: int, branch: int, position: int, first: int = 0
) -> list[ev.Event]:
    """What is recorded of a draft: a head's tokens when it has spoken, the main chain's first.

    Args:
        position: of the first proposal.
        first: the number of the head that made it.
    """
    events: list[ev.Event] = []
    for index in sorted(range(len(drafted.tree)), key=drafted.ends.__getitem__):
        node, end = drafted.tree.nodes[index], drafted.ends[index]
        hangs = node.candidate > 0 and node.parent >= 0
        events.append(
            ev.Proposed(
                start=start,
                end=end,
                drafter=DRAFTER,
                branch=branch,
                position=position + node.depth,
                token=node.token,
                probability=drafted.probabilities[index],
                head=first + node.depth,
                candidate=node.candidate,
                parent=drafted.tree.nodes[node.parent].candidate if hangs else None,
            )
        )
        start = end
    return events
