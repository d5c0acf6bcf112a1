"""What can be set in the lab, how far, and settings worth starting from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace

from amusd_viz.errors import SettingError
from amusd_viz.metrics import measure
from amusd_viz.paths import recording, recordings
from amusd_viz.simulate.calibration import (
    Calibration,
    Costs,
    calibrate_traces,
    shipped_calibrations,
)
from amusd_viz.simulate.checks import probability
from amusd_viz.simulate.gain import Surroundings
from amusd_viz.trace import Trace

ACCEPTANCES = tuple(round(0.18 + 0.04 * i, 2) for i in range(21))
"""Rows of the gain map."""
RATIOS = tuple(round(0.02 * 60 ** (i / 21), 4) for i in range(22))
"""Columns of the gain map: from 0.02 to 1.2, evenly on a logarithmic scale."""


@dataclass(frozen=True)
class Range:
    """Limits of one setting and the step of its slider."""

    least: float
    most: float
    step: float


RANGES = {
    "acceptance": Range(0.0, 0.99, 0.01),
    "ratio": Range(0.02, 1.2, 0.01),
    "latency": Range(0.0, 2.0, 0.05),
    "wait": Range(0, 8, 1),
    "lookahead": Range(0, 16, 1),
    "slope": Range(0.0, 0.1, 0.005),
    "tensor_parallel": Range(1.0, 2.0, 0.1),
    "run_ahead": Range(2, 128, 1),
    "jitter": Range(0.0, 0.5, 0.05),
}


@dataclass(frozen=True)
class LabSettings:
    """One question to the lab; times in target steps."""

    acceptance: float = 0.8
    ratio: float = 0.1
    """Draft step over target step."""
    latency: float = 0.0
    """Messages of AMUSD, both ways together. Synchronous decoding runs on one device."""
    wait: int = 2
    """Proposals AMUSD's target waits for; 0: it never waits."""
    lookahead: int = 0
    """Proposals of a synchronous round; 0: whatever is best."""
    slope: float = 0.0
    """What each proposal of a window adds to a target pass."""
    tensor_parallel: float = 1.0
    """How many times faster the synchronous target is with both devices."""
    run_ahead: int = 64
    """How far AMUSD's draft may be past the last commit it knows."""
    jitter: float = 0.0
    """Standard deviation of steps and passes, as a share."""

    def __post_init__(self) -> None:
        for name, limits in RANGES.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            # Not `value < least`: a comparison with NaN must refuse it.
            if not (number and limits.least <= value <= limits.most):
                raise SettingError(
                    f"{name} is {value!r}; give a number from {limits.least} to {limits.most}"
                )
            if limits.step == 1 and value != int(value):
                raise SettingError(f"{name} is {value!r}; give a whole number")

    @classmethod
    def of(cls, values: Mapping[str, object]) -> LabSettings:
        """From names and numbers; names that are left out keep their defaults."""
        names = {field.name for field in fields(cls)}
        if unknown := sorted(map(str, set(values) - names)):
            raise SettingError(
                f"unknown lab setting {unknown[0]!r}; there are {', '.join(sorted(names))}"
            )
        # A browser has no whole numbers.
        whole = {
            name: int(v)
            if RANGES[name].step == 1 and isinstance(v, float) and v.is_integer()
            else v
            for name, v in values.items()
        }
        return cls(**whole)

    @property
    def around(self) -> Surroundings:
        """What the gain map holds fixed."""
        return Surroundings(self.latency, self.slope, self.tensor_parallel, self.run_ahead)

    def values(self) -> dict[str, float]:
        """All settings by name."""
        return asdict(self)

    def chosen(self, names: Iterable[str]) -> dict[str, float]:
        """Some settings by name."""
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class MeasuredPoint:
    """A pair as it was measured, for the gain map."""

    label: str
    acceptance: float
    ratio: float
    gain: float | None = None
    """Measured speed of AMUSD over synchronous decoding, where both were run."""

    def __post_init__(self) -> None:
        probability("acceptance of a measured point", self.acceptance)

    @classmethod
    def of(cls, calibration: Calibration, gain: float | None = None) -> MeasuredPoint:
        """From a calibration; refused where that holds no draft step or no target pass."""
        costs = calibration.together
        if costs.draft_step is None or not costs.target_pass:
            costs = calibration.turns
        return cls(calibration.pair, calibration.acceptance.value, _ratio(costs), gain)


def _ratio(costs: Costs) -> float:
    if costs.draft_step is None or not costs.target_pass:
        raise SettingError("the calibration holds no draft step or no target pass")
    passes = sum(e.count for e in costs.target_pass.values())
    mean = sum(e.value * e.count for e in costs.target_pass.values()) / passes
    return costs.draft_step.value / mean


PUBLISHED = (
    MeasuredPoint("published: Llama 8B + 1B, two GPUs, HumanEval", 0.952, 0.465, 1.30),
    MeasuredPoint("published: the same, RefactorChat", 0.962, 0.378, 1.40),
)
"""One prompt each of the published implementation, decode only, lookahead 5 against wait 2."""


def calibrated_points() -> list[MeasuredPoint]:
    """The pairs whose calibrations come with the package."""
    points = [MeasuredPoint.of(calibration) for calibration in shipped_calibrations()]
    return [replace(p, label=f"{p.label}, calibrated on two CPU cores") for p in points]


def recorded_points() -> list[MeasuredPoint]:
    """The pairs of the recorded runs that come with the package."""
    by_pair: dict[str, list[Trace]] = {}
    for name in recordings():
        trace = recording(name)
        if trace.header.source == "measured":
            by_pair.setdefault(trace.header.pair, []).append(trace)
    return [
        MeasuredPoint.of(calibrate_traces(traces), measured_gain(traces))
        for traces in by_pair.values()
        if any(t.header.draft for t in traces)
    ]


def measured_gain(traces: Iterable[Trace]) -> float | None:
    """The fastest recorded AMUSD run's speed over the fastest synchronous one's."""
    best: dict[str, float] = {}
    for trace in traces:
        speed = measure(trace).tokens_per_second or 0.0
        best[trace.header.method] = max(speed, best.get(trace.header.method, 0.0))
    if not (best.get("amusd") and best.get("synchronous")):
        return None
    return best["amusd"] / best["synchronous"]


def presets() -> dict[str, LabSettings]:
    """Settings worth starting from, by name."""
    start = LabSettings()
    found = {
        "The paper's pair: 8B and 1B, two GPUs": replace(
            start, acceptance=0.95, ratio=0.46, wait=2
        ),
        "A tiny draft": replace(start, acceptance=0.6, ratio=0.05, wait=3),
        "A slow network between the two": replace(
            start, acceptance=0.9, ratio=0.1, latency=0.9, wait=4
        ),
        "Equal hardware: the target on both devices": replace(
            start, acceptance=0.8, ratio=0.1, tensor_parallel=1.6, wait=3
        ),
        "A draft that loses": replace(start, acceptance=0.5, ratio=0.45, wait=2),
    }
    for point in recorded_points()[:1]:
        ratio = min(1.2, max(0.02, round(point.ratio, 2)))
        here = replace(start, acceptance=min(0.99, round(point.acceptance, 2)), ratio=ratio)
        found = {"The default pair, as recorded": here, **found}
    return found
