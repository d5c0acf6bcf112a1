"""The pictures that only the notebooks show, drawn from the recordings and the toy.

python -m amusd_viz.lessons.pictures FOLDER      (or: make pictures)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from amusd_viz.export.folder_command import into_folder
from amusd_viz.export.pictures import save_svg
from amusd_viz.lessons.moments import rollback_over
from amusd_viz.lessons.toy import toy
from amusd_viz.paths import recording


def draw_pictures(folder: str | Path) -> list[Path]:
    """Draws ``alone``, ``turns``, ``sunlight`` and ``toy`` into a folder and returns the files.

    Raises:
        MissingExtraError: the extra ``[export]`` is not installed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    alone, turns, amusd = (
        recording(f"sky-{method}") for method in ("autoregressive", "synchronous", "amusd")
    )
    return [
        save_svg(folder / "alone.svg", alone, at=alone.duration // 3, theme="light"),
        save_svg(folder / "turns.svg", turns, at=rollback_over(turns), theme="light"),
        save_svg(folder / "sunlight.svg", amusd, at=rollback_over(amusd), theme="light"),
        save_svg(folder / "toy.svg", toy("synchronous"), toy(), at="rollback 2", theme="light"),
    ]


def main(arguments: Sequence[str]) -> int:
    """Draws the pictures into the one folder named; returns the exit code."""
    usage = "python -m amusd_viz.lessons.pictures FOLDER"
    return into_folder(arguments, draw_pictures, _report, usage=usage)


def _report(written: Sequence[Path]) -> str:
    return "\n".join(f"{path} ({path.stat().st_size / 1000:.0f} kB)" for path in written)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
