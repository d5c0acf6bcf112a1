"""Where the compared ways of decoding run: warm sessions and processes, opened once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from amusd_viz import events as ev
from amusd_viz.bench.assisted import Assisted
from amusd_viz.bench.energy import EnergyMeter
from amusd_viz.bench.prompts import Prompt
from amusd_viz.bench.sample import Sample, sample_of
from amusd_viz.bench.ways import ON_ALL_CORES, Place, Way
from amusd_viz.engine import Session
from amusd_viz.errors import SettingError
from amusd_viz.simulate.probe import PROMPTS

FASTEST_ROWS = (1,)
"""Rows of a pass that plain decoding is tried with, besides those of the pair."""


class Places:
    """Sessions and processes for some ways of decoding. A context manager.

    Args:
        models: of a session: ``pair``, or ``draft`` and ``target``, ``draft_device``,
            ``target_device``, ``dtype``.
        rows: of the pair's passes.
        max_new_tokens: length of every run.
        sampling: of every run, as ``Session.decode`` takes it.
        progress: is told what is going on, in a few words.
    """

    def __init__(
        self,
        models: dict[str, Any],
        *,
        rows: int,
        max_new_tokens: int,
        sampling: dict[str, Any],
        progress: Callable[[str], None],
    ) -> None:
        self.models = models
        self.rows = rows
        self.max_new_tokens = max_new_tokens
        self.sampling = sampling
        self.progress = progress
        self.headers: dict[str, ev.Header] = {}
        """Of the last run of each way that the engine decodes."""
        self._open = ExitStack()
        self._sessions: dict[Place, Session] = {}
        self._assisted: Assisted | None = None
        self._meter = EnergyMeter()

    def __enter__(self) -> Places:
        self.progress("loading the pair")
        self._sessions[Place.PAIR] = self._session()
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    @property
    def pair(self) -> Session:
        """The session of the pair."""
        return self._sessions[Place.PAIR]

    def open(self, way: Way) -> None:
        """Gets ready what ``way`` needs, warm.

        Raises:
            SettingError: it cannot run with these devices or this sampling.
        """
        if way.place in ON_ALL_CORES and self.pair.devices[ev.Side.TARGET].gpu is not None:
            raise SettingError(f"{way.name} is for models on cores of one processor, not on GPUs")
        if way.place is Place.TRANSFORMERS and self.sampling.get("temperature"):
            raise SettingError("assisted generation is compared greedily; use temperature 0")
        if way.place is Place.TRANSFORMERS:
            self._open_assisted()
        elif way.place not in self._sessions:
            self.progress(f"loading the models of {way.name}")
            self._sessions[way.place] = self._session_of(way.place)
        self.decode(way, Prompt((("user", PROMPTS[0]),)), -1)

    def decode(self, way: Way, prompt: Prompt, number: int, tokens: int | None = None) -> Sample:
        """Decodes one prompt and returns its figures."""
        length = tokens or self.max_new_tokens
        if way.place is Place.TRANSFORMERS:
            assert self._assisted is not None, "not opened"
            ids = self.pair.tokens.encode(prompt.asked)
            return self._assisted.decode(ids, sorted(self.pair.tokens.end_tokens), length, number)
        before = self._meter.joules()
        run = self._sessions[way.place].decode(
            prompt.asked, way.method, max_new_tokens=length, **way.settings, **self.sampling
        )
        trace = run.wait().trace
        after = self._meter.joules()
        self.headers[way.name] = trace.header
        used = after - before if after is not None and before is not None else None
        return sample_of(trace, way.name, number, used)

    # -- opening -----------------------------------------------------------------------------

    def _session(self, **more: Any) -> Session:
        return self._open.enter_context(Session(**self.models | {"rows": self.rows} | more))

    def _session_of(self, place: Place) -> Session:
        """A session beside the pair's, on the same devices or on all cores."""
        devices = self.pair.devices
        on: dict[str, Any] = {
            "draft_device": devices[ev.Side.DRAFT].name,
            "target_device": devices[ev.Side.TARGET].name,
        }
        if place in ON_ALL_CORES:
            on = {"draft_device": None, "target_device": None, "all_cores": True}
        if place is Place.TURNS_ALL:
            return self._session(**on)
        return self._fastest(on | {"sides": (ev.Side.TARGET,)})

    def _fastest(self, settings: dict[str, Any]) -> Session:
        """The session with the rows that plain decoding is fastest with."""
        found: list[tuple[float, Session]] = []
        for rows in (*FASTEST_ROWS, self.rows):
            session = self._session(**settings, rows=rows)
            found.append((min(_seconds(session) for _ in range(3)), session))
        found.sort(key=lambda entry: entry[0])
        for _, slower in found[1:]:
            slower.close()
        return found[0][1]

    def _open_assisted(self) -> None:
        if self._assisted is None:
            self.progress("loading the models of transformers' assisted generation")
            device = self.pair.devices[ev.Side.TARGET].torch_name
            self._assisted = Assisted(self.pair.pair, self._dtype(device), device)
            self._open.callback(self._assisted.close)

    def _dtype(self, device: str) -> str:
        """What transformers' loop is fastest in: torch may only emulate the dtype of our kernel."""
        from amusd_viz.models.kernels import torch_dtype

        return self.models.get("dtype") or torch_dtype(device)


def _seconds(session: Session, tokens: int = 16) -> float:
    start = time.perf_counter()
    session.decode(PROMPTS[1], "autoregressive", max_new_tokens=tokens).wait()
    return time.perf_counter() - start


def tuned(
    places: Places, way: Way, prompts: Sequence[Prompt], lookaheads: Sequence[int], tokens: int
) -> Way:
    """``way`` with the lookahead that is fastest on ``prompts``, by the median."""
    from statistics import median

    speeds: dict[int, float] = {}
    for lookahead in lookaheads:
        places.progress(f"tuning {way.name}: lookahead {lookahead}")
        tried = way.with_lookahead(lookahead)
        found = [places.decode(tried, prompt, -1, tokens).tokens_per_second for prompt in prompts]
        speeds[lookahead] = median(speed or 0.0 for speed in found)
    return way.with_lookahead(max(speeds, key=lambda lookahead: speeds[lookahead]))
