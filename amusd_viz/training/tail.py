"""What of a draft is trained: its last layers, on top of layers borrowed from the target unchanged.

Borrowed layers compute what the target's computed while the text was generated, so their results are
read from the shards and training never runs them. The output layer is the target's own as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from transformers import AttentionInterface

from amusd_viz.errors import SettingError
from amusd_viz.training.batch_decoder import grouped_attention


@dataclass(frozen=True)
class Shape:
    """Which of the target's layers a draft has.

    Attributes:
        borrowed: the target's first so many layers, unchanged.
        trained: layers of the target that the trained ones start from, in order.
        bridge: whether one more layer comes before those, trained as well; it starts from the target's
            layer after the borrowed ones until :func:`~amusd_viz.training.bridge.fit_bridge` fits it.
    """

    borrowed: int
    trained: tuple[int, ...]
    bridge: bool = False

    @property
    def own(self) -> tuple[int, ...]:
        """Layers of the target that the draft's own ones start from, the bridge included."""
        return (self.borrowed, *self.trained) if self.bridge else self.trained

    @property
    def layers(self) -> int:
        return self.borrowed + len(self.own)

    def __str__(self) -> str:
        bridge = " + a bridge" if self.bridge else ""
        return f"{self.borrowed} borrowed{bridge} + {len(self.trained)} trained"


def last_layers(target: nn.Module, borrowed: int, trained: int, *, bridge: bool = False) -> Shape:
    """The shape whose trained layers start from the target's last ones.

    Raises:
        SettingError: the target has too few layers.
    """
    there = target.config.get_text_config().num_hidden_layers
    if borrowed < 1 or trained < 1 or borrowed + trained >= there:
        raise SettingError(
            f"a draft of {borrowed} borrowed and {trained} trained layers is none of a target with "
            f"{there}; both must be at least 1, and together fewer than {there}"
        )
    return Shape(borrowed, tuple(range(there - trained, there)), bridge)


class Tail(nn.Module):
    """The trained layers and the last norm: from borrowed states to what the output layer reads.

    Args:
        target: the target, of which layers are copied; it is left as it is.
        shape: which layers.
    """

    def __init__(self, target: nn.Module, shape: Shape) -> None:
        super().__init__()
        decoder = target.get_decoder()
        config = copy.deepcopy(decoder.config)
        config.num_hidden_layers = len(shape.own)
        if getattr(config, "layer_types", None):
            config.layer_types = [config.layer_types[i] for i in shape.own]
        config._attn_implementation = END_TO_END
        self.shape = shape
        self.decoder = type(decoder)(config)
        self.decoder.embed_tokens = nn.Identity()  # it reads states, no ids
        for ours, theirs in zip(self.decoder.layers, shape.own, strict=True):
            ours.load_state_dict(decoder.layers[theirs].state_dict())
        self.decoder.norm.load_state_dict(decoder.norm.state_dict())
        self.decoder.float().requires_grad_(True)

    def forward(self, states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Reads several texts at once.

        Args:
            states: of each text, the borrowed layers' states, ``(tokens, width)``.

        Returns:
            Of each text, what the output layer reads, ``(tokens, width)``.
        """
        # End to end instead of side by side: nothing is computed to fill up the shorter ones.
        lengths = [len(s) for s in states]
        read = self.decoder(
            inputs_embeds=torch.cat([s.float() for s in states])[None],
            position_ids=torch.cat([torch.arange(n) for n in lengths])[None],
            use_cache=False,
            lengths=lengths,
        )
        return list(read.last_hidden_state[0].split(lengths))


def end_to_end_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    *,
    lengths: Sequence[int],
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Attention over texts that lie end to end in one row; each sees itself alone.

    Args:
        query: ``(1, heads, tokens, size)``; ``key`` and ``value`` with fewer heads.
        attention_mask: ignored: texts look back only.
        lengths: of the texts, in tokens.
    """
    texts = zip(*(part.split(lengths, dim=2) for part in (query, key, value)), strict=True)
    mixed = [grouped_attention(module, *text, None, scaling)[0] for text in texts]
    return torch.cat(mixed, dim=1), None


END_TO_END = "amusd_viz_end_to_end"
AttentionInterface.register(END_TO_END, end_to_end_attention)
