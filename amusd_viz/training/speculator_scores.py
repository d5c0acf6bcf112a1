"""How good a speculator is on texts it has not seen: head by head, and in tokens a step.

Texts are the target's own greedy ones, so a step of decoding can be replayed without the target: what
it would have accepted stands in the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

import msgspec
import torch

from amusd_viz.models.drafting import Shape, draft, tree_shape
from amusd_viz.models.speculator import Speculator
from amusd_viz.protocol import ROOT, Tree, look_up
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.shards import Text
from amusd_viz.training.speculator_rows import NOTHING, Rows

COPIED = 7
"""Most tokens that prompt lookup proposes: those that a pass of the engine's usual eight rows judges."""


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Of one speculator on some held-out texts.

    Attributes:
        heads: share of right tokens of each head, where all tokens before are given.
        positions: how many the first head was asked for.
        chain: tokens a step with the heads' best tokens in a row (accepted ones and the target's).
        tree: tokens a step with a tree of ``candidates``.
        steps: number of steps of the chain.
        chain_with_lookup, tree_with_lookup: tokens a step where what the text repeats is proposed in
            place of the heads' tokens.
    """

    heads: tuple[float, ...]
    positions: int
    chain: float
    tree: float
    candidates: int
    steps: int
    chain_with_lookup: float
    tree_with_lookup: float


def score(speculator: Speculator, texts: Sequence[Text]) -> Scores:
    """Scores a speculator on held-out texts."""
    rows, seen_at = Rows(texts), _seen_at(texts)
    heads, candidates = speculator.config.n_predict, speculator.config.n_candidates
    chains, trees = (
        _drafts(speculator, rows, tree_shape(speculator, heads, wanted))
        for wanted in (1, candidates)
    )
    chain, steps = tokens_per_step(rows, chains)
    tree, _ = tokens_per_step(rows, trees)
    with_lookup = [tokens_per_step(rows, _or_copied(d, seen_at))[0] for d in (chains, trees)]
    accuracy = head_accuracy(speculator, rows, heads)
    return Scores(
        heads=tuple(round(a, 4) for a in accuracy),
        positions=len(rows.usable()),
        chain=round(chain, 3),
        tree=round(tree, 3),
        candidates=candidates,
        steps=steps,
        chain_with_lookup=round(with_lookup[0], 3),
        tree_with_lookup=round(with_lookup[1], 3),
    )


@torch.inference_mode()
def head_accuracy(speculator: Speculator, rows: Rows, heads: int) -> list[float]:
    """How often each head's best token is the right one, given all before it."""
    right, asked = torch.zeros(heads), torch.zeros(heads)
    for chunk in rows.usable().split(1024):
        batch = rows.batch(chunk, heads)
        for head, logits in enumerate(speculator.each_head(batch.states, batch.given)):
            best = speculator.token_ids(logits.argmax(-1))
            right[head] += (best == batch.labels[:, head]).sum()
            asked[head] += (batch.labels[:, head] != NOTHING).sum()
    return (right / asked.clamp_min(1)).tolist()


def tokens_per_step(rows: Rows, drafts: Callable[[int], Tree]) -> tuple[float, int]:
    """Mean tokens a step of decoding the texts with what ``drafts`` proposes behind a position.

    Returns:
        The mean, and over how many steps. A text's last step counts what it had room for.
    """
    tokens = rows.tokens.tolist()
    gained = steps = 0
    for start, length in zip(rows.starts.tolist(), rows.lengths.tolist(), strict=True):
        at, end = start, start + length
        while at + 1 < end:
            tree, node, accepted = drafts(at), ROOT, 0
            while at + 1 + accepted < end:
                child = tree.child(node, tokens[at + 1 + accepted])
                if child is None:
                    break
                node, accepted = child, accepted + 1
            step = min(accepted + 1, end - 1 - at)
            gained, steps, at = gained + step, steps + 1, at + step
    return gained / max(steps, 1), steps


class NgramScores(msgspec.Struct, frozen=True, kw_only=True):
    """Of a table of what followed the last tokens in the training text: the floor to beat.

    Attributes:
        right: share of right tokens, where all before are given; the same for every head.
        chain: tokens a step with what it proposes in a row.
    """

    right: float
    chain: float


def ngram_scores(table: NgramTable, texts: Sequence[Text], heads: int) -> NgramScores:
    """Scores a table as :func:`score` does a speculator of so many heads."""
    guesses = [(table.guess(text)[1:], text.tokens[1:]) for text in texts]
    right = sum(int((guess == tokens).sum()) for guess, tokens in guesses)
    asked = sum(len(tokens) for _, tokens in guesses)
    seen_at = _seen_at(texts)

    def drafts(at: int) -> Tree:
        seen = seen_at(at)
        for _ in range(heads):
            seen.append(table.after(seen))
        return Tree.chain(seen[-heads:])

    chain, _ = tokens_per_step(Rows(texts), drafts)
    return NgramScores(right=round(right / max(asked, 1), 4), chain=round(chain, 3))


def _or_copied(
    asked: Callable[[int], Tree], seen_at: Callable[[int], list[int]]
) -> Callable[[int], Tree]:
    """What ``asked`` drafts, but where the text repeats itself, what followed there."""

    def drafts(at: int) -> Tree:
        copied = look_up(seen_at(at), COPIED)
        return Tree.chain(copied) if copied else asked(at)

    return drafts


def _seen_at(texts: Sequence[Text]) -> Callable[[int], list[int]]:
    """From a row of the texts to its prompt and all tokens up to its own."""
    ids = [(text.prompt.tolist(), text.tokens.tolist()) for text in texts]
    ends = torch.tensor([len(tokens) for _, tokens in ids]).cumsum(0).tolist()

    def seen_at(row: int) -> list[int]:
        text = bisect_right(ends, row)
        prompt, tokens = ids[text]
        return [*prompt, *tokens[: row - (ends[text] - len(tokens)) + 1]]

    return seen_at


def _drafts(speculator: Speculator, rows: Rows, shape: Shape) -> Callable[[int], Tree]:
    """From a row to what is drafted behind it; kept, since it is asked for with and without lookup."""
    return cache(lambda at: draft(speculator, rows.states[at], int(rows.tokens[at]), shape).tree)
