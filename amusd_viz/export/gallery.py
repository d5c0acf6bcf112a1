"""The pictures in README and notebooks, drawn from the recordings that come with the package.

    python -m amusd_viz.export.gallery FOLDER      (or: make pictures)

Each is an SVG for light and one for dark pages; one rollback is also a GIF. Drawn again from the same
recordings they are the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from amusd_viz import events as ev
from amusd_viz.errors import AmusdVizError, SettingError
from amusd_viz.export.pictures import save_gif, save_svg, storyboard
from amusd_viz.export.renderer import Renderer
from amusd_viz.paths import recording, recordings
from amusd_viz.protocol.target import Extra
from amusd_viz.site import groups_of
from amusd_viz.trace import Trace

THEMES = ("light", "dark")


def draw_gallery(folder: str | Path, runs: Mapping[str, Trace] | None = None) -> list[Path]:
    """Draws all pictures into a folder, which is made if need be, and returns the files.

    ``rollback``: AMUSD alone, the moment when only the target knows. ``compare``: the same moment
    beside synchronous decoding. ``bonus``: a rollback whose cause is a bonus token.
    ``storyboard``: six stills.

    Args:
        folder: where to.
        runs: by name; by default the recordings that come with the package.

    Raises:
        SettingError: no prompt was recorded both by AMUSD and synchronously.
        MissingExtraError: the extra ``[export]`` is not installed.
    """
    if runs is None:
        runs = {name: recording(name) for name in recordings()}
    synchronous, amusd = _pair_of_runs(runs)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bonus = _bonus_rollback(amusd)
    written = []
    for theme in THEMES:
        written += [
            save_svg(folder / f"rollback_{theme}.svg", amusd, theme=theme),
            save_svg(folder / f"compare_{theme}.svg", synchronous, amusd, theme=theme),
            storyboard(amusd, theme=theme).save(folder / f"storyboard_{theme}.svg"),
        ]
        if bonus:
            written.append(save_svg(folder / f"bonus_{theme}.svg", amusd, at=bonus, theme=theme))
    return [*written, save_gif(folder / "rollback.gif", amusd)]


def _pair_of_runs(runs: Mapping[str, Trace]) -> tuple[Trace, Trace]:
    for group in groups_of(runs):
        by_method = {trace.header.method: trace for trace in group.traces}
        if {"synchronous", "amusd"} <= set(by_method):
            return by_method["synchronous"], by_method["amusd"]
    raise SettingError(
        "no prompt was recorded both by AMUSD and synchronously; record both to draw the pictures"
    )


def _bonus_rollback(trace: Trace) -> str | None:
    """Name of the first rollback that a bonus causes, if there is one."""
    bonuses = {v.end for v in trace.of(ev.Verified) if v.extra is Extra.BONUS}
    with Renderer([trace]) as renderer:
        for number, rollback in enumerate(renderer.rollbacks(), start=1):
            if rollback.since in bonuses:
                return f"rollback {number}"
    return None


def main(arguments: Sequence[str]) -> int:
    """Draws the gallery into the one folder named; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m amusd_viz.export.gallery FOLDER", file=sys.stderr)
        return 2
    try:
        written = draw_gallery(arguments[0])
    except AmusdVizError as error:
        print(f"amusd-viz: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
