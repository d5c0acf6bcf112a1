"""The stepper: you schedule a draft and a target, one act at a time."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from amusd_viz.by_hand import ByHand, ModelPair, finish_by, recorded_pair, scoreboard
from amusd_viz.by_hand.autopilot import Score
from amusd_viz.errors import AmusdVizError
from amusd_viz.trace import Trace
from amusd_viz.views.bundle import style, widget_script
from amusd_viz.views.stepper_view import fixed_view, view

POLICIES = ("paper", "eager", "fixed(1)", "fixed(4)", "adaptive")
"""Window policies that can play the rest, and are on the scoreboard."""

SUNLIGHT = 90
"""Where the recorded text has its “sunlight” rollback two tokens ahead."""


class Stepper(anywidget.AnyWidget):
    """Buttons for the real protocol: draft, take in mail, start and finish a verification, undo.

    Without a pair it answers from a recording of the default one and needs no torch.

    Args:
        pair: what the two models answer, such as
            :class:`amusd_viz.engine.live_pair.LivePair`; by default a recorded pair.
        start: for the recorded pair: how many output tokens count as read already.
        max_new_tokens: length of the output.
        run_ahead: how far past the last commit it knows the draft may go.

    Raises:
        SettingError: a number that makes no sense, or more tokens than were recorded.
    """

    _esm = widget_script("stepper_widget.js")
    _css = style("stepper.css")

    fixed = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        pair: ModelPair | None = None,
        *,
        start: int = SUNLIGHT,
        max_new_tokens: int = 12,
        run_ahead: int = 8,
    ) -> None:
        recorded = recorded_pair(start=start) if pair is None else None
        models = pair or recorded
        assert models is not None
        measured = (
            recorded.recording.measured
            if recorded
            else "measured in this process, one step at a time"
        )
        self.run = ByHand(models, max_new_tokens=max_new_tokens, run_ahead=run_ahead)
        super().__init__(
            fixed=fixed_view(self.run, POLICIES, measured=measured, horizon=_horizon(self.run)),
            view=view(self.run),
        )
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"Stepper({self.run.pair.name}, {self.run.max_new_tokens} tokens)"

    def press(self, action: str) -> Stepper:
        """Presses a button: ``draft``, ``read``, ``receive``, ``start``, ``finish`` or ``undo``.

        Raises:
            SettingError: it cannot be pressed now; the message says why.
        """
        if action == "undo":
            self.run.undo()
        else:
            self.run.press(action)
        return self._show()

    def finish_by(self, policy: str = "paper") -> Stepper:
        """Plays the rest as a window policy would; one press for undo."""
        finish_by(self.run, policy)
        return self._show()

    @property
    def scores(self) -> list[Score]:
        """Your run, if it is over, and the same text by other schedules; the fastest first."""
        return scoreboard(self.run, POLICIES)

    @property
    def trace(self) -> Trace:
        """The run so far, for a theater."""
        return self.run.trace

    @property
    def text(self) -> str:
        """The committed text."""
        return self.run.text()

    def _show(self) -> Stepper:
        # The scoreboard plays the whole text by every policy; it waits for the end of yours.
        self.view = view(self.run, self.scores if self.run.state.done else None)
        return self

    def _hear(self, _: object, message: dict[str, Any], __: object) -> None:
        self.problem = ""
        try:
            if policy := message.get("finishBy"):
                self.finish_by(str(policy))
            else:
                self.press(str(message.get("press")))
        except AmusdVizError as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"The models failed: {type(error).__name__}: {str(error)[:200]}"


def _horizon(run: ByHand) -> int:
    """Room in the lanes (ns): what plain decoding would take."""
    _, took = (
        run.pair.verify((), ()) if run.pair.longest is None else run.pair.verify(run.tokens, ())
    )
    return max(took, 1_000_000) * max(4, round(run.max_new_tokens * 0.75))
