"""What all tests share: no network while testing, and a sentence where something cannot run here."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable

import pytest
from hypothesis import settings

from amusd_viz import machine
from amusd_viz.extras import ENGINE_PACKAGES, missing_from
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A shell that starts a test run in the background has it ignore interrupts, and every process that
# it starts; interrupts are among the things tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A test in CI fails for a change, never for a new example; at home new ones are looked for.
settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The browser of the browser tests."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _why_not_engine() -> str | None:
    if missing := missing_from(ENGINE_PACKAGES):
        return f"not installed: {', '.join(missing)}"
    from amusd_viz.models.default_target import is_cached

    return None if is_cached() else "the default target is not cached: run 'make target'"


def _why_not_browser() -> str | None:
    return None if chromium() else "no Chromium: run 'apt-get install chromium'"


def _why_not_cuda() -> str | None:
    return None if machine.gpus() else "no CUDA device here"


NEEDS: dict[str, Callable[[], str | None]] = {
    "engine": _why_not_engine,
    "browser": _why_not_browser,
    "cuda": _why_not_cuda,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for name, why_not in NEEDS.items():
        marked = [item for item in items if item.get_closest_marker(name)]
        reason = why_not() if marked else None
        for item in marked if reason else ():
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def simulated_amusd() -> Trace:
    """A small run in virtual time; the draft is wrong at every fifth position, so it rolls back."""
    length = 40
    target = list(range(100, 100 + length))
    draft = [token if position % 5 else 7 for position, token in enumerate(target)]
    words = {token: f" word{token}" for token in target}
    timing = Timing(draft=14_000_000, target=lambda k: 34_000_000, latency_to_draft=1_000_000)
    return simulate(Text(target, draft, words), timing, method="amusd", max_new_tokens=length)
