"""Candidate trees: merging, limits, and how a window that is a tree is judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amusd_viz.protocol import ROOT, Extra, Fate, Finish, Fixed, TargetSide, Tree
from amusd_viz.protocol.tree import Node

CANDIDATES = st.integers(1, 4).flatmap(
    lambda length: st.lists(
        st.lists(st.integers(0, 3), min_size=length, max_size=length), min_size=1, max_size=8
    )
)


def target(*, rows: int = 32, max_new_tokens: int = 50, end: tuple[int, ...] = ()) -> TargetSide:
    """A target that has committed its first token."""
    side = TargetSide(
        run=1,
        max_new_tokens=max_new_tokens,
        end_tokens=end,
        rows=rows,
        policy=Fixed(0),
        run_ahead=8,
    )
    side.take_window()
    side.settle([100])
    return side


def test_common_prefixes_are_merged() -> None:
    tree = Tree.merge([(1, 2, 3), (1, 2, 4), (1, 5, 3), (6, 2, 3)])
    assert tree.tokens == (1, 2, 3, 4, 5, 3, 6, 2, 3)
    assert tree.parents == (ROOT, 0, 1, 1, 0, 4, ROOT, 6, 7)
    assert tree.depths == (0, 1, 2, 2, 1, 2, 0, 1, 2)
    assert tree.main_chain == (1, 2, 3)
    assert [n.candidate for n in tree.nodes] == [0, 0, 0, 1, 1, 2, 1, 2, 3]
    assert tree.nodes[5] == Node(token=3, parent=4, depth=2, candidate=2)
    assert tree.path(5) == (0, 4, 5)
    assert tree.ancestors()[3] == (True, True, False, True, *[False] * 5)


@given(CANDIDATES)
def test_a_merged_tree_holds_its_candidates_and_nothing_else(candidates: list[list[int]]) -> None:
    tree = Tree.merge(candidates)
    paths = {tuple(tree.tokens[n] for n in tree.path(node)) for node in range(len(tree))}
    prefixes = {tuple(c[:i]) for c in candidates for i in range(1, len(c) + 1)}
    assert paths == prefixes
    assert len(tree) == len(prefixes)
    assert tree.main_chain == tuple(candidates[0])
    assert {(n.depth, n.candidate) for n in tree.nodes} == {
        (d, c) for d in set(tree.depths) for c in range(tree.depths.count(d))
    }


@given(CANDIDATES, st.integers(0, 12), st.integers(0, 4))
def test_a_limited_tree_is_a_part(candidates: list[list[int]], nodes: int, depth: int) -> None:
    tree = Tree.merge(candidates)
    part = tree.limited(nodes, depth, end_tokens=(3,))
    assert len(part) <= nodes
    assert max(part.depths, default=-1) < max(depth, 0)
    whole = {tuple(tree.tokens[n] for n in tree.path(node)) for node in range(len(tree))}
    for node in range(len(part)):
        path = [part.tokens[n] for n in part.path(node)]
        assert tuple(path) in whole
        assert 3 not in path[:-1]
    assert tree.limited(len(tree), 4) == tree


@pytest.mark.parametrize(
    ("tokens", "parents", "message"),
    [
        ((1, 2), (ROOT,), "2 tokens have 1"),
        ((1, 2), (ROOT, 1), "before its child"),
        ((1,), (-2,), "before its child"),
        ((1, 1), (ROOT, ROOT), "merge them"),
    ],
)
def test_shapes_that_are_no_tree(tokens: tuple, parents: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tree(tokens, parents)


# -- judging -------------------------------------------------------------------------------------

TREE = Tree.merge([(1, 2, 3), (1, 5, 3), (6, 2, 3)])


def judged(choices: dict[int, int], side: TargetSide, tree: Tree = TREE) -> tuple:
    side.take_tree(0, tree)
    verdict = side.settle_tree(choices.__getitem__)
    fates = {(d.position, d.candidate): d.fate for d in verdict.dropped}
    return verdict, fates


def test_the_main_chain_accepted_whole() -> None:
    side = target()
    verdict, fates = judged({ROOT: 1, 0: 2, 1: 3, 2: 9}, side)
    assert verdict.tokens == (1, 2, 3, 9)
    assert (verdict.accepted, verdict.extra, verdict.path) == (3, Extra.BONUS, (0, 1, 2))
    assert fates == {
        (1, 1): Fate.REJECTED,
        (2, 1): Fate.REJECTED,
        (2, 2): Fate.AFTER_MISMATCH,
        (3, 1): Fate.AFTER_MISMATCH,
        (3, 2): Fate.AFTER_MISMATCH,
    }
    assert side.dead_branch == -1
    assert side.committed == [100, 1, 2, 3, 9]


def test_another_candidate_accepted() -> None:
    side = target()
    verdict, fates = judged({ROOT: 1, 0: 5, 3: 7}, side)
    assert verdict.tokens == (1, 5, 7)
    assert (verdict.accepted, verdict.extra, verdict.path) == (2, Extra.CORRECTION, (0, 3))
    assert fates[2, 0] is Fate.REJECTED
    assert fates[3, 0] is Fate.AFTER_MISMATCH
    assert fates[3, 1] is Fate.REJECTED
    assert (2, 1) not in fates
    assert side.dead_branch == 0


def test_nothing_accepted() -> None:
    verdict, fates = judged({ROOT: 8}, target())
    assert (verdict.tokens, verdict.extra, verdict.path) == ((8,), Extra.CORRECTION, ())
    assert [p for p, fate in fates.items() if fate is Fate.REJECTED] == [(1, 0), (1, 1)]


def test_an_end_token_inside_a_tree() -> None:
    side = target(end=(2,))
    verdict, fates = judged({ROOT: 6, 4: 2}, side, TREE.limited(8, 3, (2,)))
    assert verdict.finish is Finish.END_TOKEN
    assert verdict.tokens == (6, 2)
    assert verdict.extra is Extra.NONE
    assert fates[1, 0] is Fate.REJECTED


def test_what_the_end_left_unjudged() -> None:
    side = target(max_new_tokens=4)
    side.is_stop = lambda committed: committed[-1] == 1
    verdict, fates = judged({ROOT: 1}, side, TREE.limited(8, side.room))
    assert verdict.finish is Finish.STOP_CONDITION
    assert {p: f for p, f in fates.items() if f is Fate.UNFINISHED} == {
        (2, 0): Fate.UNFINISHED,
        (2, 1): Fate.UNFINISHED,
    }


def test_a_tree_must_fit() -> None:
    with pytest.raises(AssertionError, match="exceed 8 rows"):
        target(rows=8).take_tree(0, TREE)
    with pytest.raises(AssertionError, match="beyond the output"):
        target(max_new_tokens=4).take_tree(0, TREE)


@given(CANDIDATES, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_the_output_is_the_targets_own_whatever_the_tree(
    candidates: list[list[int]], truth: list[int]
) -> None:
    side = target()
    tree = Tree.merge(candidates)
    side.take_tree(0, tree)
    verdict = side.settle_tree(lambda node: truth[len(tree.path(node))])
    assert list(verdict.tokens) == truth[: len(verdict.tokens)]
    longest = max(
        (
            len(tree.path(n))
            for n in range(len(tree))
            if [tree.tokens[p] for p in tree.path(n)] == truth[: len(tree.path(n))]
        ),
        default=0,
    )
    assert (
        verdict.accepted == longest == len(verdict.path if not tree.is_chain else truth[:longest])
    )
    judged = {(d.position, d.candidate) for d in verdict.dropped}
    assert len(judged) == len(verdict.dropped) == len(tree) - verdict.accepted


def test_judged_is_what_stands_behind_accepted_nodes() -> None:
    tree = Tree((1, 2, 3, 4, 5), (ROOT, 0, ROOT, 1, 2))
    assert tree.judged(()) == ((0, False), (2, False))
    assert tree.judged((0, 1)) == ((0, True), (1, True), (2, False), (3, False))
    assert tree.judged((2,)) == ((0, False), (2, True), (4, False))
