"""What a token/embedding speculator proposes: a chain, or a tree of candidates as published.

Each head offers its best tokens behind every beam; a candidate's score is the sum of the log-probabilities
of its tokens, and the best ones are kept. :mod:`amusd_viz.models.growing` lets proposals grow instead.

Under seeded sampling the noise of the choice rule is added to every head's scores (see
:mod:`amusd_viz.models.choice`), so a head proposes what the target would choose if it had the head's
distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from amusd_viz.models.choice import TokenChooser, gumbel_noise
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import Tree

Scores = Callable[[torch.Tensor, int], torch.Tensor]
"""From logits ``(beams, words)`` and a head's number to the scores its tokens are ranked by."""


@dataclass(frozen=True)
class Drafted:
    """A tree of proposals and what is known of each node.

    Attributes:
        tree: the proposals.
        probabilities: of each node, by its head.
        chances: how sure its head was of each node: the same, or of what sampling makes of it.
        ends: when the head of each node had spoken, by the ``clock`` given.
        spoken: how often a head spoke.
    """

    tree: Tree
    probabilities: tuple[float, ...]
    chances: tuple[float, ...]
    ends: tuple[int, ...]
    spoken: int

    def part(self, tree: Tree, nodes: Sequence[int]) -> Drafted:
        """What is known of a smaller tree, which these nodes are in."""
        kinds = (self.probabilities, self.chances, self.ends)
        return Drafted(tree, *(tuple(of[node] for node in nodes) for of in kinds), self.spoken)


@dataclass(frozen=True)
class Shape:
    """How much is drafted.

    Attributes:
        heads: how many heads speak (a tied speculator may go beyond those it was trained with).
        top_k: how many tokens each head offers behind a beam.
        candidates: how many candidates are kept; 1 makes a chain.
        beams: how many prefixes are followed at a time; ``None`` for all, as published.
    """

    heads: int
    top_k: tuple[int, ...]
    candidates: int
    beams: int | None = None

    @classmethod
    def chain(cls, heads: int) -> Shape:
        """One candidate: every head's best token."""
        return cls(heads, (1,) * heads, 1)


BEAMS_PER_CANDIDATE = 2
"""A tree follows so many prefixes for each candidate it keeps: all would cost more than it finds."""


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


def plain_scores(logits: torch.Tensor, _head: int) -> torch.Tensor:
    """Of greedy decoding: log-probabilities."""
    return torch.log_softmax(logits.float(), -1)


def sampling_scores(
    chooser: TokenChooser, speculator: Speculator, position: int, prefix: Sequence[int] = ()
) -> Scores:
    """By the choice rule of a run.

    Args:
        chooser: of the run.
        speculator: whose logits are ranked.
        position: output position of the first proposal.
        prefix: prompt and output so far, for the repetition penalty.
    """
    sampling = chooser.sampling
    penalised = sampling.repetition_penalty != 1
    if chooser.greedy and not penalised:
        return plain_scores
    listed = speculator.short_list
    before = speculator.columns(prefix) if penalised else []

    def scores(logits: torch.Tensor, head: int) -> torch.Tensor:
        rows = torch.stack([torch.from_numpy(chooser.processed(row, before)) for row in logits])
        rows = rows.double()
        if not chooser.greedy:
            noise = gumbel_noise(sampling.seed, position + head, chooser.vocabulary)
            noise = torch.from_numpy(noise)
            rows += (noise if listed is None else noise[listed.cpu()])[: rows.shape[-1]]
        return torch.log_softmax(rows, -1)

    return scores


@torch.inference_mode()
def draft(
    speculator: Speculator,
    state: torch.Tensor,
    token: int,
    shape: Shape,
    *,
    given: Sequence[int] = (),
    scores: Scores = plain_scores,
    clock: Callable[[], int] = lambda: 0,
) -> Drafted:
    """Proposes what follows ``token``, or ``given``.

    Args:
        state: the target's hidden state from which ``token`` was chosen, ``(emb_dim,)``.
        token: the last committed token.
        shape: of the tree; its first heads only read the given tokens.
        given: what another drafter proposed behind ``token``; fewer than there are heads.
        scores: how tokens are ranked.
        clock: read when a head has spoken.
    """
    h = speculator.begin(state.to(next(speculator.parameters()))[None])
    last = torch.tensor([token], device=h.device)
    totals = torch.zeros(1, dtype=torch.float64)
    paths: list[tuple[int, ...]] = [()]
    chances: dict[tuple[int, ...], float] = {}
    ends: list[int] = []
    for head, follows in enumerate(given):
        h = speculator.advance(head, h, last)
        last = torch.tensor([follows], device=h.device)
    for head in range(len(given), shape.heads):
        h = speculator.advance(head, h, last)
        logits = speculator.logits(head, h)
        final = head == shape.heads - 1
        kept = shape.candidates if final else shape.beams
        beams, columns, totals = _best(scores(logits, head), totals, shape.top_k[head], kept)
        ids = speculator.token_ids(columns)
        probabilities = _probabilities(logits, beams, columns)
        paths = [(*paths[b], t) for b, t in zip(beams.tolist(), ids.tolist(), strict=True)]
        chances.update(zip(paths, probabilities, strict=True))
        h, last = h[beams], ids
        ends.append(clock())
    tree = Tree.merge(paths)
    found = tuple(chances[path] for path in _paths(tree))
    return Drafted(tree, found, found, tuple(ends[depth] for depth in tree.depths), len(ends))


def _paths(tree: Tree) -> list[tuple[int, ...]]:
    """The tokens that lead to each node, its own included."""
    return [tuple(tree.tokens[n] for n in tree.path(node)) for node in range(len(tree))]


def _best(
    scores: torch.Tensor, totals: torch.Tensor, offered: int, kept: int | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The beam, the column and the total score of the best continuations, best first."""
    found = scores.topk(min(offered, scores.shape[-1]), dim=-1)
    sums = (totals[:, None] + found.values.double().cpu()).flatten()
    order = sums.argsort(descending=True, stable=True)[:kept]
    order = order[sums[order].isfinite()]  # The filters of sampling may leave a single token.
    columns = found.indices.flatten()[order.to(found.indices.device)]
    return order // found.indices.shape[1], columns, sums[order]


def _probabilities(logits: torch.Tensor, beams: torch.Tensor, columns: torch.Tensor) -> list[float]:
    normaliser = logits.float().logsumexp(-1)
    chosen = logits[beams, columns].float() - normaliser[beams]
    return [round(p, 5) for p in chosen.exp().tolist()]


def limited(drafted: Drafted, nodes: int, depth: int, end_tokens: Sequence[int]) -> Drafted:
    """The part that fits into a window; see :meth:`amusd_viz.protocol.tree.Tree.limited`."""
    tree = drafted.tree.limited(nodes, depth, end_tokens)
    places = {path: node for node, path in enumerate(_paths(drafted.tree))}
    return drafted.part(tree, [places[path] for path in _paths(tree)])
