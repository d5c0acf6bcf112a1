"""Window policies by name, as users and recordings write them."""

from __future__ import annotations

import re
from collections.abc import Callable

from amusd_viz.protocol.adaptive_window import AdaptiveWindow
from amusd_viz.protocol.policies import Confidence, Fixed, WindowPolicy

_WHOLE = r"\d{1,6}"
_DECIMAL = r"[01]|[01]?\.\d{1,6}"

_POLICIES: dict[str, tuple[str, Callable[[str], WindowPolicy]]] = {
    "paper": ("", lambda _: Fixed(2, "paper")),
    "eager": ("", lambda _: Fixed(0, "eager")),
    "fixed": (_WHOLE, lambda number: Fixed(int(number))),
    "confidence": (_DECIMAL, lambda number: Confidence(float(number))),
    "adaptive": ("", lambda _: AdaptiveWindow()),
}


def window_policy(name: str) -> WindowPolicy:
    """Makes a policy from its name: ``"paper"``, ``"eager"``, ``"fixed(3)"``, ``"confidence(0.5)"``
    or ``"adaptive"``.

    Raises:
        ValueError: for an unknown name or a senseless number, with the names that exist.
    """
    shape = r"\s*([a-z_]{1,20})\s*(?:\(\s*([\d.]{1,8})\s*\))?\s*"
    match = re.fullmatch(shape, name) if isinstance(name, str) else None
    if match:
        word, number = match[1], match[2] or ""
        argument, make = _POLICIES.get(word, (None, None))
        if argument is not None and make and re.fullmatch(argument, number):
            return make(number)
    raise ValueError(
        f"unknown window policy {name!r:.40}; use 'paper' (wait for 2), 'eager' (never wait), "
        "'fixed(3)', 'confidence(0.5)' (until the draft is unsure) or 'adaptive'"
    )
