"""A recorded run of an engine with a fault, to be found by reading. Simulated, with one line forged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from amusd_viz import events as ev
from amusd_viz.lessons.toy import DRAFT_MS, MS, TARGET_MS
from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.text import Text
from amusd_viz.simulate.timing import Constant, Timing

__all__ = ["FAULT", "FaultyRun", "faulty_run"]


@dataclass(frozen=True, repr=False)
class FaultyRun:
    """Numbered lines of what happened, one of which must not happen.

    Attributes:
        lines: one sentence an event.
        fault: number of the line that must not happen, from 1.
        rejections, rollbacks, innocent: lines that look suspicious and are in order.
    """

    lines: tuple[str, ...]
    fault: int
    rejections: tuple[int, ...]
    rollbacks: tuple[int, ...]
    innocent: tuple[int, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{n:>3}  {line}" for n, line in enumerate(self.lines, start=1))


@cache
def faulty_run() -> FaultyRun:
    """Ten numbers, the fifth proposal wrong; the next window is said to be of the branch that died.

    What the draft proposed behind its wrong token is right by chance, so the text gives nothing away.
    """
    numbers_in_order = list(range(1, 11))
    text = Text(numbers_in_order, [1, 2, 3, 4, 9, 6, 7, 8, 9, 10], astray=numbers_in_order)
    timing = Timing(DRAFT_MS * MS, Constant(TARGET_MS * MS))
    trace = simulate(text, timing, max_new_tokens=10, run_ahead=6)
    lines: list[str] = []
    numbers: dict[str, list[int]] = {"fault": [], "rejection": [], "rollback": [], "innocent": []}
    dead = -1
    for event in trace.events:
        told = _told(event)
        if told is None:
            continue
        who, what = told
        if isinstance(event, ev.VerifyStarted) and dead >= 0 and not numbers["fault"]:
            # The forgery: the window names the branch that has died.
            what = what.replace(f"branch {event.branch}", f"branch {dead}")
            kind = "fault"
        elif isinstance(event, ev.Verified) and event.extra == "correction":
            dead, kind = event.branch, "rejection"
        elif isinstance(event, ev.RolledBack):
            kind = "rollback"
        elif isinstance(event, ev.Proposed) and event.branch == dead:
            kind = "innocent"
        else:
            kind = ""
        lines.append(f"{event.at / 1e6:>4.0f} ms  {who:<7} {what}")
        if kind:
            numbers[kind].append(len(lines))
    return FaultyRun(
        tuple(lines),
        numbers["fault"][0],
        tuple(numbers["rejection"]),
        tuple(numbers["rollback"]),
        tuple(numbers["innocent"]),
    )


def _told(event: ev.Event | ev.Unknown) -> tuple[str, str] | None:
    match event:
        case ev.Proposed():
            return "draft", f"proposes {event.token} at {event.position} (branch {event.branch})"
        case ev.VerifyStarted(tokens=()):
            return "target", "starts a pass without proposals"
        case ev.VerifyStarted():
            judged = " ".join(map(str, event.tokens))
            return (
                "target",
                f"starts to judge {judged} from {event.position} on (branch {event.branch})",
            )
        case ev.Verified():
            committed = " ".join(map(str, event.committed))
            return "target", f"accepts {event.accepted} and commits {committed} ({event.extra})"
        case ev.Dropped():
            return "target", f"drops position {event.position}, branch {event.branch}: {event.fate}"
        case ev.RolledBack():
            return (
                "draft",
                f"hears the commit, rolls back to {event.position}, begins branch {event.branch}",
            )
        case ev.Finished():
            return "target", f"is finished: {event.tokens} tokens"
    return None


FAULT = faulty_run().fault
