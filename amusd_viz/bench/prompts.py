"""What a benchmark decodes: the package's own prompts, a JSONL file, or a data set by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amusd_viz.errors import PromptError
from amusd_viz.paths import assets

OWN = ("bench", "prompts.jsonl")
"""The package's own prompts: questions, tasks, and a quarter of them edits or code."""

MOST_BYTES = 100_000_000


@dataclass(frozen=True)
class Prompt:
    """One thing to decode.

    Attributes:
        messages: a chat, each with ``role`` and ``content``; a single prompt is one user's message.
        kind: what sort of task it is, where the file says so.
    """

    messages: tuple[tuple[str, str], ...]
    kind: str = ""

    @property
    def text(self) -> str:
        """The last message."""
        return self.messages[-1][1]

    @property
    def asked(self) -> str | list[dict[str, str]]:
        """As a session takes it: a text, or a chat of several messages."""
        if len(self.messages) == 1 and self.messages[0][0] == "user":
            return self.text
        return [{"role": role, "content": content} for role, content in self.messages]


def load_prompts(file: Path | None = None, *, limit: int | None = None) -> list[Prompt]:
    """The prompts of a file, or the package's own.

    Args:
        file: JSON lines, each an object with ``prompt`` (a text) or ``messages`` (a chat).
        limit: so many at most, spread evenly over the file.

    Raises:
        PromptError: the file cannot be read, or a line holds no prompt.
    """
    path = file or assets(*OWN)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PromptError(f"{path} is larger than 100 MB; cut it to the prompts you need")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise PromptError(f"{path} cannot be read ({reason}); give a file of JSON lines") from None
    return spread(list(_prompts_in(text, path)), limit, str(path))


def spread(prompts: Sequence[Prompt], limit: int | None, source: str) -> list[Prompt]:
    """At most ``limit`` of them, evenly spread, so that every part of the source is there."""
    if not prompts:
        raise PromptError(f"{source} holds no prompt; give one or more")
    if limit is not None and limit < 1:
        raise PromptError(f"a limit of {limit} leaves no prompt; use 1 or more")
    count = min(len(prompts), limit or len(prompts))
    return [prompts[i * len(prompts) // count] for i in range(count)]


def _prompts_in(text: str, path: Path) -> Iterator[Prompt]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield prompt_of(json.loads(line))
            except (json.JSONDecodeError, PromptError, RecursionError) as error:
                raise PromptError(
                    f"{path}, line {number}: {error}; "
                    'write {"prompt": "..."} or {"messages": [{"role": "user", "content": "..."}]}'
                ) from None


def prompt_of(entry: Any) -> Prompt:
    """The prompt in one decoded line."""
    if not isinstance(entry, dict):
        raise PromptError("it is not an object")
    kind = str(entry.get("kind", ""))
    if isinstance(entry.get("prompt"), str) and entry["prompt"].strip():
        return Prompt((("user", entry["prompt"]),), kind)
    messages = entry.get("messages")
    if isinstance(messages, list) and messages and all(map(_is_message, messages)):
        return Prompt(tuple((m["role"], m["content"]) for m in messages), kind)
    raise PromptError("it has neither a prompt nor messages")


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str)
    )
