"""What a benchmark found: figures of each way, ratios between them, and whether outputs are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

import msgspec

from amusd_viz import events as ev
from amusd_viz.bench.floor import Floor
from amusd_viz.bench.sample import Sample
from amusd_viz.bench.statistics import median_interval
from amusd_viz.bench.ways import REFERENCE, Way


class MethodReport(msgspec.Struct, frozen=True, kw_only=True):
    """One way of decoding: medians over prompts. ``None`` where it does not define a figure."""

    runs: int
    tokens_per_second: float | None
    tokens_per_second_low: float | None
    tokens_per_second_high: float | None
    """95 % bootstrap interval of the median."""
    prefill_seconds: float
    acceptance_rate: float | None
    """Accepted of all judged proposals, over all prompts."""
    tokens_per_verification: float | None
    windows: dict[int, int]
    """Verifications by size of their window, over all prompts."""
    busy: dict[str, float | None]
    target_waits: float | None
    """Share of the decode that the target waits for proposals."""
    waste: float | None
    """Share of the proposals that do not stand in the output."""
    joules_per_token: float | None
    settings: dict[str, bool | int | float | str]
    numerics: ev.Numerics | None
    divergences: list[int | None]
    """First position that differs from the reference, one entry a prompt; ``None``: equal."""


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times faster one way is than another: of decode speeds, prompt by prompt."""

    median: float
    low: float
    high: float
    """95 % bootstrap interval of the median over prompts."""
    least: float
    """The prompt with the lowest one."""
    of_medians: float
    """The quotient of both median speeds."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark; ``partial`` where it was interrupted."""

    pair: str
    draft: str
    target: str
    machine: dict[str, str]
    versions: dict[str, str]
    created: str
    prompts: int
    max_new_tokens: int
    sampling: ev.Sampling
    methods: dict[str, MethodReport]
    ratios: dict[str, Ratio]
    identical: bool | None
    """Whether every run of the pair's numerics key wrote what plain decoding of that key wrote;
    ``None`` where there was nothing to compare."""
    bottleneck: str | None
    """Which model AMUSD waits for, in a sentence."""
    floors: dict[str, Floor] = {}
    skipped: dict[str, str] = {}
    """Ways that could not run here, and why."""
    partial: bool = False

    def to_json(self) -> str:
        """One JSON object."""
        return msgspec.json.encode(self).decode()


OVER = ("autoregressive", "autoregressive-all", REFERENCE.name, "synchronous", "synchronous-all")
"""What the others are compared with, besides ``assisted``."""


def method_report(
    way: Way,
    samples: Sequence[Sample],
    reference: Mapping[int, Sample],
    header: ev.Header | None,
) -> MethodReport:
    """The figures of one way over all its prompts."""
    speeds = [s.tokens_per_second for s in samples if s.tokens_per_second]
    speed = median_interval(speeds) if speeds else None
    judged = sum(s.accepted + s.rejected for s in samples)
    proposed = sum(s.proposed for s in samples)
    verifications = sum(s.verifications for s in samples)
    windows: Counter[int] = Counter()
    for sample in samples:
        windows.update(sample.windows)
    tokens = sum(len(s.token_ids) for s in samples)
    joules = [s.joules for s in samples if s.joules is not None]
    return MethodReport(
        runs=len(samples),
        tokens_per_second=speed.median if speed else None,
        tokens_per_second_low=speed.low if speed else None,
        tokens_per_second_high=speed.high if speed else None,
        prefill_seconds=median(s.prefill_seconds for s in samples),
        acceptance_rate=sum(s.accepted for s in samples) / judged if judged else None,
        tokens_per_verification=(
            sum(s.decoded for s in samples) / verifications if verifications else None
        ),
        windows=dict(sorted(windows.items())),
        busy={
            "draft": _median(s.draft_busy for s in samples),
            "target": _median(s.target_busy for s in samples),
        },
        target_waits=_median(s.target_waits for s in samples),
        waste=1 - sum(s.useful for s in samples) / proposed if proposed else None,
        joules_per_token=sum(joules) / tokens if joules else None,
        settings=dict(way.settings),
        numerics=header.numerics if header else None,
        divergences=[
            first_difference(s.token_ids, reference[s.prompt].token_ids)
            for s in samples
            if s.prompt in reference
        ],
    )


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """The first position at which two outputs differ; ``None`` if they do not."""
    shorter = min(len(ours), len(theirs))
    unequal = (i for i in range(shorter) if ours[i] != theirs[i])
    return next(unequal, None if len(ours) == len(theirs) else shorter)


def ratios_of(samples: Mapping[str, Sequence[Sample]]) -> dict[str, Ratio]:
    """Every way over every baseline, and assisted generation under the others."""
    found: dict[str, Ratio] = {}
    for name in samples:
        for other in (*OVER, "assisted"):
            if other in samples and other != name:
                ratio = _ratio(samples[name], samples[other])
                if ratio:
                    found[f"{name}/{other}"] = ratio
    return found


def _ratio(ours: Sequence[Sample], theirs: Sequence[Sample]) -> Ratio | None:
    """Of the prompts that both decoded."""
    speeds = {s.prompt: s.tokens_per_second for s in theirs if s.tokens_per_second}
    pairs = [
        (s.tokens_per_second, speeds[s.prompt])
        for s in ours
        if s.tokens_per_second and s.prompt in speeds
    ]
    if not pairs:
        return None
    quotients = [a / b for a, b in pairs]
    found = median_interval(quotients)
    return Ratio(
        median=found.median,
        low=found.low,
        high=found.high,
        least=min(quotients),
        of_medians=median(a for a, _ in pairs) / median(b for _, b in pairs),
    )


def identical(ways: Sequence[Way], methods: Mapping[str, MethodReport]) -> bool | None:
    """Whether all runs of the reference's numerics key are equal to it."""
    reference = methods.get(REFERENCE.name)
    if reference is None:
        return None
    same_key = [
        methods[way.name]
        for way in ways
        if way.name in methods
        and way.method
        and way.name != REFERENCE.name
        and methods[way.name].numerics == reference.numerics
    ]
    compared = [d for method in same_key for d in method.divergences]
    return all(d is None for d in compared) if compared else None


def bottleneck(amusd: MethodReport | None) -> str | None:
    """What AMUSD's target waits for, said from its shares."""
    if amusd is None or amusd.target_waits is None or amusd.busy["draft"] is None:
        return None
    waits, draft = amusd.target_waits, amusd.busy["draft"]
    if waits < 0.07:
        return f"the target is the bottleneck: it waits {waits:.0%} of the decode for proposals"
    if draft > 0.85:
        return (
            f"the draft is the bottleneck: it works {draft:.0%} of the decode, "
            f"and the target waits {waits:.0%} for proposals"
        )
    return f"neither is always busy: the target waits {waits:.0%}, the draft works {draft:.0%}"


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


Progress = Callable[[str], None]
