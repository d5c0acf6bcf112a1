"""What the training of a speculator starts from: fresh weights, or those of a finished one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from amusd_viz.errors import ModelError, SettingError
from amusd_viz.models.compact_speculator import (
    WEIGHTS,
    compact_config,
    listed_speculator,
    load_compact,
    with_more_words,
)
from amusd_viz.models.speculator import Speculator, SpeculatorConfig
from amusd_viz.training.speculator_course import Plan
from amusd_viz.training.speculator_rows import Rows


class Finished:
    """A finished speculator that a training goes on from (``--from``).

    Args:
        folder: where it lies.

    Attributes:
        config: its shape.
        digest: by which its weights are told from others.

    Raises:
        ModelError: there is none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            weights = (folder / WEIGHTS).read_bytes()
        except OSError:
            raise ModelError(
                f"--from {folder} holds no finished speculator ({WEIGHTS} cannot be read); name the "
                "folder that a training ended with"
            ) from None
        self.digest = hashlib.sha256(weights).hexdigest()[:16]
        self.config = compact_config(folder)

    def words(self, wanted: int | None) -> int:
        """The length of the short list to go on with.

        Raises:
            SettingError: fewer words are ``wanted`` than it knows.
        """
        if wanted is not None and wanted < self.config.words:
            raise SettingError(
                f"--words {wanted} is fewer than the {self.config.words} that {self.folder} knows; "
                "leave --words out, or give more"
            )
        return wanted or self.config.words

    def speculator(self, embedding: torch.Tensor) -> Speculator:
        """As it is; ``embedding`` is the target's."""
        return load_compact(self.folder, embedding)

    def with_words(self, words: int, rows: Rows, embedding: torch.Tensor) -> Speculator:
        """As it is, with the most frequent of the words in ``rows`` that it lacks."""
        speculator = self.speculator(embedding)
        if words == self.config.words:
            return speculator
        listed = rows.frequent_tokens(words, self.config.short_list or ())
        return with_more_words(speculator, listed, embedding)


def fresh_speculator(
    embedding: torch.Tensor, plan: Plan, listed: tuple[int, ...], name: str
) -> Speculator:
    """A tied speculator of the target's width, before its first step.

    Args:
        embedding: the target's, ``(vocabulary, width)``.
        plan: of its training.
        listed: its short list.
        name: of the target.
    """
    config = SpeculatorConfig(
        emb_dim=embedding.shape[1] * (1 if plan.state_layer is None else 2),
        inner_dim=embedding.shape[1],
        vocab_size=embedding.shape[0],
        n_predict=plan.heads,
        tie_weights=True,
        scale_input=True,
        short_list=listed,
        base_model=name,
        state_layer=plan.state_layer,
    )
    speculator = listed_speculator(config, embedding)
    rows = speculator.emb[0].rows.detach().clone()
    speculator.initialise(torch.Generator().manual_seed(plan.seed))
    with torch.no_grad():
        speculator.emb[0].rows.copy_(rows)
    return speculator
