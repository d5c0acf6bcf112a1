"""What lessons ask of real models in this process: a stepper over them, and the cost of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amusd_viz.extras import need_engine

if TYPE_CHECKING:
    from amusd_viz.lessons.recorded import RowCost
    from amusd_viz.views.stepper import Stepper


def live_stepper(
    prompt: str,
    *,
    max_new_tokens: int = 12,
    run_ahead: int = 8,
    pair: str | None = None,
    draft: str | None = None,
    target: str | None = None,
) -> Stepper:
    """A stepper over real models, which are loaded into this process.

    Args:
        prompt: what to continue or, with a chat model, to answer.
        max_new_tokens: length of the output.
        run_ahead: how far past the last commit it knows the draft may go.
        pair, draft, target: which models, as for a session.

    Raises:
        AmusdVizError: what is wrong with the prompt, the numbers or the models.
    """
    need_engine("A stepper over real models")
    from amusd_viz.engine.live_pair import LivePair
    from amusd_viz.views.stepper import Stepper

    models = LivePair(prompt, pair=pair, draft=draft, target=target)
    return Stepper(models, max_new_tokens=max_new_tokens, run_ahead=run_ahead)


def measure_row_cost(
    *, target: str | None = None, dtype: str | None = None, repeats: int = 5
) -> RowCost:
    """Times target passes over 1 to 16 rows on one core; see :mod:`amusd_viz.models.row_cost`.

    Raises:
        AmusdVizError: the engine is not installed, or the model cannot be had.
    """
    need_engine("Measuring passes")
    from amusd_viz.models.row_cost import measure_row_cost as measure

    return measure(target=target, dtype=dtype, repeats=repeats)
