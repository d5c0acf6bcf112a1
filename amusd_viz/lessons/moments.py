"""Finding a named moment in a recording, wherever a new recording puts it."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace


def rollback_over(trace: Trace, word: str = " sunlight") -> str:
    """Where a theater opens on the rollback that put ``word`` into the text: ``"rollback 3"``.

    Raises:
        SettingError: no rollback of this run did.
    """
    for number, rollback in enumerate(trace.of(ev.RolledBack), start=1):
        if trace.texts[rollback.position] == word:
            return f"rollback {number}"
    raise SettingError(f"no rollback of this run puts {word!r} into the text")


def rolled_back_over(trace: Trace, word: str = " sunlight") -> tuple[ev.RolledBack, list[str]]:
    """That rollback, and the texts of the tokens it discarded."""
    number = int(rollback_over(trace, word).split()[1])
    rollback = trace.of(ev.RolledBack)[number - 1]
    texts = {
        (p.branch, p.position): p.text for p in trace.of(ev.Proposed) if p.branch < rollback.branch
    }
    branch = rollback.branch - 1
    return rollback, [
        texts.get((branch, rollback.position + i), "") for i in range(len(rollback.discarded))
    ]
