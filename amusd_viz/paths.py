"""Where things lie: what the package ships, in a checkout as in a wheel, and what it keeps.

    checkout   notebooks/  assets/                      beside the package
    wheel      amusd_viz/_bundled/notebooks  .../assets  inside it

Environment variables:
    AMUSD_VIZ_CACHE          the user's own folder for converted models and other large things
    AMUSD_VIZ_SHARED_CACHE   a folder of the same layout that is only read: one copy for a class
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from amusd_viz.errors import SettingError
from amusd_viz.trace import Trace

_PACKAGE = Path(__file__).parent


def bundled(*parts: str) -> Path:
    """A file or folder the package ships, such as ``bundled("assets", "traces")``."""
    inside = _PACKAGE / "_bundled"
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


def assets(*parts: str) -> Path:
    """A file or folder under ``assets/``."""
    return bundled("assets", *parts)


def notebooks(*parts: str) -> Path:
    """A file or folder under ``notebooks/``."""
    return bundled("notebooks", *parts)


def in_checkout() -> bool:
    """Whether the package runs from a checkout, whose notebooks may be edited in place."""
    return not (_PACKAGE / "_bundled").is_dir()


def cache(*parts: str) -> Path:
    """A place in the user's own cache, which may not exist yet."""
    chosen = os.environ.get("AMUSD_VIZ_CACHE")
    home = Path(chosen).expanduser() if chosen else user_cache_path("amusd-viz", appauthor=False)
    return home.joinpath(*parts)


def shared_cache(*parts: str) -> Path | None:
    """A place in the shared, read-only cache, or ``None`` where none is set."""
    chosen = os.environ.get("AMUSD_VIZ_SHARED_CACHE")
    return Path(chosen).expanduser().joinpath(*parts) if chosen else None


def cached(*parts: str) -> Path | None:
    """Where something lies in the user's cache or in the shared one; ``None`` if in neither."""
    places = (cache(*parts), shared_cache(*parts))
    return next((place for place in places if place is not None and place.exists()), None)


def shipped_draft(name: str) -> Path | None:
    """The trained part of a draft that comes with the package; ``None`` if there is none."""
    file = assets("drafts", f"{name}.safetensors")
    return file if file.is_file() else None


def recordings(kind: str = "") -> tuple[str, ...]:
    """Names of the recorded runs that come with the package.

    Args:
        kind: ``""`` for those of a draft model and its target, ``"speculator"`` for those in which a
            token/embedding speculator proposes.
    """
    return tuple(sorted(_recorded_files(kind)))


def recording(name: str) -> Trace:
    """Opens a recorded run that comes with the package, by its name.

    Raises:
        SettingError: there is no recording of that name; the message lists those there are.
    """
    files = _recorded_files() | _recorded_files("speculator")
    if name not in files:
        known = ", ".join(sorted(files)) or "none"
        raise SettingError(f"there is no recording named {name!r}; there are: {known}")
    return Trace.load(files[name])


def _recorded_files(kind: str = "") -> dict[str, Path]:
    folder = assets("traces", *filter(None, [kind]))
    files = sorted(folder.glob("*.jsonl*")) if folder.is_dir() else []
    names = ["/".join(filter(None, [kind, file.name.split(".jsonl")[0]])) for file in files]
    return dict(zip(names, files, strict=True))
