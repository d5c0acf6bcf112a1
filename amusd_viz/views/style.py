"""How the charts look: Okabe-Ito hues, always with a pattern or a label, on light and on dark.

Filled vermilion means rejected, nothing else does; doomed work is hollow and hatched; waiting is
pale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from amusd_viz.errors import SettingError
from amusd_viz.events import Side, Wait
from amusd_viz.protocol.messages import Fate
from amusd_viz.words import SIDES, visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

Theme = Literal["auto", "light", "dark"]
"""``auto`` has no background of its own and a grey ink that reads on both."""

ORANGE, BLUE, VERMILION = "#E69F00", "#0072B2", "#D55E00"
SKY, GREY, HOLLOW = "#56B4E9", "#999999", "rgba(0,0,0,0)"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

_INK = {"auto": "#797979", "light": "#24292F", "dark": "#E6E6E6"}
_PAPER = {"auto": HOLLOW, "light": "#FFFFFF", "dark": "#111111"}
_LEGEND = {
    "orientation": "h",
    "xref": "container",
    "yref": "container",
    "yanchor": "bottom",
    "y": 0.01,
    "x": 0,
    "traceorder": "normal",
}


@dataclass(frozen=True)
class Look:
    """Fill and hatching of a bar; ``hatch`` is a plotly pattern shape."""

    fill: str
    hatch: str = ""
    hatch_colour: str = GREY

    def marker(self, theme: Theme) -> dict[str, Any]:
        """The ``marker`` of a plotly bar trace."""
        pattern = {"shape": self.hatch, "fgcolor": self.hatch_colour, "fillmode": "overlay"}
        return {
            "color": self.fill,
            "pattern": pattern | {"size": 6, "solidity": 0.35},
            "line": {"color": _INK[theme], "width": 0.8},
        }


DRAFTED = {
    Fate.ACCEPTED: Look(ORANGE),
    Fate.OVERTAKEN: Look(ORANGE, ".", "#24292F"),
    Fate.REJECTED: Look(VERMILION, "x", "#24292F"),
    Fate.AFTER_MISMATCH: Look(HOLLOW, "/", ORANGE),
    Fate.NEVER_JUDGED: Look(HOLLOW, "\\", ORANGE),
    Fate.CONTRADICTED: Look(HOLLOW, "|", ORANGE),
    Fate.TOO_LATE: Look(HOLLOW, "-", ORANGE),
    Fate.UNFINISHED: Look(HOLLOW),
}
"""Drafting, by what became of the proposal."""

WAITED = {
    Wait.PROPOSALS: Look("rgba(86,180,233,0.35)"),
    Wait.RUN_AHEAD_LIMIT: Look("rgba(240,228,66,0.35)"),
    Wait.FIRST_COMMIT: Look("rgba(204,121,167,0.35)"),
    Wait.END_TOKEN: Look("rgba(0,158,115,0.35)"),
    Wait.LENGTH_LIMIT: Look("rgba(153,153,153,0.35)"),
    Wait.RESTING: Look("rgba(230,159,0,0.20)"),
}
"""Waiting, by reason: the palette's hues, pale."""

PREFILL = Look(GREY, "+", "#24292F")
VERIFIED = Look(BLUE)
VERIFIED_CORRECTION = Look(BLUE, "x", "#FFFFFF")
PLAIN_STEP = Look(SKY, "|", BLUE)
OTHER = Look(HOLLOW)

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Line styles of runs, in order: methods have no hue of their own."""

RUN_LOOKS = (
    Look("rgba(128,128,128,0.85)"),
    Look("rgba(128,128,128,0.25)", "/", GREY),
    Look(HOLLOW, ".", GREY),
    Look("rgba(128,128,128,0.25)", "x", GREY),
    Look(HOLLOW, "-", GREY),
)
"""Bars of runs side by side, in order."""


def new_figure(title: str, *, x: str, y: str, theme: Theme, height: int = 360) -> go.Figure:
    """An empty figure in the common style.

    Args:
        title: plain text; may come from a trace.
        x, y: axis titles, with units.
        theme: see :data:`Theme`.
        height: pixels; the width follows the page.

    Raises:
        SettingError: for an unknown theme.
    """
    import plotly.graph_objects as go

    if theme not in _INK:
        raise SettingError(f"unknown theme {theme!r}; use 'auto', 'light' or 'dark'")
    ink = _INK[theme]
    axis = {
        "gridcolor": "rgba(128,128,128,0.25)",
        "zeroline": False,
        "linecolor": ink,
        "tickcolor": ink,
        "automargin": True,
    }
    return go.Figure(
        layout={
            "template": "none",
            "title": {"text": markup(title), "x": 0, "xref": "paper", "font": {"size": 16}},
            "font": {"family": FONT, "size": 13, "color": ink},
            "paper_bgcolor": _PAPER[theme],
            "plot_bgcolor": HOLLOW,
            "hoverlabel": {"align": "left", "bgcolor": "#FFFFFF", "font": {"color": "#24292F"}},
            "legend": _LEGEND,
            "xaxis": axis | {"title": {"text": x}},
            "yaxis": axis | {"title": {"text": y}},
            "height": height,
            "margin": {"l": 60, "r": 30, "t": 50, "b": 60},
            "autosize": True,
        }
    )


def fit_lanes(figure: go.Figure, lanes: Sequence[str]) -> None:
    """Orders the lanes of a horizontal chart from the top and gives each of them room."""
    legend_lines = (len(figure.data) + 1) // 2
    figure.update_layout(height=130 + 46 * len(lanes) + 20 * legend_lines)
    figure.update_yaxes(categoryorder="array", categoryarray=list(lanes)[::-1], showgrid=False)


def lane(name: str, side: Side) -> str:
    """Label of one device's lane, on two lines; ``name`` may come from a trace."""
    return f"{markup(name)}<br>{SIDES[side]}"


def ink(theme: Theme) -> str:
    """Colour of text and outlines."""
    return _INK[theme]


def markup(text: str, limit: int = 60) -> str:
    """Untrusted text made safe for plotly, which renders a subset of HTML and of TeX."""
    safe = visible(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("$", "&#36;").replace("%{", "&#37;{")
