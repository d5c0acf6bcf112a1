"""Does every way of decoding write what the target alone writes? Token by token, greedy and sampled.

All runs are of one session and so of one numerics key. No times are measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from amusd_viz import events as ev
from amusd_viz.bench.prompts import Prompt
from amusd_viz.bench.report import first_difference
from amusd_viz.bench.ways import REFERENCE, Place, Way
from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.engine import Session


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """Where one run left the target's own output."""

    way: str
    sampling: str
    prompt: int
    """Number of the prompt, from 0."""
    position: int
    """Of the first other token."""
    margin: float | None
    """By how much the target preferred its token there to the next likely one (a difference of
    probabilities): near 0 the last bit of a sum may decide."""


class Equality(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome: for each way and sampling, in how many of the prompts the tokens were the same."""

    numerics: ev.Numerics
    prompts: int
    same: dict[str, dict[str, int]]
    """By way and sampling."""
    tokens: dict[str, dict[str, int]]
    """Tokens compared."""
    divergences: list[Divergence]

    @property
    def identical(self) -> bool:
        return not self.divergences


def compare_outputs(
    session: Session,
    ways: Sequence[Way],
    prompts: Sequence[Prompt],
    samplings: dict[str, dict[str, Any]],
    *,
    max_new_tokens: int = 64,
) -> Iterator[Equality]:
    """Decodes every prompt by every way; yields what was found after each run.

    Args:
        session: a warm one, whose target has a speculator where a way needs one.
        ways: of the pair's own numerics key.
        prompts: what is decoded.
        samplings: by a short name, as ``Session.decode`` takes them.

    Raises:
        SettingError: a way is not of the pair's numerics key, or cannot run here.
    """
    check_ways(ways)
    same = {way.name: dict.fromkeys(samplings, 0) for way in ways}
    tokens = {way.name: dict.fromkeys(samplings, 0) for way in ways}
    found: list[Divergence] = []
    for number, prompt in enumerate(prompts):
        for name, sampling in samplings.items():
            how = {"max_new_tokens": max_new_tokens} | sampling
            plain = session.decode(prompt.asked, REFERENCE.method, **how).trace
            for way in ways:
                run = session.decode(prompt.asked, way.method, **how, **way.settings).trace
                assert run.header.numerics == plain.header.numerics, "one session, one key"
                position = first_difference(run.tokens, plain.tokens)
                same[way.name][name] += position is None
                tokens[way.name][name] += len(plain.tokens)
                if position is not None:
                    found.append(
                        Divergence(
                            way=way.name,
                            sampling=name,
                            prompt=number,
                            position=position,
                            margin=margin_at(plain, position),
                        )
                    )
                assert plain.header.numerics is not None
                yield Equality(
                    numerics=plain.header.numerics,
                    prompts=number + 1,
                    same=same,
                    tokens=tokens,
                    divergences=found,
                )


def check_ways(ways: Sequence[Way]) -> None:
    """Refuses ways that decode in another shape than the pair's runs."""
    for way in ways:
        if way.place is not Place.PAIR:
            raise SettingError(
                f"{way.name} decodes in another shape than the pair's runs, so its last bits may "
                "differ; name methods of the pair only, such as speculator or amusd"
            )


def margin_at(trace: Trace, position: int) -> float | None:
    """How much likelier the target's best token was than its second there; ``None`` if not recorded."""
    for verdict in trace.of(ev.Verified):
        index = position - verdict.position
        if 0 <= index < len(verdict.alternatives) and len(verdict.alternatives[index]) > 1:
            first, second, *_ = sorted(c.probability for c in verdict.alternatives[index])[::-1]
            return first - second
    return None
