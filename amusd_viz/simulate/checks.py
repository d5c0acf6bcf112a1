"""Refuses numbers that make no sense, in one sentence each."""

from __future__ import annotations

import math

from amusd_viz.errors import SettingError


def probability(name: str, value: float) -> float:
    """``value`` if it lies in [0, 1]; :class:`SettingError` otherwise."""
    if not (_is_number(value) and 0 <= value <= 1):
        raise SettingError(f"{name} is {value!r}; give a probability between 0 and 1")
    return float(value)


def positive(name: str, value: float, most: float = math.inf) -> float:
    """``value`` if it is a finite number above 0, at most ``most``."""
    if not (_is_number(value) and 0 < value < math.inf):
        raise SettingError(f"{name} is {value!r}; give a number above 0")
    return _at_most(name, value, most)


def not_negative(name: str, value: float, most: float = math.inf) -> float:
    """``value`` if it is a finite number of at least 0, at most ``most``."""
    if not (_is_number(value) and 0 <= value < math.inf):
        raise SettingError(f"{name} is {value!r}; give 0 or a number above it")
    return _at_most(name, value, most)


def _at_most(name: str, value: float, most: float) -> float:
    if value > most:
        raise SettingError(f"{name} is {value!r}; give at most {most:g}")
    return value


def whole(name: str, value: int, least: int, most: int) -> int:
    """``value`` if it is a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingError(f"{name} is {value!r}; give a whole number from {least} to {most}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
