"""A session of tiny models in which every method works: two models, and a speculator trained in seconds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from tiny_speculator import generate_tiny_text, save_tiny_target, train_tiny_speculator
from transformers import AutoModelForCausalLM

from amusd_viz.engine import Run, Session

ROWS = 16


@contextmanager
def tiny_session(folder: Path) -> Iterator[Session]:
    """A session with fp32 passes of 16 rows; ``folder`` is an empty one for its files."""
    parts = [folder / name for name in ("cache", "models", "trained")]
    for part in parts:
        part.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMUSD_VIZ_CACHE", str(parts[0]))
        target = save_tiny_target(parts[1])
        generate_tiny_text(target)
        heads = train_tiny_speculator(target, parts[2])
    draft = _save_near(target.folder, parts[1] / "near")
    with Session(
        draft=str(draft), target=str(target.folder), dtype="fp32", rows=ROWS, speculator=heads
    ) as session:
        yield session


def _save_near(target: Path, folder: Path) -> Path:
    """Saves a draft that agrees more often than not: the target, a little disturbed."""
    shutil.copytree(target, folder)
    model = AutoModelForCausalLM.from_pretrained(target)
    noise = torch.Generator().manual_seed(2)
    for weight in model.parameters():
        weight.data += 0.05 * weight.std() * torch.randn(weight.shape, generator=noise)
    model.save_pretrained(folder)
    return folder


def finished(run: Run) -> Run:
    """The run, when it is over and its trace holds together."""
    run.wait().trace.check()
    return run
