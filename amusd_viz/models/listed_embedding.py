"""An embedding with rows of its own for a short list of tokens; the others' are the target's, scaled.

Most of a vocabulary is hardly ever generated. What a speculator could learn of such a word is little,
and the target has a row for it already.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from amusd_viz.errors import ModelError


class ListedEmbedding(nn.Module):
    """Rows of its own for ``listed`` tokens, as the parameter ``rows``.

    Args:
        listed: token ids, ascending.
        target: the target's embedding, ``(V, width)``; kept by reference and never changed.

    The other rows are the target's times ``scale``, which gives them the standard deviation of fresh
    rows, 1 / sqrt(width). So do the listed ones at first.
    """

    place: torch.Tensor

    def __init__(self, listed: Sequence[int], target: torch.Tensor) -> None:
        super().__init__()
        ids = torch.tensor(listed)
        own = target[ids.to(target.device)].float()
        self._target = target.detach()
        self.scale = target.shape[1] ** -0.5 / float(own.std())
        self.rows = nn.Parameter(own * self.scale)
        place = torch.full((len(target),), -1, device=target.device)
        place[ids.to(target.device)] = torch.arange(len(ids), device=target.device)
        self.register_buffer("place", place, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The rows of token ids of any shape."""
        place = self.place[tokens]
        others = self._target[tokens].to(self.rows) * self.scale
        own = self.rows[place.clamp_min(0)]
        return torch.where((place >= 0)[..., None], own, others)

    @torch.no_grad()
    def row(self, token: int) -> torch.Tensor:
        """The row of a single token, ``(width,)``."""
        place = int(self.place[token])
        return self.rows[place] if place >= 0 else self._target[token].to(self.rows) * self.scale

    @torch.no_grad()
    def whole(self) -> torch.Tensor:
        """The rows of the whole vocabulary, ``(V, width)``."""
        return self.forward(torch.arange(len(self.place), device=self.place.device))


def check_widths(target_width: int, inner_dim: int) -> None:
    """Raises :class:`ModelError` where the target's rows do not fit the speculator."""
    if target_width != inner_dim:
        raise ModelError(
            f"rows of the target are {target_width} wide and the speculator's {inner_dim}; a speculator "
            "with a short list needs inner_dim equal to the target's width"
        )
