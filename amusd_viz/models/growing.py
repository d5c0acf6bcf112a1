"""Chains and trees of proposals that grow where they are likeliest to be right.

The most probable proposal is taken, a head speaks behind it, and again; where every head offers a single
token, that is a chain. What has been taken is a tree at every time, so it may end after any of them. The
idea of such trees is that of EAGLE-2 (arXiv 2406.16858).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

import torch

from amusd_viz.models.drafting import Drafted, Scores, Shape, plain_scores
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import ROOT, Tree
from amusd_viz.protocol.confident_tree import Guess


class Offer(NamedTuple):
    """A token that a head proposes.

    Attributes:
        token: its id.
        probability: by the head.
        chance: how sure the head is of it; under seeded sampling, with the noise of the choice rule.
    """

    token: int
    probability: float
    chance: float


class OneByOne(Protocol):
    """Heads that are asked one at a time; states are theirs alone to read."""

    def begin(self, state: torch.Tensor) -> Any:
        """Of the target's hidden state, ``(emb_dim,)``."""

    def advance(self, head: int, state: Any, token: int) -> Any:
        """What a head knows behind a state and a token."""

    def offers(self, head: int, state: Any, most: int) -> list[Offer]:
        """Its best tokens, best first."""


class Growth(Protocol):
    """Decides how far a tree grows; see :class:`~amusd_viz.protocol.confident_tree.ConfidentTree`."""

    def behind(self, reach: float, chance: float) -> Guess: ...

    def another(self, size: int, reach: float) -> bool: ...

    def choose(self, guesses: Sequence[Guess]) -> int: ...


class Unlimited:
    """Heads are believed, and all there is room for is judged."""

    def behind(self, reach: float, chance: float) -> Guess:
        return Guess(chance, reach * chance)

    def another(self, size: int, reach: float) -> bool:
        return True

    def choose(self, guesses: Sequence[Guess]) -> int:
        return len(guesses)


class Torch:
    """Heads in torch, on any device.

    Args:
        speculator: whose heads.
        scores: how tokens are ranked.
    """

    def __init__(self, speculator: Speculator, scores: Scores = plain_scores) -> None:
        self._speculator, self._scores = speculator, scores

    def begin(self, state: torch.Tensor) -> torch.Tensor:
        return self._speculator.begin(state.to(next(self._speculator.parameters()))[None])

    def advance(self, head: int, state: torch.Tensor, token: int) -> torch.Tensor:
        return self._speculator.advance(head, state, torch.tensor([token], device=state.device))

    def offers(self, head: int, state: torch.Tensor, most: int) -> list[Offer]:
        logits = self._speculator.logits(head, state)
        best = self._scores(logits, head)[0].topk(min(most, logits.shape[-1]))
        columns = best.indices.to(logits.device)
        plain = (logits[0, columns].float() - logits[0].float().logsumexp(-1)).exp()
        found = zip(
            self._speculator.token_ids(columns).tolist(),
            plain.tolist(),
            best.values.exp().tolist(),
            strict=True,
        )
        # The filters of sampling may leave a single token.
        return [Offer(token, round(p, 5), chance) for token, p, chance in found if chance]


class _Node(NamedTuple):
    offer: Offer
    guess: Guess
    parent: int
    head: int
    state: Any
    end: int


@torch.inference_mode()
def grow(
    heads: OneByOne,
    state: torch.Tensor,
    token: int,
    shape: Shape,
    *,
    nodes: int,
    depth: int,
    given: Sequence[int] = (),
    growth: Growth | None = None,
    end_tokens: Collection[int] = (),
    clock: Callable[[], int] = lambda: 0,
) -> Drafted:
    """Proposes what follows ``token``, or ``given``.

    Args:
        heads: who propose.
        state: the target's hidden state from which ``token`` was chosen, ``(emb_dim,)``.
        token: the last committed token.
        shape: how many heads speak, and what each offers; candidates are not counted.
        nodes: most proposals.
        depth: most of them in a row.
        given: what another drafter proposed behind ``token``; the first heads only read that.
        growth: how far it grows; ``None``: as far as there is room.
        end_tokens: nothing follows these.
        clock: read when a head has spoken.
    """
    growth = growth or Unlimited()
    last = min(shape.heads, len(given) + depth) - 1
    taken: list[_Node] = []
    waiting: list[tuple[float, int, _Node]] = []
    order, spoken = itertools.count(), 0

    def speak(head: int, now: Any, parent: int, reach: float) -> None:
        nonlocal spoken
        offers = heads.offers(head, now, shape.top_k[head])
        spoken, end = spoken + 1, clock()
        for offer in offers:
            guess = growth.behind(reach, offer.chance)
            node = _Node(offer, guess, parent, head, now, end)
            heappush(waiting, (-guess.reach, next(order), node))

    if len(given) <= last and nodes and growth.another(0, 1.0):
        now = heads.begin(state)
        for head, read in enumerate((token, *given)):
            now = heads.advance(head, now, read)
        speak(len(given), now, ROOT, 1.0)
    while waiting and len(taken) < nodes:
        node = heappop(waiting)[-1]
        taken.append(node)
        left, reach = nodes - len(taken), node.guess.reach
        likelier = sum(-unlikely >= reach for unlikely, _, _ in waiting)
        fits = node.head < last and likelier < left and node.offer.token not in end_tokens
        if fits and growth.another(len(taken), reach):
            now = heads.advance(node.head + 1, node.state, node.offer.token)
            speak(node.head + 1, now, len(taken) - 1, reach)
    return _arranged(taken[: growth.choose([node.guess for node in taken])], spoken)


def _arranged(taken: Sequence[_Node], spoken: int) -> Drafted:
    """In the order of a window: the main chain first."""
    main: list[int] = []
    for place, node in enumerate(taken):
        if node.parent == (main[-1] if main else ROOT):
            main.append(place)
    order = [*main, *(place for place in range(len(taken)) if place not in main)]
    places = {ROOT: ROOT} | {old: new for new, old in enumerate(order)}
    arranged = [taken[old] for old in order]
    return Drafted(
        Tree([n.offer.token for n in arranged], [places[n.parent] for n in arranged]),
        tuple(n.offer.probability for n in arranged),
        tuple(n.offer.chance for n in arranged),
        tuple(n.end for n in arranged),
        spoken,
    )
