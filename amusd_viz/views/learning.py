"""How trainings went: curves of accuracy over steps, and what needs no training as a line below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from amusd_viz.views import style
from amusd_viz.views.style import Theme, markup

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HUES = (style.BLUE, style.ORANGE, style.SKY)


def learning_curves(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    *,
    floor: tuple[str, float] | None = None,
    title: str = "Right on held-out text",
    theme: Theme = "auto",
) -> go.Figure:
    """One line a training, with a hue and a dash of its own.

    Args:
        curves: by name, points of (training step, share of right tokens).
        floor: name and share of something untrained to beat; drawn dotted.
        title: plain text.
        theme: see :data:`~amusd_viz.views.style.Theme`.

    Raises:
        SettingError: for an unknown theme.
    """
    figure = style.new_figure(title, x="training step", y="", theme=theme)
    for index, (name, points) in enumerate(curves.items()):
        line = {
            "color": _HUES[index % len(_HUES)],
            "dash": style.DASHES[index % len(style.DASHES)],
            "width": 2.2,
        }
        figure.add_scatter(
            name=markup(name),
            x=[step for step, _ in points],
            y=[right for _, right in points],
            mode="lines+markers",
            line=line,
            hovertemplate=f"{markup(name)}: %{{y:.1%}} after %{{x}} steps<extra></extra>",
        )
    if floor is not None:
        name, right = floor
        figure.add_hline(
            y=right,
            line={"dash": "dot", "color": style.ink(theme)},
            annotation={"text": markup(name), "font": {"color": style.ink(theme)}},
            annotation_position="bottom right",
        )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_layout(showlegend=True)
    return figure
