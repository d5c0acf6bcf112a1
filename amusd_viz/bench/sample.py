"""What one run contributes to a benchmark: the figures of one prompt decoded in one way."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from amusd_viz import events as ev
from amusd_viz.metrics import USEFUL_FATES, measure
from amusd_viz.simulate.calibration import draft_durations, target_durations
from amusd_viz.trace import Trace


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times in seconds; ``None`` where a way of decoding does not define a figure."""

    method: str
    prompt: int
    token_ids: tuple[int, ...]
    prefill_seconds: float
    decode_seconds: float
    """From the first commit to the last."""
    decoded: int
    """Tokens behind the first commit."""
    accepted: int = 0
    rejected: int = 0
    proposed: int = 0
    useful: int = 0
    """Proposals that stand in the output."""
    verifications: int = 0
    windows: dict[int, int] = {}
    draft_busy: float | None = None
    target_busy: float | None = None
    target_waits: float | None = None
    draft_step_ms: float | None = None
    target_pass_ms: float | None = None
    joules: float | None = None

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of the decode; ``None`` where all came with the first commit."""
        return self.decoded / self.decode_seconds if self.decoded and self.decode_seconds else None


def sample_of(trace: Trace, method: str, prompt: int, joules: float | None = None) -> Sample:
    """The figures of a run of the engine."""
    figures = measure(trace)
    draft, target = figures.draft, figures.target
    return Sample(
        method=method,
        prompt=prompt,
        token_ids=trace.tokens,
        prefill_seconds=figures.prefill_seconds or 0.0,
        decode_seconds=figures.decode_seconds or 0.0,
        decoded=max(0, len(trace.tokens) - 1),
        accepted=figures.accepted,
        rejected=figures.rejected,
        proposed=figures.proposed,
        useful=sum(n for fate, n in figures.fates.items() if fate in USEFUL_FATES),
        verifications=figures.verifications,
        windows=figures.windows,
        draft_busy=draft.busy if draft and trace.header.draft else None,
        target_busy=target.busy if target else None,
        target_waits=target.waits.get(ev.Wait.PROPOSALS, 0.0) if target else None,
        draft_step_ms=_median_ms(draft_durations(trace)[1:]),
        target_pass_ms=_median_ms([ns for _, ns in target_durations(trace)]),
        joules=joules,
    )


def _median_ms(durations: Sequence[int]) -> float | None:
    return median(durations) / 1e6 if durations else None
