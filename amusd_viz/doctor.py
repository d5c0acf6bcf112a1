"""What is installed and found here, and what to do about what is not. Imports nothing large.

from amusd_viz import doctor
doctor.show()
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from amusd_viz import machine
from amusd_viz.extras import ENGINE_PACKAGES, EXPORT_PACKAGES, missing_from
from amusd_viz.paths import cache, cached, in_checkout, recordings, shared_cache

MEMORY_NEEDED = 2 << 30
"""Bytes that both workers of the default pair and the notebook's kernel need together."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        what: what was found.
        advice: what to do about it; empty where all is well.
        needed: whether the main job fails without it.
    """

    what: str
    advice: str = ""
    needed: bool = False

    def __str__(self) -> str:
        mark = "ok  " if not self.advice else "MISS" if self.needed else "note"
        return f"{mark}  {self.what}" + (f"\n      -> {self.advice}" if self.advice else "")


def show() -> None:
    """Prints the report."""
    for finding in diagnose():
        print(finding)


def diagnose() -> list[Finding]:
    """Looks at everything; takes well under a second, but for compiling the CPU kernels once."""
    return [
        _package(),
        _mode(),
        _torch(),
        _kernel(),
        _cores(),
        _memory(),
        _target(),
        *_widgets(),
        *_extras(),
    ]


def mode() -> tuple[str, str]:
    """What can be done here, and why: ``("engine", ...)`` or ``("recordings", ...)``.

    ``recordings`` means that runs can be opened, shown, stepped through and simulated, but not made.
    """
    missing = missing_from(ENGINE_PACKAGES)
    if missing:
        return "recordings", f"not installed: {', '.join(missing)}"
    available = machine.memory_available()
    if available is not None and available < MEMORY_NEEDED:
        return "recordings", (
            f"{_gib(available)} of memory are free, the default pair needs {_gib(MEMORY_NEEDED)}"
        )
    return "engine", "real models can be run"


def _package() -> Finding:
    layout = "from a checkout" if in_checkout() else "installed"
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding(f"amusd-viz {_version('amusd-viz')} {layout}, {python}")


def _mode() -> Finding:
    name, why = mode()
    if name == "engine":
        return Finding("mode: engine (real models can be run)")
    advice = (
        'pip install "amusd-viz[engine]"'
        if why.startswith("not installed")
        else "close other programs, or give this container more memory"
    )
    return Finding(f"mode: recordings only ({why})", advice, needed=True)


def _torch() -> Finding:
    installed = _version("torch")
    if not installed:
        return Finding("torch is not installed", 'pip install "amusd-viz[engine]"', needed=True)
    cuda, found = _cuda_of_torch(), machine.gpus()
    what = f"torch {installed}, transformers {_version('transformers') or 'missing'}"
    if cuda and found:
        return Finding(f"{what}, CUDA {cuda}, {found} GPUs")
    if found:
        return Finding(f"{what}, no CUDA in it", f"{found} GPUs are here: install a CUDA torch")
    return Finding(f"{what}, CPU only" if not cuda else f"{what}, CUDA {cuda} but no GPU found")


def _kernel() -> Finding:
    from amusd_viz.models.native.library import why_not

    why = why_not()
    if not why:
        return Finding("CPU kernels: compiled C")
    what = f"CPU kernels: torch's ({why})"
    if "compiler" in why:
        return Finding(what, "apt-get install gcc, or your system's like: several times faster")
    return Finding(what)


def _cores() -> Finding:
    cores, quota = machine.usable_cores(), machine.cpu_quota()
    share = f", limited to {quota:.3g} cores' time" if quota else ""
    what = f"{len(cores)} of {os.cpu_count()} cores usable{share}"
    if min(len(cores), quota or len(cores)) < 2:
        return Finding(what, "draft and target share one core here: AMUSD cannot gain time")
    return Finding(what)


def _memory() -> Finding:
    available, limit = machine.memory_available(), machine.memory_limit()
    if available is None:
        return Finding("memory: unknown on this system")
    within = f" within a limit of {_gib(limit)}" if limit else ""
    return Finding(f"{_gib(available)} of memory available{within}")


def _target() -> Finding:
    from amusd_viz.models.default_target import NAME

    found = cached("models", NAME, "model.safetensors")
    if found:
        return Finding(f"default target cached in {found.parent}")
    places = " or ".join(str(place) for place in (cache(), shared_cache()) if place)
    return Finding(
        f"default target not in {places}",
        "python -m amusd_viz.models.default_target   (93 MB, once; the first decode does it too)",
    )


def _widgets() -> list[Finding]:
    lab, widgets = _version("jupyterlab"), _version("anywidget")
    mine = Finding(f"jupyterlab {lab or 'missing'}, anywidget {widgets or 'missing'}")
    server = _server_prefix()
    if server is None or _has_labextension(server):
        return [mine]
    return [
        mine,
        Finding(
            f"the Jupyter server runs from {server}, which has no anywidget: widgets stay empty",
            f"{server}/bin/python -m pip install anywidget, restart the server, reload the page",
            needed=True,
        ),
    ]


def _extras() -> list[Finding]:
    missing = missing_from(EXPORT_PACKAGES)
    export = (
        Finding(f"no picture export ({', '.join(missing)})", 'pip install "amusd-viz[export]"')
        if missing
        else Finding("picture export: installed")
    )
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    tests = (
        Finding(f"browser for tests: {browser}")
        if browser
        else Finding("no Chromium: browser tests are skipped", "apt-get install chromium")
    )
    count = len(recordings()) + len(recordings("speculator"))
    return [export, tests, Finding(f"{count} recorded runs come with the package")]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cuda_of_torch() -> str:
    """The CUDA version torch was built for, read from its version file instead of importing it."""
    spec = find_spec("torch")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        file = Path(folder, "version.py")
        if file.is_file():
            found = re.search(r"^cuda\b[^=]*= *['\"]([\d.]+)", file.read_text(), re.MULTILINE)
            return found[1] if found else ""
    return ""


def _server_prefix() -> Path | None:
    """Where the Jupyter server that started this kernel is installed; ``None`` outside a kernel."""
    parent = os.environ.get("JPY_PARENT_PID", "")
    try:
        command = Path("/proc", parent, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    python = Path(os.fsdecode(command[0]))
    known = parent.isdigit() and python.is_absolute() and python.name.startswith("python")
    return python.parent.parent if known else None


def _has_labextension(prefix: Path) -> bool:
    roots = (prefix, Path(sys.prefix)) if prefix == Path(sys.prefix) else (prefix,)
    return any((root / "share/jupyter/labextensions/anywidget").is_dir() for root in roots)


def _gib(amount: int) -> str:
    return f"{amount / (1 << 30):.1f} GiB"
