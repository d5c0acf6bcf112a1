"""What the stepper shows of a hand-driven run: plain data, the same for a widget and a page."""

from __future__ import annotations

from typing import Any

from amusd_viz import events as ev
from amusd_viz.by_hand.autopilot import Score
from amusd_viz.by_hand.run import ByHand
from amusd_viz.by_hand.state import State
from amusd_viz.words import visible

CONTEXT = 160
"""Characters of earlier text that are shown."""


def fixed_view(run: ByHand, policies: tuple[str, ...], *, measured: str, horizon: int) -> dict:
    """What never changes.

    Args:
        run: at any state.
        policies: offered to finish the run.
        measured: where the times come from.
        horizon: how much time the lanes have room for, in ns.
    """
    return {
        "context": _end_of(run.pair.context or run.pair.prompt),
        "isAnswer": bool(run.pair.context),
        "prompt": visible(run.pair.prompt, 200),
        "pair": f"{run.pair.draft_model.name} and {run.pair.target_model.name}",
        "measured": measured,
        "policies": list(policies),
        "tokens": run.max_new_tokens,
        "horizon": horizon,
    }


def _end_of(text: str) -> str:
    """The last words of a text."""
    line = " ".join(text.split())
    if len(line) <= CONTEXT:
        return visible(line, CONTEXT + 40)
    return "… " + visible(line[-CONTEXT:].partition(" ")[2], CONTEXT + 40)


def view(run: ByHand, scores: list[Score] | None = None) -> dict[str, Any]:
    """Everything that a press may change."""
    state = run.state
    return {
        "presses": len(run.presses),
        "sentence": state.sentence,
        "buttons": {b.action: [b.label, b.why_not] for b in run.buttons()},
        "canUndo": run.can_undo,
        "done": state.done,
        "draft": _draft(run, state),
        "target": _target(run, state),
        "toTarget": [_word(run, p.token, p.position) for _, p in state.proposals],
        "toDraft": [
            [_word(run, token, c.position + i) for i, token in enumerate(c.tokens)]
            for _, c in state.commits
        ],
        "lanes": lanes(state),
        "wasted": state.wasted,
        "scores": [[s.name, s.duration, s.wasted, s.waited, s.name == "you"] for s in scores or ()],
    }


def _draft(run: ByHand, state: State) -> dict[str, Any]:
    dead = state.dead_from
    chips = []
    for position, token in enumerate(state.draft.tokens):
        if position < state.draft.known:
            kind = "known"
        elif dead is not None and position >= dead:
            kind = "dead"
        else:
            kind = "believed"
        chips.append([*_word(run, token, position), kind])
    return {
        "clock": state.draft_clock,
        "chips": chips,
        "knows": state.draft.known,
        "branch": state.draft.branch,
    }


def _target(run: ByHand, state: State) -> dict[str, Any]:
    target = state.target
    window = target.window
    judging = window.tokens if window else ()
    start = window.position if window else 0
    return {
        "clock": state.target_clock,
        "chips": [
            [*_word(run, token, position), "committed"]
            for position, token in enumerate(target.committed)
        ],
        "window": [_word(run, token, start + i) for i, token in enumerate(judging)],
        "pending": [_word(run, p.token, p.position) for p in target.pending],
        "until": state.verifying[1] if state.verifying else None,
    }


def _word(run: ByHand, token: int, position: int) -> list:
    return [position, visible(run.word(token), 24)]


def lanes(state: State) -> list[list]:
    """Bars of both devices: side, start and end (ns), kind, label, and whether it came to nothing."""
    bars = []
    for event in state.events:
        if isinstance(event, ev.Proposed):
            dead = _is_dead(state, event)
            bars.append(["draft", event.start, event.end, "step", str(event.position), dead])
        elif isinstance(event, ev.Verified) and event.end > event.start:
            label = f"{event.accepted} of {event.proposals}" if event.proposals else "1"
            bars.append(["target", event.start, event.end, "pass", label, False])
        elif isinstance(event, ev.Waited):
            bars.append([event.side.value, event.start, event.end, "wait", "waits", False])
    if state.verifying:
        bars.append(["target", *state.verifying, "running", "verifying", False])
    return bars


def _is_dead(state: State, proposal: ev.Proposed) -> bool:
    """Whether the target has decided against it, or against what it was built on."""
    committed = state.target.committed
    return any(
        event.branch == proposal.branch
        and event.position <= proposal.position
        and event.position < len(committed)
        and event.token != committed[event.position]
        for event in state.events
        if isinstance(event, ev.Proposed)
    )
