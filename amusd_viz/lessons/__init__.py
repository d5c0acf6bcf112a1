"""What makes the notebooks lessons: predict before you see, try, check, and be helped where you err.

    from amusd_viz.lessons import predict, check, hint, quiz, save

``check`` runs the reader's own function with a budget of steps and answers with the hint that fits the
mistake, never with the solution. Needs no torch.
"""

from amusd_viz.lessons.exercise import check, hint, solution
from amusd_viz.lessons.moments import rollback_over
from amusd_viz.lessons.prediction import Prediction, predict
from amusd_viz.lessons.progress import save
from amusd_viz.lessons.quiz import Quiz, quiz
from amusd_viz.lessons.recorded import recorded_distributions, recorded_row_cost
from amusd_viz.lessons.toy import toy

__all__ = [
    "Prediction",
    "Quiz",
    "check",
    "hint",
    "predict",
    "quiz",
    "recorded_distributions",
    "recorded_row_cost",
    "rollback_over",
    "save",
    "solution",
    "toy",
]
