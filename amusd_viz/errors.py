"""Every error a user can meet. Each message says what was wrong, the value seen, and what to do.

AmusdVizError
├── SettingError          a number, name or combination that makes no sense
├── PromptError           an empty prompt, or one longer than the model's context
├── DeviceError           a device that does not exist or is named twice
├── ModelError            a model or tokenizer that cannot be had
│   └── PairError         two models that cannot work together
├── MissingExtraError     a feature whose optional packages are not installed
├── EngineError           a run that could not be finished
│   └── WorkerDiedError   the process of a model ended or raised
└── TraceError            a recording that cannot be used
    ├── NotATraceError    the file is something else
    ├── NewerTraceError   written by a newer version of this package
    ├── CutTraceError     the file ends early (``partial=True`` opens it)
    └── BrokenTraceError  a line is no event, or contradicts an earlier one
"""

from __future__ import annotations


class AmusdVizError(Exception):
    """Base of all errors this package raises on purpose."""


class SettingError(AmusdVizError, ValueError):
    """A number, a name or a combination of settings that makes no sense."""


class PromptError(AmusdVizError, ValueError):
    """A prompt that no model can continue: empty, or longer than the context."""


class DeviceError(AmusdVizError):
    """A device that does not exist on this machine, or one named twice."""


class ModelError(AmusdVizError):
    """A model or tokenizer that cannot be found or loaded."""


class PairError(ModelError):
    """A draft and a target that cannot work together."""


class MissingExtraError(AmusdVizError, ImportError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str, missing: str) -> None:
        # All arguments are kept, so that the error can travel between processes.
        super().__init__(feature, extra, missing)
        self.extra = extra

    def __str__(self) -> str:
        feature, extra, missing = self.args
        return (
            f"{feature} needs what is not installed: {missing}. "
            f'Install it with: pip install "amusd-viz[{extra}]"'
        )


class EngineError(AmusdVizError):
    """A run that could not be finished."""


class WorkerDiedError(EngineError):
    """The worker process of a model ended, raised, or ran out of memory."""


class TraceError(AmusdVizError, ValueError):
    """A recording that cannot be used."""


class NotATraceError(TraceError):
    """The file or text is not a recording of this package."""


class NewerTraceError(TraceError):
    """The recording has a schema that this version does not know yet."""


class CutTraceError(TraceError):
    """The recording ends before its run does."""


class BrokenTraceError(TraceError):
    """A line of the recording is no event, or it contradicts an earlier one.

    Attributes:
        line: 1-based line of the file at which the contradiction shows.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line

    def __str__(self) -> str:
        return "line {}: {}".format(*self.args)
