"""Files that commands write."""

from __future__ import annotations

from pathlib import Path

from amusd_viz.errors import SettingError


def check_writable(option: str, file: Path) -> None:
    """Before a long run, not after it; leaves nothing behind.

    Raises:
        SettingError: the file that ``option`` names cannot be written.
    """
    there = file.exists()
    try:
        with file.open("ab"):
            pass
        if not there:
            file.unlink()
    except OSError as error:
        raise SettingError(f"{option} {file}: cannot be written ({error.strerror})") from None
