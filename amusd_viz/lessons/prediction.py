"""Predict before you see: choose, commit, and compare when the answer is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from amusd_viz.errors import SettingError
from amusd_viz.lessons import progress


class Prediction(widgets.VBox):
    """A question with an answer to choose and a button to commit to it; made by :func:`predict`."""

    def __init__(self, name: str, question: str, choose: widgets.DOMWidget) -> None:
        self.name = name
        self.committed = False
        self._choose = choose
        self._button = widgets.Button(description="Commit", layout={"width": "auto"})
        self._button.on_click(self._on_click)
        self._said = widgets.Label(value="not committed: the default counts")
        # A label sets text as text; HTML would need escaping.
        title = widgets.Label(value=question, style={"font_weight": "bold"})
        row = widgets.HBox([choose, self._button, self._said], layout={"align_items": "center"})
        super().__init__([title, row])

    def __repr__(self) -> str:
        return f"Prediction({self.name}: {self.value!r})"

    @property
    def value(self) -> Any:
        """What is predicted: the default, or what was chosen."""
        return self._choose.value

    def commit(self, value: Any = None) -> Prediction:
        """Commits to a value, or to what is chosen; later changes of mind do not count.

        Raises:
            SettingError: a value that cannot be chosen.
        """
        if self.committed:
            return self
        if value is not None:
            try:
                self._choose.value = value
            except Exception:
                raise SettingError(f"{self.name}: {value!r} cannot be chosen") from None
        self.committed = True
        self._button.disabled = self._choose.disabled = True
        self._said.value = "committed"
        return self

    def _on_click(self, _: object) -> None:
        self.commit()

    def reveal(self, actual: Any, unit: str = "", digits: int = 2) -> None:
        """Says what was predicted and what it is, and ends the predicting."""
        before = "you predicted" if self.committed else "the default was"
        self.commit()
        progress.note_prediction(
            self.name, self.value, committed=before == "you predicted", actual=actual
        )
        end = f" {unit}" if unit else ""
        told = f"{self.name}: {before} {_shown(self.value, digits)}{end}; "
        print(f"{told}it is {_shown(actual, digits)}{end}.")


def predict(
    name: str,
    question: str,
    *,
    choices: Sequence[str] = (),
    default: Any,
    least: float = 0.0,
    most: float = 100.0,
    step: float = 0.1,
) -> Prediction:
    """Asks for a prediction. With nothing chosen the default counts, so a notebook runs through.

    Args:
        name: a short name, under which it is saved.
        question: in a sentence.
        choices: words to choose from; without them a number is asked for.
        default: what counts where nobody chooses.
        least, most, step: of the number.

    Raises:
        SettingError: the default is none of the choices, or out of range.
    """
    if choices:
        if default not in choices:
            raise SettingError(f"{name}: the default {default!r} is none of the choices")
        chooser: widgets.DOMWidget = widgets.Dropdown(options=list(choices), value=default)
    else:
        if not least <= default <= most:
            raise SettingError(f"{name}: the default {default!r} is not from {least} to {most}")
        chooser = widgets.BoundedFloatText(
            value=default, min=least, max=most, step=step, layout={"width": "120px"}
        )
    return Prediction(name, question, chooser)


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return f"“{value}”" if isinstance(value, str) else str(value)
