"""Candidate trees: several guesses of what comes next, judged in one forward pass.

Candidates that begin alike share their common tokens, so a tree is smaller than its candidates
together. Its nodes are numbered as they lie in the window: first those of the best candidate (the
*main chain*), then what each further candidate adds; a parent always comes before its children.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

ROOT = -1
"""The parent of first tokens: the last committed token."""


class Node(NamedTuple):
    """One proposal of a tree: ``token``, ``depth`` tokens behind the first proposed position.

    ``candidate`` numbers the nodes of one depth; 0 is on the main chain. ``parent`` is the number of
    the node it follows, or :data:`ROOT`.
    """

    token: int
    parent: int
    depth: int
    candidate: int


class Tree:
    """A tree of proposals. Immutable.

    Args:
        tokens: the token of each node.
        parents: for each node the number of the one it follows, or :data:`ROOT`.

    Raises:
        ValueError: a parent that does not come before its child, or two equal children of one.
    """

    def __init__(self, tokens: Sequence[int], parents: Sequence[int]) -> None:
        self.tokens = tuple(tokens)
        self.parents = tuple(parents)
        if len(self.tokens) != len(self.parents):
            raise ValueError(f"{len(self.tokens)} tokens have {len(self.parents)} parents")
        for node, parent in enumerate(self.parents):
            if not ROOT <= parent < node:
                raise ValueError(f"node {node} follows {parent}; a parent comes before its child")
        if len(self._children) != len(self.tokens):
            raise ValueError("two equal tokens follow the same one; merge them")

    def __len__(self) -> int:
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (self.tokens, self.parents) == (other.tokens, other.parents)

    def __hash__(self) -> int:
        return hash((self.tokens, self.parents))

    def __repr__(self) -> str:
        return f"Tree({self.tokens}, {self.parents})"

    @classmethod
    def merge(cls, candidates: Sequence[Sequence[int]]) -> Tree:
        """The tree of some candidates, the best one first; common prefixes are merged."""
        tokens: list[int] = []
        parents: list[int] = []
        known: dict[tuple[int, int], int] = {}
        for candidate in candidates:
            node = ROOT
            for token in candidate:
                if (node, token) not in known:
                    known[node, token] = len(tokens)
                    tokens.append(token)
                    parents.append(node)
                node = known[node, token]
        return cls(tokens, parents)

    @classmethod
    def chain(cls, tokens: Sequence[int]) -> Tree:
        """The tree of one candidate."""
        return cls(tokens, range(-1, len(tokens) - 1))

    # -- shape -------------------------------------------------------------------------------

    @cached_property
    def _children(self) -> dict[tuple[int, int], int]:
        pairs = zip(self.parents, self.tokens, strict=True)
        return {pair: node for node, pair in enumerate(pairs)}

    def child(self, node: int, token: int) -> int | None:
        """The node with ``token`` behind ``node`` (or :data:`ROOT`), if there is one."""
        return self._children.get((node, token))

    def has_children(self, node: int) -> bool:
        return node in self._inner

    @cached_property
    def _inner(self) -> frozenset[int]:
        return frozenset(self.parents)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many tokens stand between each node and the last committed one."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in their order in the window."""
        others: dict[int, int] = {}
        found = []
        for node, (token, parent) in enumerate(zip(self.tokens, self.parents, strict=True)):
            depth = self.depths[node]
            candidate = 0
            if node >= len(self.main_chain):
                candidate = others[depth] = others.get(depth, 0) + 1
            found.append(Node(token, parent, depth, candidate))
        return tuple(found)

    @cached_property
    def main_chain(self) -> tuple[int, ...]:
        """The tokens of the best candidate: the leading nodes that follow each other."""
        pairs = enumerate(self.parents)
        end = next((node for node, parent in pairs if parent != node - 1), len(self))
        return self.tokens[:end]

    @property
    def is_chain(self) -> bool:
        return len(self.main_chain) == len(self)

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from the first token to ``node``; none for :data:`ROOT`."""
        path: list[int] = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return tuple(reversed(path))

    def ancestors(self) -> tuple[tuple[bool, ...], ...]:
        """Which node attends to which: itself and those it follows, a row for each."""
        seen = [set(self.path(node)) for node in range(len(self))]
        return tuple(tuple(other in row for other in range(len(self))) for row in seen)

    def judged(self, path: Collection[int]) -> tuple[tuple[int, bool], ...]:
        """The nodes behind accepted ones, and whether each was accepted, where those of ``path`` were."""
        kept = {ROOT, *path}
        return tuple(
            (node, node in kept) for node, parent in enumerate(self.parents) if parent in kept
        )

    # -- smaller trees -----------------------------------------------------------------------

    def limited(self, nodes: int, depth: int, end_tokens: Collection[int] = ()) -> Tree:
        """The part with at most ``nodes`` nodes and ``depth`` tokens, and nothing behind an end token.

        What the last candidates add goes first.
        """
        kept: dict[int, int] = {ROOT: ROOT}
        for node, parent in enumerate(self.parents):
            ended = parent != ROOT and self.tokens[parent] in end_tokens
            if parent in kept and not ended and self.depths[node] < depth and len(kept) <= nodes:
                kept[node] = len(kept) - 1
        rest = [node for node in kept if node != ROOT]
        return Tree([self.tokens[n] for n in rest], [kept[self.parents[n]] for n in rest])
