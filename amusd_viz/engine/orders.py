"""What the kernel's process and a worker say to each other, besides tokens.

Orders go down one pipe. Reports come up another, a pipe for each worker, so that a killed writer
cannot wedge anybody else's. Flags are words of shared memory written by the kernel's process only.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import msgspec

from amusd_viz import events as ev
from amusd_viz.engine.devices import Device
from amusd_viz.engine.settings import RunSettings
from amusd_viz.models.pairs import ModelSource


@dataclass(frozen=True)
class Birth:
    """Everything a new worker is told: which model, where, and its ends of the channels."""

    side: ev.Side
    source: ModelSource
    device: Device
    dtype: str | None
    rows: int
    vocabulary: int
    orders: Connection
    reports: Connection
    proposals: Any
    commits: Any
    flags: Any
    speculator: Path | None = None
    """Of the target's worker: the folder of its token/embedding speculator."""


@dataclass(frozen=True)
class RunOrder:
    """Decode one prompt. ``clock`` is the run's zero on ``time.perf_counter_ns``."""

    run: int
    clock: int
    prompt_ids: tuple[int, ...]
    end_tokens: tuple[int, ...]
    cache_length: int
    settings: RunSettings


@dataclass(frozen=True)
class LoadSpeculator:
    """Load the target's speculator, unless it is there already, and report it."""


class _Report(msgspec.Struct, frozen=True, tag=True):
    pass


class Ready(_Report, frozen=True, tag=True):
    """The model is loaded."""

    dtype: str
    kernel: str
    parameters: int
    gpu_name: str
    capability: str


class SpeculatorReady(_Report, frozen=True, tag=True):
    """The target's speculator is loaded and was right about what it should know."""

    parameters: int


class Happened(_Report, frozen=True, tag=True):
    """A batch of events of one run."""

    run: int
    events: tuple[ev.Event, ...]


class RunOver(_Report, frozen=True, tag=True):
    """The worker is idle again."""

    run: int


class Fault(_Report, frozen=True, tag=True):
    """The worker cannot go on and leaves. ``named`` errors are shown as they are."""

    what: str
    named: bool


Report = Ready | SpeculatorReady | Happened | RunOver | Fault
encode_report = msgspec.msgpack.Encoder().encode
decode_report = msgspec.msgpack.Decoder(Report).decode

STOP, ABORT, DRAFT_LOST = 0, 1, 2
"""Flags; each holds the number of the run it speaks of: the caller asks it to end; it is over for
everybody, whatever state it is in; its draft is gone."""


def new_flags(context: BaseContext) -> Any:
    return context.RawArray(ctypes.c_uint64, 3)
