"""The ways of decoding that a benchmark compares, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from amusd_viz import words
from amusd_viz.errors import SettingError


class Place(StrEnum):
    """Where a way of decoding runs."""

    PAIR = "pair"
    """Draft and target on a device each: one numerics key for all methods there."""
    ALONE = "alone"
    """The target on its device, in its fastest shape."""
    ALONE_ALL = "alone_all"
    """The target on all cores, in its fastest shape."""
    TURNS_ALL = "turns_all"
    """Whichever model runs, on all cores."""
    TRANSFORMERS = "transformers"
    """transformers' own loop, on all cores."""


@dataclass(frozen=True)
class Way:
    """One way of decoding.

    Attributes:
        name: in reports.
        place: where it runs.
        method: of the engine; empty where it is not the engine that decodes.
        settings: of the run.
        tuned: its lookahead is chosen on other prompts first.
        heads: it needs a target with a speculator.
        asked_for: it is measured only where it is named.
    """

    name: str
    place: Place
    method: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tuned: bool = False
    heads: bool = False
    asked_for: bool = False

    def with_lookahead(self, lookahead: int) -> Way:
        return replace(self, settings=self.settings | {"lookahead": lookahead})


def _variant(name: str, settings: dict[str, Any]) -> Way:
    return Way(name, Place.PAIR, "speculator", settings, heads=True, asked_for=True)


REFERENCE = Way("autoregressive-same-key", Place.PAIR, "autoregressive")
"""Plain decoding in the very shapes of the pair's other runs: what they must equal token by token."""

WAYS = {
    way.name: way
    for way in (
        Way("autoregressive", Place.ALONE, "autoregressive"),
        Way("autoregressive-all", Place.ALONE_ALL, "autoregressive"),
        REFERENCE,
        Way("synchronous", Place.PAIR, "synchronous", {"lookahead": 1}, tuned=True),
        Way("synchronous-all", Place.TURNS_ALL, "synchronous", {"lookahead": 1}, tuned=True),
        Way("assisted", Place.TRANSFORMERS),
        Way("speculator", Place.PAIR, "speculator", heads=True),
        _variant("speculator-lookup", {"prompt_lookup": True}),
        _variant("speculator-tree", {"candidates": 5}),
        _variant("speculator-tree-lookup", {"candidates": 5, "prompt_lookup": True}),
        Way("amusd", Place.PAIR, "amusd"),
        Way("amusd+speculator", Place.PAIR, "amusd+speculator", heads=True),
    )
}
DEFAULT = tuple(name for name, way in WAYS.items() if not way.asked_for)

ON_ALL_CORES = {Place.ALONE_ALL, Place.TURNS_ALL}
"""Places that only make sense where devices are cores of one processor."""


def parse_ways(names: Sequence[str], policy: str) -> list[Way]:
    """The ways of some names, each once, in their order.

    Args:
        names: of :data:`WAYS`; ``METHOD:POLICY`` for AMUSD or a method with a speculator under a
            policy of its own, such as ``amusd:fixed(1)``; or another method of the engine.
        policy: of plain ``amusd`` and ``amusd+speculator``.

    Raises:
        SettingError: an unknown name, or one given twice.
    """
    if repeated := [name for name in names if names.count(name) > 1]:
        raise SettingError(f"method {repeated[0]!r} is named twice; name each one once")
    if not names:
        raise SettingError(f"no method is named; use some of {', '.join(WAYS)}")
    return [_way(name, policy) for name in names]


def _way(name: str, policy: str) -> Way:
    plain, _, own_policy = name.partition(":")
    way = WAYS.get(plain)
    if way and way.method.startswith("amusd") and (own_policy or ":" not in name):
        return replace(way, name=name, settings=way.settings | {"policy": own_policy or policy})
    if way and way.heads and own_policy:
        return replace(way, name=name, settings=way.settings | {"policy": own_policy})
    if name in WAYS:
        return WAYS[name]
    if name in words.METHODS:
        return Way(name, Place.PAIR, name)
    raise SettingError(
        f"unknown method {name!r}; use some of {', '.join(WAYS)}, or amusd:POLICY such as "
        "'amusd:fixed(1)'"
    )
