"""The pictures in README and notebooks, drawn from the recordings that come with the package.

    python -m amusd_viz.export.gallery FOLDER      (or: make pictures)

Each is an SVG for light and one for dark pages; one rollback is also a GIF. Drawn again from the same
recordings they are the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.export.folder_command import into_folder
from amusd_viz.export.pictures import save_gif, save_svg, storyboard
from amusd_viz.export.renderer import Renderer
from amusd_viz.paths import recording, recordings
from amusd_viz.protocol.target import Extra
from amusd_viz.site import groups_of
from amusd_viz.trace import Trace

THEMES = ("light", "dark")


def draw_gallery(folder: str | Path, runs: Mapping[str, Trace] | None = None) -> list[Path]:
    """Draws all pictures into a folder, which is made if need be, and returns the files.

    ``rollback``: AMUSD alone, when the target has rejected a token and the draft does not know yet.
    ``compare``: the same moment beside synchronous decoding. ``bonus``: a rollback whose cause is a
    bonus token. ``storyboard``: its six stills, and ``rollback.gif``: its film.

    Args:
        folder: where to.
        runs: by name; by default the recordings that come with the package.

    Raises:
        SettingError: no prompt was recorded both by AMUSD and synchronously.
        MissingExtraError: the extra ``[export]`` is not installed.
    """
    if runs is None:
        runs = {name: recording(name) for name in recordings()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [
        draw(folder / f"{name}_{theme}.svg")
        for theme in THEMES
        for name, draw in stills(runs, theme).items()
    ]
    amusd = _pair_of_runs(runs)[1]
    film = save_gif(folder / "rollback.gif", amusd, around=_rollback_by(amusd, Extra.CORRECTION))
    return [*written, film]


def stills(runs: Mapping[str, Trace], theme: str) -> dict[str, Callable[[Path], Path]]:
    """The pictures that do not move, by name: functions that draw one into a file."""
    synchronous, amusd = _pair_of_runs(runs)
    rejection, bonus = (_rollback_by(amusd, cause) for cause in (Extra.CORRECTION, Extra.BONUS))
    return {
        "rollback": lambda path: save_svg(path, amusd, at=rejection, theme=theme),
        "compare": lambda path: save_svg(path, synchronous, amusd, at=rejection, theme=theme),
        "bonus": lambda path: save_svg(path, amusd, at=bonus, theme=theme),
        "storyboard": lambda path: storyboard(amusd, around=rejection, theme=theme).save(path),
    }


def _pair_of_runs(runs: Mapping[str, Trace]) -> tuple[Trace, Trace]:
    for group in groups_of(runs):
        by_method = {trace.header.method: trace for trace in group.traces}
        if {"synchronous", "amusd"} <= set(by_method):
            return by_method["synchronous"], by_method["amusd"]
    raise SettingError(
        "no prompt was recorded both by AMUSD and synchronously; record both to draw the pictures"
    )


def _rollback_by(trace: Trace, cause: Extra) -> int | None:
    """When the draft works longest (ns) without knowing of a verdict of this kind; ``None``: never."""
    verdicts = {v.end for v in trace.of(ev.Verified) if v.extra is cause}
    with Renderer([trace]) as renderer:
        found = [each for each in renderer.rollbacks() if each.since in verdicts]
    longest = max(found, key=lambda each: each.heard - each.since, default=None)
    return longest.t if longest else None


def main(arguments: Sequence[str]) -> int:
    """Draws the gallery into the one folder named; returns the exit code."""
    return into_folder(
        arguments, draw_gallery, _report, usage="python -m amusd_viz.export.gallery FOLDER"
    )


def _report(written: Sequence[Path]) -> str:
    return "\n".join(f"{path} ({path.stat().st_size / 1000:.0f} kB)" for path in written)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
