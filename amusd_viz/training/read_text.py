"""Stage 1's text: what people wrote, read by the target in one parallel pass each.

A file of JSON lines, one object with a ``text`` a line. What the target's output layer read at every
position, and its best tokens there, are kept just as while generating.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import torch

from amusd_viz.errors import PromptError
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.tokens import Tokens
from amusd_viz.training.batch_decoder import TOP
from amusd_viz.training.shards import Text

PIECE = 256
"""Tokens of a piece; longer texts are cut."""


def read_text(file: Path, lm: CausalLM, texts: Tokens, most_tokens: int) -> Iterator[Text]:
    """Reads the pieces of a file with the target.

    Args:
        file: the JSON lines.
        lm: the target, with a cache of at least :data:`PIECE` entries and free rows.
        texts: its tokenizer.
        most_tokens: no more are read.

    Raises:
        PromptError: no such file, or a line without a text.
    """
    read = 0
    for piece in _pieces(file, texts):
        if read >= most_tokens:
            return
        yield _read(piece, lm, read)
        read += len(piece) - 1


def _pieces(file: Path, texts: Tokens) -> Iterator[list[int]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{file} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
            ids = texts.encode(text, chat=False)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise PromptError(
                f'{file}, line {number}: is no object with a text, such as {{"text": "..."}}'
            ) from None
        for start in range(0, len(ids) - 1, PIECE):
            if len(piece := ids[start : start + PIECE]) > 1:
                yield piece


def _read(ids: list[int], lm: CausalLM, index: int) -> Text:
    lm.reset()
    logits = lm.logits_after(ids[:1], ids[1:-1]).float()
    best = logits.log_softmax(-1).topk(min(TOP, logits.shape[-1]))
    return Text(
        index=index,
        temperature=1.0,
        prompt=torch.tensor(ids[:1]),
        tokens=torch.tensor(ids[1:]),
        top_ids=best.indices,
        top_logprobs=best.values.half(),
        final=lm.hidden[-len(logits) :].half().clone(),
    )
