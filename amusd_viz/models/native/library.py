"""Compiles the C sources for this processor once, keeps the result in the cache, and loads it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache as remembered
from pathlib import Path

from amusd_viz.paths import cache, cached

_FOLDER = Path(__file__).parent
SOURCES = tuple(_FOLDER / name for name in ("llama.c", "likeliest.c", "halves.c", "bytes.c"))
HEADERS = tuple(_FOLDER / name for name in ("eight.h", "lanes.h"))
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-shared", "-fPIC")

_pointer, _int = ctypes.c_void_p, ctypes.c_int32


BEST = 5
"""How many candidates of a position are recorded."""


class Chances(ctypes.Structure):
    """``chances`` of likeliest.c: what is recorded of a choice.

    Kept as it was computed, and made into plain numbers when there is time.

    Attributes:
        taken: the probability of the token taken, like the others to five digits.
        probabilities, ids: of the ``known`` best scores, in order; of equal ones the first.
    """

    _fields_ = [
        ("taken", ctypes.c_double),
        ("probabilities", ctypes.c_double * BEST),
        ("ids", _int * BEST),
        ("known", _int),
    ]

    def candidates(self) -> list[tuple[int, float]]:
        """The best ids with their probabilities."""
        known = self.known
        return list(zip(self.ids[:known], self.probabilities[:known], strict=True))


class Matrix(ctypes.Structure):
    """``matrix`` of llama.c."""

    _fields_ = [
        ("kind", _int),
        ("parts", _int),
        ("out", _int),
        ("columns", _int),
        ("weights", _pointer),
        ("scales", _pointer),
        ("bias", _pointer),
    ]


class Layer(ctypes.Structure):
    """``layer`` of llama.c."""

    _fields_ = [
        ("qkv", Matrix),
        ("o", Matrix),
        ("gate_up", Matrix),
        ("down", Matrix),
        ("attention_norm", _pointer),
        ("mlp_norm", _pointer),
        ("keys", _pointer),
        ("values", _pointer),
    ]


class Model(ctypes.Structure):
    """``model`` of llama.c."""

    _fields_ = [
        ("layers", _int),
        ("hidden", _int),
        ("heads", _int),
        ("kv_heads", _int),
        ("head_size", _int),
        ("inner", _int),
        ("slots", _int),
        ("threads", _int),
        ("state_layer", _int),
        ("epsilon", ctypes.c_float),
        ("layer", ctypes.POINTER(Layer)),
        ("norm", _pointer),
        ("head", Matrix),
        ("rough_head", Matrix),
        ("cosines", _pointer),
        ("sines", _pointer),
    ]


@remembered
def library() -> ctypes.CDLL | None:
    """The compiled forward pass, or ``None`` where it cannot be had.

    It needs a C compiler (gcc or clang) and a processor with AVX2. ``AMUSD_VIZ_NATIVE=0`` does
    without it. Compiling takes about two seconds, once for a processor and version of the source.
    """
    if os.environ.get("AMUSD_VIZ_NATIVE") == "0" or not _has_avx2():
        return None
    name = f"llama-{_fingerprint()}.so"
    file = cached("kernels", name) or _compiled(cache("kernels", name))
    if file is None:
        return None
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError:
        return None
    loaded.forward.restype = ctypes.c_int
    loaded.forward.argtypes = [
        ctypes.POINTER(Model),
        ctypes.c_int,
        _pointer,
        _pointer,
        _pointer,
        ctypes.c_int,
        ctypes.c_int,
        _pointer,
        _pointer,
    ]
    loaded.panel_outputs.restype = ctypes.c_int
    loaded.panel_outputs.argtypes = []
    loaded.chances_of.restype = None
    loaded.chances_of.argtypes = [_pointer, ctypes.c_int, ctypes.c_int, _pointer]
    loaded.multiply_halves.restype = None
    loaded.multiply_halves.argtypes = [_pointer, *[ctypes.c_int] * 3, _pointer, _pointer]
    real = ctypes.c_float
    loaded.next_state.restype = None
    loaded.next_state.argtypes = [
        *(_pointer, ctypes.c_int, ctypes.c_int, _pointer, _pointer),
        *(real, _pointer, _pointer, real, _pointer),
    ]
    loaded.multiply_bytes.restype = None
    loaded.multiply_bytes.argtypes = [*[_pointer] * 2, *[ctypes.c_int] * 3, *[_pointer] * 3]
    loaded.best_words.restype = None
    of_words = [_pointer, _pointer, _int, _int]
    loaded.best_words.argtypes = [*of_words, _pointer, _int, *[_pointer] * 4]
    loaded.move_slot.restype = None
    loaded.move_slot.argtypes = [ctypes.POINTER(Model), ctypes.c_int, ctypes.c_int]
    return loaded


def why_not() -> str:
    """Why there is no compiled forward pass here; empty if there is one."""
    if library() is not None:
        return ""
    if os.environ.get("AMUSD_VIZ_NATIVE") == "0":
        return "AMUSD_VIZ_NATIVE=0 asks for none"
    if not _has_avx2():
        return "this processor has no AVX2"
    if _compiler() is None:
        return "no C compiler was found"
    return "the C compiler could not make it"


def _compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")


def _has_avx2() -> bool:
    flags = _processor_flags()
    return {"avx2", "fma", "f16c"} <= flags


@remembered
def _processor_flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()


def _fingerprint() -> str:
    """Changes with the source, the flags and the processor."""
    texts = [file.read_bytes() for file in (*SOURCES, *HEADERS)]
    facts = (*texts, *FLAGS, platform.machine(), *sorted(_processor_flags()))
    digest = hashlib.sha256()
    for fact in facts:
        digest.update(fact if isinstance(fact, bytes) else fact.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _compiled(file: Path) -> Path | None:
    """Compiles into a scratch file and publishes it at once: two workers may do it together."""
    compiler = _compiler()
    if compiler is None:
        return None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as scratch:
            made = Path(scratch) / file.name
            command = [compiler, *FLAGS, "-o", str(made), *map(str, SOURCES), "-lm"]
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
            if done.returncode:
                return None
            made.rename(file)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return file
