"""Copies the notebooks, and what they link to, out of an installed package into a person's folder.

DIR/notebooks/00_watch_it_decode.ipynb   ...
DIR/assets/...                           pictures the notebooks show by a relative link
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from amusd_viz.errors import SettingError
from amusd_viz.paths import bundled, notebooks

_LINK = re.compile(r"\.\./(assets/[\w./-]*\w)")


def files_to_copy() -> list[str]:
    """Every notebook and every file a notebook links to, relative to the copy's folder."""
    found = sorted(notebooks().glob("*.ipynb"))
    linked = {link for path in found for link in _LINK.findall(path.read_text(encoding="utf-8"))}
    wanted = sorted(link for link in linked if bundled(link).is_file())
    return [f"notebooks/{path.name}" for path in found] + wanted


def copy_notebooks(folder: Path, *, force: bool = False) -> list[Path]:
    """Copies all of them into ``folder`` and returns the files written.

    Files that are already there and unchanged are left alone.

    Args:
        folder: is made if it does not exist.
        force: overwrite files that were changed.

    Raises:
        SettingError: a file is there and differs (nothing is copied then), or the folder cannot be
            written to.
    """
    pairs = [(bundled(name), folder / name) for name in files_to_copy()]
    if not pairs:
        raise SettingError("this installation contains no notebooks; install the package again")
    try:
        stale = [(source, to) for source, to in pairs if not _same(source, to)]
        changed = [to for _, to in stale if to.exists()]
        if changed and not force:
            raise SettingError(
                f"{changed[0]} is already there and was changed"
                + (f", and so were {len(changed) - 1} others" if changed[1:] else "")
                + "; nothing was copied. Give another folder, or --force to overwrite"
            )
        for source, to in stale:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)
    except OSError as error:
        raise SettingError(f"cannot copy the notebooks to {folder}: {error}") from None
    return [to for _, to in stale]


def _same(source: Path, to: Path) -> bool:
    return to.is_file() and to.read_bytes() == source.read_bytes()
