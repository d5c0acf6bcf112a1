"""Which optional packages are installed, asked without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from amusd_viz.errors import MissingExtraError

ENGINE_PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "numpy",
    "gguf",
    "accelerate",
)
"""What the extra ``[engine]`` installs, by import name."""

EXPORT_PACKAGES = ("py_mini_racer", "resvg_py", "PIL")
"""What the extra ``[export]`` installs, by import name."""


def missing_from(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``packages`` (import names) that cannot be imported here."""
    return tuple(name for name in packages if find_spec(name) is None)


def need_engine(feature: str = "Decoding with real models") -> None:
    """Raises :class:`MissingExtraError` where the packages of ``[engine]`` are not all installed."""
    missing = missing_from(ENGINE_PACKAGES)
    if missing:
        raise MissingExtraError(feature, "engine", ", ".join(missing))
