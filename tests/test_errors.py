"""The tree of errors that a user can meet."""

from __future__ import annotations

import inspect
import pickle

import pytest

from amusd_viz import errors
from amusd_viz.errors import AmusdVizError, BrokenTraceError, MissingExtraError

ALL = [thing for thing in vars(errors).values() if inspect.isclass(thing)]


def made(kind: type[AmusdVizError]) -> AmusdVizError:
    special = {
        MissingExtraError: ("decoding", "engine", "torch"),
        BrokenTraceError: (7, "the run finishes twice"),
    }
    return kind(*special.get(kind, ("what was wrong",)))


@pytest.mark.parametrize("kind", ALL)
def test_every_error_is_of_one_tree_and_documented(kind: type[AmusdVizError]) -> None:
    assert issubclass(kind, AmusdVizError)
    assert kind.__doc__
    assert kind.__name__ in (errors.__doc__ or ""), "the drawing of the tree shows it"


@pytest.mark.parametrize("kind", ALL)
def test_every_error_travels_between_processes(kind: type[AmusdVizError]) -> None:
    error = made(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_broken_trace_names_its_line() -> None:
    error = BrokenTraceError(7, "the run finishes twice")
    assert (error.line, str(error)) == (7, "line 7: the run finishes twice")


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtraError("decoding", "engine", "torch")
    assert str(error) == (
        "decoding needs what is not installed: torch. "
        'Install it with: pip install "amusd-viz[engine]"'
    )
    assert isinstance(error, ImportError)


def test_mistakes_in_values_are_value_errors_too() -> None:
    for kind in (errors.SettingError, errors.PromptError, errors.TraceError):
        assert issubclass(kind, ValueError)
