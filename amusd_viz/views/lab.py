"""The lab: would asynchrony pay for these models and devices?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import anywidget
import traitlets

from amusd_viz.errors import AmusdVizError
from amusd_viz.simulate.calibration import Calibration
from amusd_viz.simulate.gain import gain_map
from amusd_viz.views.bundle import style, widget_script
from amusd_viz.views.lab_answer import Answer, answer, runs
from amusd_viz.views.lab_settings import (
    ACCEPTANCES,
    PUBLISHED,
    RANGES,
    RATIOS,
    LabSettings,
    MeasuredPoint,
    calibrated_points,
    presets,
    recorded_points,
)


class Lab(anywidget.AnyWidget):
    """Sliders for what a pair and its devices are like, and what follows from it.

    Every move is answered in Python with the simulator: expected speed-ups, a sentence in words, two
    simulated runs in a theater, and a map of the gain over acceptance and ratio with its contour of
    1.0. Measured pairs stand on the map as points of their own; everything else is simulated.

    Args:
        points: more pairs for the map, such as your own calibrations.
        settings: where to start: fields of
            :class:`~amusd_viz.views.lab_settings.LabSettings`, such as ``acceptance=0.9``.

    Raises:
        SettingError: a setting that makes no sense.
    """

    _esm = widget_script("lab.js")
    _css = style("lab.css")

    settings = traitlets.Dict().tag(sync=True)
    """The question: names and numbers."""
    fixed = traitlets.Dict().tag(sync=True)
    """What never changes: ranges of the sliders, axes of the map, presets, measured points."""
    answer = traitlets.Dict().tag(sync=True)
    gain = traitlets.List().tag(sync=True)
    """The map, a row for each acceptance; sent only when it changes."""
    traces = traitlets.List(traitlets.Unicode()).tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def __init__(
        self, *, points: Iterable[MeasuredPoint | Calibration] = (), **settings: float
    ) -> None:
        self._asked = LabSettings.of(settings)
        own = [p if isinstance(p, MeasuredPoint) else MeasuredPoint.of(p) for p in points]
        fixed = {
            "ranges": {name: asdict(limits) for name, limits in RANGES.items()},
            "acceptances": ACCEPTANCES,
            "ratios": RATIOS,
            "presets": {name: preset.values() for name, preset in presets().items()},
            "points": [
                asdict(p) for p in (*own, *calibrated_points(), *recorded_points(), *PUBLISHED)
            ],
        }
        super().__init__(
            settings=self._asked.values(),
            fixed=fixed,
            gain=_map(self._asked),
            **_answered(self._asked),
        )
        self.observe(self._moved, "settings")

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value:g}" for name, value in self._asked.values().items())
        return f"Lab({told})"

    @property
    def result(self) -> Answer:
        """The answer to the present settings, as numbers."""
        return answer(self._asked)

    def set(self, **settings: float) -> Lab:
        """Moves some of the sliders, checked; the others stay."""
        changed = replace(self._asked, **LabSettings.of(settings).chosen(settings))
        self.settings = changed.values()
        return self

    def _moved(self, change: dict[str, Any]) -> None:
        """A slider moved, here or in the browser."""
        try:
            asked = LabSettings.of(change["new"])
        except (AmusdVizError, TypeError, ValueError, KeyError) as error:
            self.problem = str(error)
            return
        before, self._asked = self._asked, asked
        self._set(**_answered(asked))
        if before.around != asked.around:
            # A message of its own: the answer need not wait for the map.
            self._set(gain=_map(asked))

    def _set(self, **traits: Any) -> None:
        """Several traits in one message."""
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)


def _answered(asked: LabSettings) -> dict[str, Any]:
    found = answer(asked)
    told = {
        "sentence": found.sentence,
        "speeds": [asdict(found.synchronous), asdict(found.amusd)],
        "gain": found.gain,
    }
    traces = [trace.dumps().decode() for trace in runs(asked)]
    return {"answer": told, "traces": traces, "problem": ""}


def _map(asked: LabSettings) -> list[list[float]]:
    rows = gain_map(ACCEPTANCES, RATIOS, asked.around)
    return [[round(value, 3) for value in row] for row in rows]
