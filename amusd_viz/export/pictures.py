"""Pictures of the theater for slides, papers and pages: SVG, PNG, a storyboard, a short GIF.

All of them show the same moment the same way as the widget does, because they are drawn by it. A
moment is named as in the theater: ``"rollback 1"``, ``"192 ms"``, ``"start"``, ``"end"``, or a time
in ns; ``None`` is where the theater opens.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.export.renderer import Renderer, Rollback
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from PIL.Image import Image

At = str | float | None

MOST_GIF_BYTES = 5_000_000
"""A GIF larger than this is drawn again, smaller."""

_FRAME_MS = 100
_FRAMES_A_STEP = 5
"""As in the theater, one draft step lasts half a second."""
_REST_MS = 1200
"""How long the GIF rests at the verdict and at the rollback, so that the sentence can be read."""
_MOST_FRAMES = 80
_KEEP_EXTREMES = 1
"""Pillow's "maximum coverage": white paper stays white."""


# -- one moment ------------------------------------------------------------------------------


def save_svg(
    path: str | Path, *traces: Trace, at: At = None, theme: str = "light", width: int = 1000
) -> Path:
    """Writes one moment as an SVG file and returns its path.

    Args:
        path: the file.
        traces: up to three runs, stacked as in the theater.
        at: which moment; see the module.
        theme: ``"light"`` or ``"dark"``.
        width: of the picture, in px.

    Raises:
        SettingError: ``at`` names no moment of these runs, or the theme is unknown.
        MissingExtraError: the extra ``[export]`` is not installed.
    """
    with Renderer(traces) as renderer:
        svg = renderer.svg(renderer.moment(at), theme=theme, width=width)
    return _write(path, svg.encode())


def save_png(
    path: str | Path,
    *traces: Trace,
    at: At = None,
    theme: str = "light",
    width: int = 1000,
    scale: float = 2,
) -> Path:
    """Writes one moment as a PNG file, ``scale`` pixels a px; see :func:`save_svg`."""
    with Renderer(traces) as renderer:
        svg = renderer.svg(renderer.moment(at), theme=theme, width=width)
    return _write(path, rasterise(svg, scale))


def rasterise(svg: str, scale: float = 1) -> bytes:
    """An SVG document as PNG bytes.

    Raises:
        SettingError: this machine has no font to set the text in.
    """
    import resvg_py

    _need_a_font()
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale))


def _need_a_font() -> None:
    """A renderer without fonts leaves out every word and says nothing."""
    import resvg_py

    page = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    empty, word = (
        resvg_py.svg_to_bytes(svg_string=page.format(inside), font_family="sans-serif")
        for inside in ("", '<text y="15">M</text>')
    )
    if bytes(empty) == bytes(word):
        raise SettingError(
            "no font was found on this machine, so a picture would have no words; install one "
            "(for example fonts-liberation) or save as SVG instead"
        )


# -- several moments -------------------------------------------------------------------------


class Storyboard(str):
    """Several stills as one SVG document; a notebook shows it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Storyboard({len(self)} characters of SVG)"

    def save(self, path: str | Path) -> Path:
        """Writes the document to a file and returns its path."""
        return _write(path, self.encode())


def storyboard(
    *traces: Trace, n: int = 6, around: At = "rollback 1", theme: str = "light"
) -> Storyboard:
    """A rollback in ``n`` stills, in reading order, two a row, as one SVG.

    The target judges the fatal window; only the target knows; the draft hears and rolls back; it
    drafts anew; the target takes the next window; and judges it. Fewer stills leave out the least
    important, more go on. Every mark has a shape, so that the sheet can be printed in black and
    white, and every still a number to speak of it.

    Args:
        traces: up to three runs.
        n: number of stills, 2 to 24.
        around: which rollback: its name, or a moment near it.
        theme: ``"light"`` or ``"dark"``.
    """
    if not 2 <= n <= 24:
        raise SettingError(f"a storyboard has 2 to 24 stills, not {n}")
    with Renderer(traces) as renderer:
        rollback = _rollback(renderer, around)
        moments = _story(traces[rollback.run], rollback, n)
        stills = [renderer.svg(t, theme=theme, **_STILL) for t in moments]
    return Storyboard(_sheet(stills, theme))


_STILL = {"width": 960, "size": 18, "key": False}
_GAP = 24


_IMPORTANCE = (1, 2, 0, 5, 3, 4)
"""Of the six stills, by their place in time: the most important first."""


def _story(trace: Trace, rollback: Rollback, n: int) -> list[int]:
    """Times (ns) of ``n`` stills, fewer if the run ends before."""
    fatal = _fatal_verdict(trace, rollback)
    drafted = [p for p in trace.of(ev.Proposed) if p.side is ev.Side.DRAFT]
    anew = [p.end for p in drafted if p.start >= rollback.heard]
    later = [v for v in trace.of(ev.Verified) if v.start >= rollback.since and v is not fatal]
    starts, verdicts = [v.start for v in later], [v.end for v in later]
    judging = fatal.start + 2 * (fatal.end - fatal.start) // 3
    times = [judging, rollback.t, rollback.heard, *anew[:1], *starts[:1], *verdicts[:1]]
    if n < len(times):
        return sorted(times[i] for i in [i for i in _IMPORTANCE if i < len(times)][:n])
    hears = [e.t for e in trace.of(ev.CarriedOn, ev.RolledBack) if e.t > max(times)]
    more = sorted({*verdicts[1:], *hears})
    return sorted({*times, *more[: n - len(times)]})


def _sheet(stills: Sequence[str], theme: str) -> str:
    """Stills at half their size, so that two of them fit the width of a page."""
    width, height = _size_of(stills[0])
    rows = math.ceil(len(stills) / 2)
    whole = (2 * width + 3 * _GAP, rows * (height + _GAP) + _GAP)
    paper, rule = {"light": ("#ffffff", "#57606a"), "dark": ("#000000", "#a4adb8")}[theme]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]:g} {whole[1]:g}" '
        f'width="{whole[0] / 2:g}" height="{whole[1] / 2:g}" role="img">'
        f'<rect width="100%" height="100%" fill="{paper}"/>'
    ]
    for index, still in enumerate(stills):
        x = _GAP + (index % 2) * (width + _GAP)
        y = _GAP + (index // 2) * (height + _GAP)
        parts.append(still.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1))
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'fill="none" stroke="{rule}"/>'
            f'<text x="{x + width - 20:g}" y="{y + height - 16:g}" font-family="sans-serif" '
            f'font-size="26" font-weight="600" text-anchor="end" fill="{rule}">{index + 1}</text>'
        )
    return "".join([*parts, "</svg>"])


def _size_of(svg: str) -> tuple[float, float]:
    """Width and height (px) in the first tag of a document of ours."""
    tag = svg[: svg.index(">")]
    width, height = (tag.split(f' {name}="')[1].split('"')[0] for name in ("width", "height"))
    return float(width), float(height)


# -- moving ----------------------------------------------------------------------------------


def save_gif(
    path: str | Path,
    *traces: Trace,
    around: At = "rollback 1",
    theme: str = "light",
    width: int = 900,
) -> Path:
    """Writes one rollback as a GIF under 5 MB that plays in a loop, and returns its path.

    It begins where the target takes the fatal window and ends two draft steps after the rollback,
    at the theater's default speed: half a second a draft step. It takes a few seconds to draw.

    Args: see :func:`save_svg` and :func:`storyboard`.
    """
    with Renderer(traces) as renderer:
        rollback = _rollback(renderer, around)
        moments = _gif_moments(traces[rollback.run], rollback)
        stills = [renderer.svg(t, theme=theme, width=width) for t, _ in moments]
    durations = [ms for _, ms in moments]
    scale = 1.0
    while len(data := _gif(stills, durations, scale)) > MOST_GIF_BYTES:
        scale *= 0.8
    return _write(path, data)


def _gif_moments(trace: Trace, rollback: Rollback) -> list[tuple[int, int]]:
    """Times (ns) of the frames, each with how long it stays (ms)."""
    step = _draft_step(trace)
    first, last = (
        _fatal_verdict(trace, rollback).start,
        min(rollback.heard + 2 * step, trace.duration),
    )
    tick = max(1, step // _FRAMES_A_STEP, (last - first) // _MOST_FRAMES)
    rests = {rollback.since, rollback.t, rollback.heard, last}
    times = sorted({*range(first, last, tick), *rests})
    return [(t, _REST_MS if t in rests else _FRAME_MS) for t in times]


def _fatal_verdict(trace: Trace, rollback: Rollback) -> ev.Verified:
    """The verdict that is behind a rollback, or the last before it.

    A slow draft may contradict, in ignorance, what was committed before: then the error begins with
    its proposal.
    """
    return [v for v in trace.of(ev.Verified) if v.end <= rollback.since][-1]


def _draft_step(trace: Trace) -> int:
    """The median time of one proposal (ns)."""
    lengths = sorted(p.end - p.start for p in trace.of(ev.Proposed) if p.side is ev.Side.DRAFT)
    return lengths[len(lengths) // 2]


def _gif(stills: Sequence[str], durations: Sequence[int], scale: float) -> bytes:
    with ThreadPoolExecutor() as pool:
        frames = list(pool.map(lambda svg: _image(rasterise(svg, scale)), stills))
    sample = _side_by_side(frames[:: max(1, len(frames) // 6)])
    palette = sample.quantize(128, method=_KEEP_EXTREMES)
    indexed = [frame.quantize(palette=palette, dither=0) for frame in frames]
    out = io.BytesIO()
    options: dict[str, Any] = {"duration": list(durations), "loop": 0, "optimize": True}
    indexed[0].save(out, "GIF", save_all=True, append_images=indexed[1:], **options)
    return out.getvalue()


def _side_by_side(frames: Sequence[Image]) -> Image:
    """Frames from the whole film in one picture, so that one palette serves them all."""
    from PIL import Image

    width, height = frames[0].size
    whole = Image.new("RGB", (width, height * len(frames)))
    for index, frame in enumerate(frames):
        whole.paste(frame, (0, index * height))
    return whole


def _image(png: bytes) -> Image:
    from PIL import Image

    return Image.open(io.BytesIO(png)).convert("RGB")


def _rollback(renderer: Renderer, around: At) -> Rollback:
    rollbacks = renderer.rollbacks()
    if not rollbacks:
        raise SettingError(
            "none of these runs has a rollback to show; choose a longer or worse one"
        )
    t = renderer.moment(around)
    return min(rollbacks, key=lambda each: abs(each.t - t))


def _write(path: str | Path, data: bytes) -> Path:
    path = Path(path)
    path.write_bytes(data)
    return path
