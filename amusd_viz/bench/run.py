"""Runs a benchmark: every prompt in every way, one after the other, and keeps what is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from amusd_viz import events as ev
from amusd_viz.bench.floor import Floor, bandwidth_of, floor_of
from amusd_viz.bench.places import Places, tuned
from amusd_viz.bench.prompts import Prompt
from amusd_viz.bench.report import (
    MethodReport,
    Progress,
    Report,
    bottleneck,
    identical,
    method_report,
    ratios_of,
)
from amusd_viz.bench.sample import Sample
from amusd_viz.bench.ways import REFERENCE, Way
from amusd_viz.engine.header import library_versions, machine
from amusd_viz.errors import AmusdVizError, SettingError
from amusd_viz.simulate.probe import PROMPTS

TUNING = tuple(Prompt((("user", text),)) for text in PROMPTS)
"""What lookaheads are tuned on; none of it is measured."""
TUNING_TOKENS = 48
LOOKAHEADS = (1, 2, 3, 4, 5, 6, 7)


class Benchmark:
    """A comparison of ways of decoding on some prompts.

    Iterate over :meth:`run`; :meth:`report` can be asked for at any time, also after an interrupt.

    Args:
        ways: what to compare, besides plain decoding of the pair's own numerics key, which always
            runs: outputs are compared with it.
        prompts: what is decoded.
        models: of the sessions: ``pair``, or ``draft`` and ``target``, devices, ``dtype``.
        rows: of the pair's passes.
        max_new_tokens: length of every run.
        sampling: of every run, as ``Session.decode`` takes it.
        tuning: prompts that lookaheads are tuned on.
        progress: is told what is being prepared, in a few words.
    """

    def __init__(
        self,
        ways: Sequence[Way],
        prompts: Sequence[Prompt],
        *,
        models: dict[str, Any] | None = None,
        rows: int = 8,
        max_new_tokens: int = 128,
        sampling: dict[str, Any] | None = None,
        tuning: Sequence[Prompt] = TUNING,
        progress: Progress = lambda line: None,
    ) -> None:
        self.ways = list(ways) if REFERENCE in ways else [REFERENCE, *ways]
        self.prompts = list(prompts)
        self.models = models or {}
        self.rows = rows
        self.max_new_tokens = max_new_tokens
        self.sampling = sampling or {}
        self.tuning = tuning
        self.progress = progress
        self.samples: dict[str, list[Sample]] = {way.name: [] for way in self.ways}
        self.skipped: dict[str, str] = {}
        self._places: Places | None = None
        self._bandwidths: dict[ev.Side, float | None] = {}
        self._finished = False

    @property
    def runs(self) -> int:
        """How many runs there will be, if no way is skipped."""
        return len(self.ways) * len(self.prompts)

    def run(self) -> Iterator[Sample]:
        """Decodes everything; yields each run's figures as soon as they are there.

        Raises:
            AmusdVizError: the pair cannot be opened.
        """
        places = Places(
            self.models,
            rows=self.rows,
            max_new_tokens=self.max_new_tokens,
            sampling=self.sampling,
            progress=self.progress,
        )
        with places:
            self._places = places
            self._prepare(places)
            for number, prompt in enumerate(self.prompts):
                # Every way comes first as often as last: what it finds warm must not decide.
                turn = number % len(self.ways)
                for way in (*self.ways[turn:], *self.ways[:turn]):
                    sample = places.decode(way, prompt, number)
                    self.samples[way.name].append(sample)
                    yield sample
        self._finished = True

    def _prepare(self, places: Places) -> None:
        for side, device in places.pair.devices.items():
            self.progress(f"measuring the memory of the {side}'s device")
            self._bandwidths[side] = bandwidth_of(device)
        ready: list[Way] = []
        for way in self.ways:
            try:
                places.open(way)
            except AmusdVizError as error:
                if way == REFERENCE:
                    raise
                self.skipped[way.name] = str(error)
                continue
            if way.tuned:
                lookaheads = [g for g in LOOKAHEADS if g < self.rows]
                length = min(TUNING_TOKENS, self.max_new_tokens)
                way = tuned(places, way, self.tuning, lookaheads, length)
            ready.append(way)
        self.ways = ready

    # -- what was found ----------------------------------------------------------------------

    def report(self) -> Report:
        """What was found so far.

        Raises:
            SettingError: nothing was decoded yet.
        """
        if self._places is None or not any(self.samples.values()):
            raise SettingError("nothing was measured yet")
        headers = self._places.headers
        pair = self._places.pair.pair
        reference = {s.prompt: s for s in self.samples[REFERENCE.name]}
        methods = {
            way.name: method_report(way, self.samples[way.name], reference, headers.get(way.name))
            for way in self.ways
            if self.samples[way.name]
        }
        return Report(
            pair=pair.name,
            draft=pair.draft.name,
            target=pair.target.name,
            machine=machine() | self._devices(),
            versions=library_versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            prompts=max(len({s.prompt for s in found}) for found in self.samples.values()),
            max_new_tokens=self.max_new_tokens,
            sampling=ev.Sampling(**self.sampling),
            methods=methods,
            ratios=ratios_of({name: self.samples[name] for name in methods}),
            identical=identical(self.ways, methods),
            bottleneck=bottleneck(self._an_amusd(methods)),
            floors=self._floors(),
            skipped=self.skipped,
            partial=not self._finished,
        )

    def _an_amusd(self, methods: dict[str, MethodReport]) -> MethodReport | None:
        return next(
            (methods[w.name] for w in self.ways if w.method == "amusd" and w.name in methods), None
        )

    def _devices(self) -> dict[str, str]:
        assert self._places is not None
        pair = self._places.headers[REFERENCE.name]
        drafted = next((h for h in self._places.headers.values() if h.draft_device), None)
        found = {"target_device": pair.target_device.label}
        if drafted and drafted.draft_device:
            found["draft_device"] = drafted.draft_device.label
        return found

    def _floors(self) -> dict[str, Floor]:
        """The pair's draft step and target pass beside their floors, from AMUSD's and plain runs."""
        assert self._places is not None
        pair, found = self._places.pair.pair, {}
        header = self._places.headers.get(REFERENCE.name)
        bandwidth = self._bandwidths.get(ev.Side.TARGET)
        passes = [s.target_pass_ms for s in self.samples[REFERENCE.name] if s.target_pass_ms]
        if header and header.numerics and bandwidth and passes:
            found["target"] = floor_of(
                pair.target, header.target, header.numerics.dtype, bandwidth, median(passes)
            )
        drafted = next(
            (h for h in self._places.headers.values() if h.draft and h.method == "amusd"), None
        )
        bandwidth = self._bandwidths.get(ev.Side.DRAFT)
        steps = [
            s.draft_step_ms
            for way in self.ways
            if way.method == "amusd"
            for s in self.samples[way.name]
            if s.draft_step_ms
        ]
        if drafted and drafted.draft and drafted.numerics and bandwidth and steps:
            found["draft"] = floor_of(
                pair.draft, drafted.draft, drafted.numerics.dtype, bandwidth, median(steps)
            )
        return found
