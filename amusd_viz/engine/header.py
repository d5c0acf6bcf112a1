"""The header of a measured run: what was decoded, by which models, where, in which numbers."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from amusd_viz import events as ev
from amusd_viz.engine.orders import Ready
from amusd_viz.engine.settings import RunSettings

if TYPE_CHECKING:
    from amusd_viz.engine.session import Session


def run_header(
    session: Session,
    settings: RunSettings,
    ready: Mapping[ev.Side, Ready],
    *,
    heads: int,
    prompt: str,
    prompt_ids: Sequence[int],
    cache_length: int,
) -> ev.Header:
    """Everything about a run but its events; ``heads`` is the speculator's number of parameters."""
    target = ready[ev.Side.TARGET]
    target_device = session.devices[ev.Side.TARGET]
    kind = target.gpu_name or f"cpu {target.capability}"
    proposes = settings.uses_draft or settings.uses_speculator
    return ev.Header(
        source="measured",
        method=settings.method,
        policy=settings.window_policy().name if proposes else "",
        run_ahead=settings.run_ahead_policy().name if proposes else "",
        max_new_tokens=settings.max_new_tokens,
        sampling=settings.sampling,
        end_tokens=tuple(sorted(session.tokens.end_tokens)),
        stop=settings.stop,
        pair=session.pair.name,
        draft=_drafter(session, settings, ready, heads),
        target=session.pair.target.described(target.parameters),
        speculator=_speculator(session, heads) if settings.steps_in else None,
        draft_device=_draft_device(session, settings, ready),
        target_device=target_device.described(target.gpu_name),
        numerics=ev.Numerics(
            dtype=target.dtype,
            kernel=target.kernel,
            rows=session.rows,
            cache_length=cache_length,
            threads=target_device.threads,
            device=kind,
        ),
        versions=library_versions(),
        machine=machine(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        prompt=prompt,
        prompt_ids=tuple(prompt_ids),
    )


def _drafter(
    session: Session, settings: RunSettings, ready: Mapping[ev.Side, Ready], heads: int
) -> ev.Model | None:
    if settings.drafts_alone:
        return _speculator(session, heads)
    draft = ready.get(ev.Side.DRAFT)
    return session.pair.draft.described(draft.parameters) if draft else None


def _speculator(session: Session, parameters: int) -> ev.Model:
    assert session.speculator is not None
    return ev.Model(
        name="token/embedding speculator",
        description=f"heads on the target's own state, from {session.speculator.name}",
        parameters=parameters,
    )


def _draft_device(
    session: Session, settings: RunSettings, ready: Mapping[ev.Side, Ready]
) -> ev.Device | None:
    if settings.drafts_alone:
        gpu_name = ready[ev.Side.TARGET].gpu_name
        return replace(session.devices[ev.Side.TARGET], shared=True).described(gpu_name)
    draft = ready.get(ev.Side.DRAFT)
    return session.devices[ev.Side.DRAFT].described(draft.gpu_name) if draft else None


@cache
def library_versions() -> dict[str, str]:
    """Versions of what may change a run."""
    names = ("amusd-viz", "torch", "transformers")
    return {name: version(name) for name in names} | {"python": platform.python_version()}


@cache
def machine() -> dict[str, str]:
    """The machine in words; no host name, since traces are shared."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
