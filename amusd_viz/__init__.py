"""See, step through and measure asynchronous speculative decoding (AMUSD, arXiv 2410.17375).

This is all that a notebook imports. Reading and showing recordings needs no torch and is here at
once; what needs an engine, a browser widget or a plot is imported when it is first asked for.

    from amusd_viz import Theater, Trace, decode, recording

    Theater(recording("sky-amusd"))                       # a recorded run, on any machine
    run = decode("Why is the sky blue?", method="amusd")  # needs: pip install "amusd-viz[engine]"
    Theater(run.trace)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from amusd_viz import errors
from amusd_viz.errors import AmusdVizError
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.comparison import Comparison, compare, decode, playground
    from amusd_viz.engine import Run, Session
    from amusd_viz.live import live_stepper, measure_row_cost
    from amusd_viz.paths import recording, recordings
    from amusd_viz.simulate.calibration import Calibration
    from amusd_viz.simulate.prediction import predict
    from amusd_viz.simulate.probe import calibrate
    from amusd_viz.views.lab import Lab
    from amusd_viz.views.stepper import Stepper
    from amusd_viz.views.theater import Theater

    __version__: str

__all__ = [
    "AmusdVizError",
    "Calibration",
    "Comparison",
    "Lab",
    "Run",
    "Session",
    "Stepper",
    "Theater",
    "Trace",
    "__version__",
    "calibrate",
    "compare",
    "decode",
    "errors",
    "live_stepper",
    "measure_row_cost",
    "playground",
    "predict",
    "recording",
    "recordings",
]

_HOMES = {
    "Calibration": "amusd_viz.simulate.calibration",
    "Comparison": "amusd_viz.comparison",
    "Lab": "amusd_viz.views.lab",
    "Run": "amusd_viz.engine",
    "Session": "amusd_viz.engine",
    "Stepper": "amusd_viz.views.stepper",
    "Theater": "amusd_viz.views.theater",
    "calibrate": "amusd_viz.simulate.probe",
    "compare": "amusd_viz.comparison",
    "decode": "amusd_viz.comparison",
    "live_stepper": "amusd_viz.live",
    "measure_row_cost": "amusd_viz.live",
    "playground": "amusd_viz.comparison",
    "predict": "amusd_viz.simulate.prediction",
    "recording": "amusd_viz.paths",
    "recordings": "amusd_viz.paths",
}
"""Where each name that is imported when first asked for lives."""

_NEEDS_ENGINE = {"Run", "Session"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("amusd-viz")
    if name not in _HOMES:
        raise AttributeError(f"module 'amusd_viz' has no attribute {name!r}")
    if name in _NEEDS_ENGINE:
        from amusd_viz.extras import need_engine

        need_engine()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
