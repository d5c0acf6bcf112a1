"""What two models answer when a person schedules them, and the file that answers without them.

A draft that decodes greedily is a function of what it has read. Whatever the schedule, what it
believes is committed text, followed by its own continuation of it. So it is enough to record, for
every committed length, what it would go on with; and where its next token is the target's own, that
is all there is to record, because the continuation is then that of the next length.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from amusd_viz import events as ev
from amusd_viz.errors import NewerTraceError, NotATraceError, SettingError
from amusd_viz.paths import assets

SCHEMA = 1
RUN_AHEAD = 16
"""The farthest a draft may run ahead: so many tokens of a wrong continuation are recorded."""


class Answer(NamedTuple):
    """A token that a model chose, and how probable it found it."""

    token: int
    text: str
    probability: float | None


class ModelPair(Protocol):
    """Two models that decode greedily, asked with output tokens only: the prompt is theirs.

    The same question gets the same answer, however often it is asked.
    """

    draft_model: ev.Model
    target_model: ev.Model
    name: str
    prompt: str
    context: str
    """The text that the output follows; empty where it begins with the answer."""
    prompt_ids: tuple[int, ...]
    end_tokens: tuple[int, ...]
    longest: int | None
    """How many output tokens can be asked for; ``None``: as many as one likes."""

    def draft(self, output: Sequence[int]) -> tuple[Answer, int]:
        """What the draft goes on with after ``output``, and how long that takes (ns)."""
        ...

    def verify(self, output: Sequence[int], window: Sequence[int]) -> tuple[list[Answer], int]:
        """The target's own choices after ``output`` and along ``window``, and how long it takes (ns).

        There is one choice for each token of the window up to the first that differs, and one more.
        """
        ...


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One recorded token, with the probability that the model that chose it gave it."""

    token: ev.TokenId
    text: str
    probability: ev.Probability


class PairRecording(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a schedule can make of one pair on one prompt.

    Attributes:
        target: the output the target writes.
        draft: for every position, what the draft chooses on the target's own text before it.
        astray: for a position where the two differ, how the draft goes on behind its own token.
        draft_ns: how long one draft step takes.
        target_ns: how long one target pass takes, at any window up to ``rows - 1``.
        measured: where and when the times were measured.
    """

    kind: Literal["by_hand"] = "by_hand"
    schema: int = SCHEMA
    pair: str
    prompt: str
    prompt_ids: tuple[ev.TokenId, ...]
    end_tokens: tuple[ev.TokenId, ...]
    draft_model: ev.Model
    target_model: ev.Model
    target: tuple[Word, ...]
    draft: tuple[Word, ...]
    astray: dict[int, tuple[Word, ...]]
    draft_ns: Annotated[int, Meta(gt=0)]
    target_ns: Annotated[int, Meta(gt=0)]
    measured: str

    @classmethod
    def load(cls, path: str | Path) -> PairRecording:
        """Reads a recording.

        Raises:
            NotATraceError, NewerTraceError: the file is something else, or of a later version.
        """
        try:
            found = msgspec.json.decode(Path(path).read_bytes(), type=cls, strict=False)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotATraceError(f"{path}: is no recording of a pair: {error}") from None
        if found.schema > SCHEMA:
            raise NewerTraceError(
                f"{path}: has schema {found.schema}, this version reads up to {SCHEMA}; "
                "upgrade amusd-viz to open it"
            )
        if len(found.target) != len(found.draft) or not found.target:
            raise NotATraceError(
                f"{path}: has {len(found.target)} tokens of the target and {len(found.draft)} of the "
                "draft; there must be one of each at every position"
            )
        return found

    def save(self, path: str | Path) -> Path:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(self) + b"\n")
        return path


class RecordedPair:
    """Answers as the recorded models would.

    Args:
        recording: what was recorded.
        start: so many output tokens count as read already; the run begins behind them.

    Raises:
        SettingError: nothing is left behind ``start``.
    """

    def __init__(self, recording: PairRecording, start: int = 0) -> None:
        if not 0 <= start < len(recording.target):
            raise SettingError(
                f"start is {start}, but the recording has {len(recording.target)} tokens; "
                f"use 0 to {len(recording.target) - 1}"
            )
        self.recording = recording
        self.start = start
        self.name = recording.pair
        self.draft_model = recording.draft_model
        self.target_model = recording.target_model
        self.prompt = recording.prompt
        self.context = "".join(word.text for word in recording.target[:start])
        read = tuple(word.token for word in recording.target[:start])
        self.prompt_ids = recording.prompt_ids + read
        self.end_tokens = recording.end_tokens
        self.longest: int | None = len(recording.target) - start

    def draft(self, output: Sequence[int]) -> tuple[Answer, int]:
        recording, length = self.recording, self.start + len(output)
        right = self.start + self._agreed(output)
        word = (
            recording.draft[length]
            if right == length
            else recording.astray[right][length - right - 1]
        )
        return Answer(word.token, word.text, word.probability), recording.draft_ns

    def verify(self, output: Sequence[int], window: Sequence[int]) -> tuple[list[Answer], int]:
        first = self.start + len(output)
        choices: list[Answer] = []
        for word, proposed in zip(self.recording.target[first:], (*window, None), strict=False):
            choices.append(Answer(word.token, word.text, word.probability))
            if word.token != proposed:
                break
        return choices, self.recording.target_ns

    def _agreed(self, output: Sequence[int]) -> int:
        """How many leading tokens are the target's own."""
        pairs = enumerate(zip(output, self.recording.target[self.start :], strict=False))
        return next((i for i, (ours, word) in pairs if ours != word.token), len(output))


def recorded_pair(name: str = "sky", start: int = 0) -> RecordedPair:
    """A recorded pair that comes with the package, ``start`` tokens into its output.

    Raises:
        SettingError: there is none of this name.
    """
    folder = assets("by_hand")
    files = {file.stem: file for file in sorted(folder.glob("*.json"))}
    if name not in files:
        known = ", ".join(files) or "none"
        raise SettingError(f"there is no recorded pair named {name!r}; there are: {known}")
    return RecordedPair(PairRecording.load(files[name]), start)
