"""The bytes of a trace file: plain or gzipped, never more than a machine can hold."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from amusd_viz.errors import CutTraceError, NotATraceError

MOST_BYTES = 1 << 28
"""Of a trace, decompressed: 256 MiB, some hundred thousand tokens with all their alternatives."""

HOW_TO_SEE_IT = (
    "open it with partial=True (on the command line: --partial) to see what comes before"
)
"""What to do about a file that ends early."""

_GZIP_START = b"\x1f\x8b"


def read_trace_file(path: str | Path, *, partial: bool = False) -> bytes:
    """The contents of a file, decompressed if it is gzipped.

    Args:
        path: the file.
        partial: of a compressed file that ends early, give what there is.

    Raises:
        NotATraceError: there is no such file, it cannot be read, or it is too large for a trace.
        CutTraceError: a compressed file ends early.
    """
    try:
        path = Path(path)
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no ordinary file"
            raise NotATraceError(f"{path}: is {what}; give the path of a trace")
        if path.stat().st_size > MOST_BYTES:
            raise _too_large(path)
        data = path.read_bytes()
        return _decompressed(path, data, partial) if data.startswith(_GZIP_START) else data
    except (OSError, ValueError, zlib.error) as error:
        if isinstance(error, NotATraceError | CutTraceError):
            raise
        why = getattr(error, "strerror", None) or error
        raise NotATraceError(f"{path}: cannot be read ({why}); give the path of a trace") from None


def write_trace_file(path: str | Path, data: bytes) -> Path:
    """Writes a file, gzipped if its name ends in ``.gz``; the same data give the same bytes."""
    path = Path(path)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def _decompressed(path: Path, data: bytes, partial: bool) -> bytes:
    """Decompresses one gzip member after the other, and stops before it becomes too much."""
    parts: list[bytes] = []
    room = MOST_BYTES
    while data.strip(b"\0"):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        parts.append(member.decompress(data, room + 1))
        room -= len(parts[-1])
        if room < 0:
            raise _too_large(path)
        if not member.eof:
            if partial:
                break
            raise CutTraceError(f"{path}: the compressed file ends early; {HOW_TO_SEE_IT}")
        data = member.unused_data
    return b"".join(parts)


def _too_large(path: Path) -> NotATraceError:
    return NotATraceError(
        f"{path}: holds more than {MOST_BYTES >> 20} MiB, too much for a trace; "
        "record fewer tokens, or split it by prompt"
    )
