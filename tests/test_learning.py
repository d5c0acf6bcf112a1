"""Learning curves: what is drawn is what was given, in the house's style, and text stays text."""

from __future__ import annotations

import pytest

from amusd_viz.errors import SettingError
from amusd_viz.views.learning import learning_curves

CURVES = {"with <b>state</b>": [(20, 0.15), (40, 0.18)], "tokens alone": [(20, 0.14)]}


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_each_training_is_a_line_with_its_own_hue_and_dash(theme):
    figure = learning_curves(CURVES, theme=theme)
    first, second = figure.data
    assert (tuple(first.x), tuple(first.y)) == ((20, 40), (0.15, 0.18))
    assert (tuple(second.x), tuple(second.y)) == ((20,), (0.14,))
    assert first.line.color != second.line.color
    assert first.line.dash != second.line.dash


def test_names_do_not_become_markup():
    figure = learning_curves(CURVES, floor=("<i>table</i>", 0.14))
    assert figure.data[0].name == "with &lt;b&gt;state&lt;/b&gt;"
    assert "<b>" not in figure.data[0].hovertemplate
    assert figure.layout.annotations[0].text == "&lt;i&gt;table&lt;/i&gt;"


def test_the_floor_is_a_dotted_line_at_its_height():
    figure = learning_curves(CURVES, floor=("table", 0.14))
    (line,) = figure.layout.shapes
    assert (line.y0, line.y1, line.line.dash) == (0.14, 0.14, "dot")
    assert not learning_curves(CURVES).layout.shapes


def test_the_scale_starts_at_zero_and_reads_in_percent():
    axis = learning_curves(CURVES).layout.yaxis
    assert (axis.rangemode, axis.tickformat) == ("tozero", ".0%")


def test_an_unknown_theme_is_named():
    with pytest.raises(SettingError, match="unknown theme 'sepia'"):
        learning_curves(CURVES, theme="sepia")
