"""Devices by name: ``cpu:0`` (one core), ``cpu:0-3`` or ``cpu:0,2`` (several), ``cuda:1`` (one GPU).

A CPU device is a set of cores: its worker is pinned to them where the platform can, and uses as
many threads. Two models on one GPU is allowed and labelled.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from amusd_viz import events as ev
from amusd_viz.errors import DeviceError
from amusd_viz.machine import usable_cores, within_quota


@dataclass(frozen=True)
class Device:
    """One device: ``cores`` of the CPU, or the GPU number ``gpu``."""

    cores: tuple[int, ...] = ()
    gpu: int | None = None
    shared: bool = False
    """Both workers run on it."""

    @property
    def name(self) -> str:
        return f"cuda:{self.gpu}" if self.gpu is not None else f"cpu:{_ranges(self.cores)}"

    @property
    def torch_name(self) -> str:
        """What torch calls it."""
        return "cpu" if self.gpu is None else self.name

    @property
    def threads(self) -> int:
        """How many threads torch may use: one a core; 1 beside a GPU."""
        return max(1, len(self.cores))

    def described(self, gpu_name: str = "") -> ev.Device:
        """For people: ``CPU core 0``, or the GPU's own name."""
        if self.gpu is not None:
            label = f"GPU {self.gpu}" + (f" ({gpu_name})" if gpu_name else "")
        elif len(self.cores) == 1:
            label = f"CPU core {self.cores[0]}"
        else:
            label = f"CPU cores {_ranges(self.cores)}"
        if self.gpu is None and not hasattr(os, "sched_setaffinity"):
            label += ", not pinned"
        return ev.Device(
            name=self.name, label=label + (", shared by both models" if self.shared else "")
        )


def device_pair(draft: str | None, target: str | None) -> tuple[Device, Device]:
    """The devices of draft and target; what is not named is chosen.

    Default: two GPUs if there are, one shared GPU if there is one, else the cores split in two (no
    more of them than the container's quota feeds).

    Raises:
        DeviceError: a name that is none, a device that does not exist, or a core named twice.
    """
    if draft is None and target is None:
        return _default_pair()
    chosen_draft = parse_device(draft) if draft else _other_than(parse_device(target or ""))
    chosen_target = parse_device(target) if target else _other_than(chosen_draft)
    both = sorted(set(chosen_draft.cores) & set(chosen_target.cores))
    if both:
        raise DeviceError(
            f"draft ({chosen_draft.name}) and target ({chosen_target.name}) both name CPU core "
            f"{both[0]}; give each model cores of its own, such as cpu:0 and cpu:1"
        )
    if chosen_draft.gpu is not None and chosen_draft.gpu == chosen_target.gpu:
        return _both(chosen_draft)
    return chosen_draft, chosen_target


def all_cores_shared() -> tuple[Device, Device]:
    """Both models on every core this process may use."""
    return _both(Device(cores=usable_cores()))


def parse_device(name: str) -> Device:
    """Reads one device name; see the module's docstring.

    Raises:
        DeviceError: not a device name, or a device that does not exist here.
    """
    if match := re.fullmatch(r"cuda(?::(\d{1,3}))?", name):
        return _gpu(int(match[1] or 0))
    if match := re.fullmatch(r"cpu:(\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*)", name):
        return _cpu(name, match[1])
    if name == "cpu":
        return Device(cores=usable_cores())
    raise DeviceError(
        f"{name!r} is not a device; write cpu:0 (one core), cpu:0-3 or cpu:0,2 (several) or cuda:0"
    )


def _cpu(name: str, ranges: str) -> Device:
    cores: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    usable = usable_cores()
    if len(set(cores)) < len(cores) or not cores:
        raise DeviceError(f"{name}: a core is named twice or the range is empty")
    if missing := sorted(set(cores) - set(usable)):
        raise DeviceError(
            f"{name}: this process may not use CPU core {missing[0]}; "
            f"it may use {_ranges(usable)} ({len(usable)} cores)"
        )
    return Device(cores=tuple(sorted(cores)))


def _gpu(index: int) -> Device:
    count = gpu_count()
    if index >= count:
        found = "no CUDA GPU was found" if count == 0 else f"there are {count}, numbered from 0"
        raise DeviceError(f"cuda:{index} does not exist here: {found}; use cpu:0 and cpu:1 instead")
    return Device(gpu=index)


def gpu_count() -> int:
    """How many CUDA GPUs torch can use."""
    # Importing torch takes seconds; without the driver's device files there is nothing to count.
    driver = [*Path("/dev").glob("nvidia[0-9]*"), *Path("/dev").glob("dxg")]
    if sys.platform == "linux" and not driver:
        return 0
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _default_pair() -> tuple[Device, Device]:
    gpus = gpu_count()
    if gpus >= 2:
        return Device(gpu=1), Device(gpu=0)
    if gpus == 1:
        return _both(Device(gpu=0))
    cores = within_quota(usable_cores())
    if len(cores) == 1:
        return _both(Device(cores=cores))
    half = len(cores) // 2
    return Device(cores=cores[:half]), Device(cores=cores[half:])


def _other_than(taken: Device) -> Device:
    if taken.gpu is not None:
        free = [i for i in range(gpu_count()) if i != taken.gpu]
        return Device(gpu=free[0] if free else taken.gpu)
    cores = tuple(c for c in usable_cores() if c not in taken.cores)
    if not cores:
        raise DeviceError(
            f"{taken.name} leaves no CPU core for the other model; name fewer cores, or name both devices"
        )
    return Device(cores=cores)


def _both(device: Device) -> tuple[Device, Device]:
    shared = Device(cores=device.cores, gpu=device.gpu, shared=True)
    return shared, shared


def _ranges(cores: tuple[int, ...]) -> str:
    parts: list[str] = []
    for core in sorted(cores):
        first, _, last = parts[-1].partition("-") if parts else ("", "", "")
        if parts and int(last or first) == core - 1:
            parts[-1] = f"{first}-{core}"
        else:
            parts.append(str(core))
    return ",".join(parts)
