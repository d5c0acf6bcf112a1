"""Do the predictions hold? Other prompts, decoded for real, beside what was predicted for them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from amusd_viz.errors import SettingError
from amusd_viz.metrics import measure
from amusd_viz.paths import assets
from amusd_viz.simulate.prediction import Prediction
from amusd_viz.simulate.probe import Decodes

HELD_OUT_PROMPTS = (
    "Why do leaves change colour in autumn?",
    "Describe how to repair a flat bicycle tyre.",
    "Tell a short story about a lighthouse keeper and a storm.",
    "Write a Python function that reverses the words of a sentence.",
    "List four things to pack for a day in the mountains.",
    "Write a note to a teacher about a child who is ill.",
    "What happens to water when it boils?",
    "Correct this sentence: Me and him was going at the market yesterday.",
    "A train runs 80 kilometres in an hour. How far in two and a half hours? Explain.",
    "Write a dialogue between a doctor and a patient with a cold.",
    "How do bees find their way home?",
    "Give three reasons to learn a second language.",
)
"""None of them is among the prompts that a calibration decodes."""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """One method and setting: predicted beside measured."""

    method: str
    setting: str
    predicted: float
    """Tokens a second."""
    measured: tuple[float, ...]
    """Tokens a second, a run for each prompt."""

    @property
    def off(self) -> float:
        """How far the prediction is from the median run, as a share of it."""
        return self.predicted / statistics.median(self.measured) - 1


class HeldOutComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A pair that was calibrated, and what it then did with other prompts.

    Attributes:
        pair: its short name.
        dtype: of the run.
        machine: where it was, for people.
        prompts: how many others were decoded.
        max_new_tokens: length of each run (tokens).
        held_out: the methods and settings, predicted beside measured.
    """

    pair: str
    dtype: str
    machine: str
    prompts: int
    max_new_tokens: int
    held_out: tuple[HeldOut, ...]

    def save(self, path: str | Path) -> Path:
        """Writes the comparison as JSON and returns the path."""
        path = Path(path)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")
        return path


def kept_comparisons() -> list[HeldOutComparison]:
    """Those that come with the package (``calibrate --verify --keep FILE``), on two CPU cores."""
    files = sorted(assets("measured", "predicted").glob("*.json"))
    return [msgspec.json.decode(file.read_bytes(), type=HeldOutComparison) for file in files]


def compare_with_runs(
    session: Decodes,
    predictions: Sequence[Prediction],
    *,
    prompts: Sequence[str] = HELD_OUT_PROMPTS,
    max_new_tokens: int = 48,
    progress: Callable[[str], None] = lambda line: None,
) -> HeldOutComparison:
    """Decodes every prompt with every predicted method and setting, in turns.

    Args:
        session: the warm session that was calibrated.
        predictions: for that session's pair.
        prompts: what is decoded; none that the calibration decoded.
        max_new_tokens: how long each run is (tokens).
        progress: is told what is decoded next, in a few words.

    Raises:
        SettingError: there is nothing to compare.
    """
    if not prompts or not predictions:
        raise SettingError(
            "there is no prompt or no prediction to compare; give one or more of each"
        )
    speeds: list[list[float]] = [[] for _ in predictions]
    for number, prompt in enumerate(prompts, start=1):
        for prediction, found in zip(predictions, speeds, strict=True):
            progress(f"prompt {number} of {len(prompts)}: {prediction.method} {prediction.setting}")
            run = session.decode(
                prompt, prediction.method, max_new_tokens=max_new_tokens, **_settings(prediction)
            )
            speed = measure(run.trace).tokens_per_second
            if speed:
                found.append(speed)
    header = run.trace.header
    return HeldOutComparison(
        pair=header.pair_name,
        dtype=header.numerics.dtype if header.numerics else "",
        machine=header.machine.get("processor", ""),
        prompts=len(prompts),
        max_new_tokens=max_new_tokens,
        held_out=tuple(
            HeldOut(
                method=prediction.method,
                setting=prediction.setting,
                predicted=prediction.tokens_per_second,
                measured=tuple(found),
            )
            for prediction, found in zip(predictions, speeds, strict=True)
            if found
        ),
    )


def _settings(prediction: Prediction) -> dict[str, object]:
    if prediction.method == "synchronous":
        return {"lookahead": int(prediction.setting.removeprefix("lookahead(").rstrip(")"))}
    return {"policy": prediction.setting} if prediction.method == "amusd" else {}
