"""What of this machine a process may use: cores, quota and memory, also inside a container.

Reads the operating system and no package; numbers are ``None`` where the system does not say.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def usable_cores() -> tuple[int, ...]:
    """Numbers of the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def cpu_quota() -> float | None:
    """How many cores' worth of time the container may use, or ``None`` if unlimited."""
    return min(filter(None, map(_quota_of, _own_cgroups("cpu"))), default=None)


def within_quota(cores: Sequence[int]) -> tuple[int, ...]:
    """As many of ``cores`` as the container may use at once; all of them where nothing limits it.

    More threads than the quota feeds would be halted in turns. Which cores they are depends on the
    process, so that the many containers of one machine do not crowd the first few.
    """
    quota = cpu_quota()
    count = len(cores) if quota is None else min(len(cores), max(2, round(quota)))
    if count == len(cores):
        return tuple(cores)
    start = os.getpid() * count % len(cores)
    return tuple(sorted([*cores, *cores][start : start + count]))


def memory_limit() -> int | None:
    """Bytes the container may use, or ``None`` if unlimited."""
    limits = (_limit_of(group) for group in _own_cgroups("memory"))
    return min((limit for limit in limits if limit is not None), default=None)


def memory_available() -> int | None:
    """Bytes that can still be allocated: what the system has free, within the container's limit."""
    free = _meminfo("MemAvailable")
    left = [
        limit - (_number(group, "memory.current", "memory.usage_in_bytes") or 0)
        for group in _own_cgroups("memory")
        if (limit := _limit_of(group)) is not None
    ]
    known = [amount for amount in (free, *left) if amount is not None]
    return max(0, min(known)) if known else None


def gpus() -> int:
    """How many NVIDIA GPUs the driver shows, asked without loading it."""
    folder = _PROC / "driver/nvidia/gpus"
    return len(list(folder.iterdir())) if folder.is_dir() else 0


# -- control groups, versions 1 and 2 ----------------------------------------------------------


def _own_cgroups(controller: str) -> list[Path]:
    """This process's control group and its parents: the tightest of their limits holds."""
    root, own = _CGROUP, ""
    for line in _read(_PROC / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            own = path
        elif controller in controllers.split(","):
            root, own = _CGROUP / controller, path
            break
    here = root / own.lstrip("/")
    return [group for group in (here, *here.parents) if group.is_relative_to(root)]


def _quota_of(group: Path) -> float | None:
    quota, _, period = _read(group / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
    try:
        cores = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return cores if cores > 0 else None


def _limit_of(group: Path) -> int | None:
    limit = _number(group, "memory.max", "memory.limit_in_bytes")
    return limit if limit is not None and limit < 1 << 60 else None


def _number(group: Path, *names: str) -> int | None:
    for name in names:
        text = _read(group / name)
        if text.isdigit():
            return int(text)
    return None


def _meminfo(field: str) -> int | None:
    for line in _read(_PROC / "meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
