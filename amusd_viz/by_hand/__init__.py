"""The protocol driven by a person: who acts next is a choice, and time is what it costs.

``pair`` says what the two models answer, ``run`` is the state and its buttons, ``autopilot`` presses
them as a policy would. No torch: a recorded pair answers from a file, and one that computes is given
in its place (``amusd_viz.engine.live_pair``).
"""

from amusd_viz.by_hand.autopilot import Score, finish_by, scoreboard
from amusd_viz.by_hand.pair import Answer, ModelPair, RecordedPair, recorded_pair
from amusd_viz.by_hand.run import Button, ByHand
from amusd_viz.by_hand.state import State

__all__ = [
    "Answer",
    "Button",
    "ByHand",
    "ModelPair",
    "RecordedPair",
    "Score",
    "State",
    "finish_by",
    "recorded_pair",
    "scoreboard",
]
