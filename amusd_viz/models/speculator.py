"""A combined token/embedding speculator: a small MLP that drafts from the target's hidden state.

Source: "Accelerating Production LLMs with Combined Token/Embedding Speculators", arXiv 2404.19124.
At a position whose state ``z`` the target's output layer has read, and with the tokens chosen since,

    h[0]   = z                                    or rms(z) / sqrt(2), with ``scale_input``
    u[i]   = P[i] h[i] + a Emb[i](token i)        token 0 is the target's own, token i that of head i - 1
    h[i+1] = GELU(g[i] rms(u[i]) + b[i])
    logits = H[i] h[i+1]                          of the token after token i

where ``rms(v) = v / sqrt(mean(v * v) + 1e-6)`` and ``a`` weighs token against state. *Untied*, every
head has weights of its own; *tied*, all share one embedding, output layer and norm, and every head but
the first shares one projection, so that the recurrence may run on beyond the heads it was trained with.

Ours alone is the ``state_layer``: ``z`` is then twice as wide, and its second half is what that layer of
the target read (:mod:`amusd_viz.models.states`); each half is normalised by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from amusd_viz.errors import ModelError

EPSILON = 1e-6


@dataclass(frozen=True, kw_only=True)
class SpeculatorConfig:
    """The shape of a speculator. Names are those of published ``config.json`` files.

    Attributes:
        emb_dim: width of the state that is read: the target's, or twice that with a ``state_layer``.
        inner_dim: width of the speculator's own state.
        vocab_size: number of token ids it can read.
        n_predict: how many heads it was trained with; state and embedding weights depend on it.
        tie_weights: whether the heads share their weights.
        scale_input: whether the target's state is normalised first.
        top_k_tokens_per_head: how many tokens each head offers to a candidate tree.
        n_candidates: how many candidates a tree keeps.
        short_list: ids the output layers can propose, ascending; ``None`` for all (ours alone).
        base_model: name of the target it was trained for.
        state_layer: the target's layer, from 0, whose input is half of the state (ours alone).

    Raises:
        ModelError: dimensions that make no speculator.
    """

    emb_dim: int
    vocab_size: int
    n_predict: int
    inner_dim: int = 0
    tie_weights: bool = False
    scale_input: bool = False
    top_k_tokens_per_head: tuple[int, ...] = ()
    n_candidates: int = 5
    short_list: tuple[int, ...] | None = None
    base_model: str = ""
    state_layer: int | None = None

    def __post_init__(self) -> None:
        if not self.inner_dim:
            object.__setattr__(self, "inner_dim", self.emb_dim)
        if not self.top_k_tokens_per_head:
            offered = (4, 3, *[2] * self.n_predict)[: self.n_predict]
            object.__setattr__(self, "top_k_tokens_per_head", offered)
        for name in ("emb_dim", "inner_dim", "vocab_size", "n_predict", "n_candidates"):
            if getattr(self, name) < 1:
                raise ModelError(
                    f"a speculator with {name} {getattr(self, name)} cannot be; use 1 or more"
                )
        if self.tie_weights and self.n_predict < 2:
            raise ModelError("a tied speculator needs n_predict 2 or more; one head shares nothing")
        if len(self.top_k_tokens_per_head) != self.n_predict:
            raise ModelError(
                f"top_k_tokens_per_head has {len(self.top_k_tokens_per_head)} entries for "
                f"{self.n_predict} heads; give one for each head"
            )
        if self.state_layer is not None and (self.state_layer < 0 or self.emb_dim % 2):
            raise ModelError(
                f"with state_layer {self.state_layer} the state cannot be {self.emb_dim} wide: it has "
                "two halves, and layers are counted from 0"
            )
        self._check_short_list()

    def _check_short_list(self) -> None:
        listed = self.short_list
        if listed is None:
            return
        ascending = all(a < b for a, b in pairwise(listed))
        if not listed or not ascending or listed[0] < 0 or listed[-1] >= self.vocab_size:
            raise ModelError(
                "the short list must hold ascending token ids between 0 and "
                f"{self.vocab_size - 1}, each once"
            )

    @property
    def target_width(self) -> int:
        """Width of the target's own states."""
        return self.emb_dim if self.state_layer is None else self.emb_dim // 2

    @property
    def words(self) -> int:
        """How many token ids the output layers can propose."""
        return len(self.short_list) if self.short_list is not None else self.vocab_size

    @property
    def state_weight(self) -> float:
        """The share of its state a stage keeps, so that the target's makes half of the last one."""
        return 0.5 ** (0.5 / self.n_predict)

    @property
    def embedding_weight(self) -> float:
        """Of a token's embedding, whose elements are of variance 1 / inner_dim."""
        return math.sqrt((1 - self.state_weight**2) * self.inner_dim / 2)

    @property
    def token_weight(self) -> float:
        """``a`` above; the norm behind it takes the common factor away."""
        return self.embedding_weight / self.state_weight


class Speculator(nn.Module):
    """The heads. Parameters are named as in published checkpoints, tied ones once.

    Args:
        config: its shape.
    """

    short_list: torch.Tensor | None

    def __init__(self, config: SpeculatorConfig) -> None:
        super().__init__()
        self.config = config
        outer, inner = config.emb_dim, config.inner_dim
        copies = 1 if config.tie_weights else config.n_predict
        projections = 2 if config.tie_weights else config.n_predict
        self.emb = nn.ModuleList(nn.Embedding(config.vocab_size, inner) for _ in range(copies))
        self.proj = nn.ModuleList(
            nn.Linear(inner if i else outer, inner, bias=False) for i in range(projections)
        )
        self.ln = nn.ModuleList(ScaledShift(inner) for _ in range(copies))
        self.head = nn.ModuleList(nn.Linear(inner, config.words, bias=False) for _ in range(copies))
        listed = config.short_list
        self.register_buffer(
            "short_list", None if listed is None else torch.tensor(listed), persistent=False
        )

    @torch.no_grad()
    def initialise(self, generator: torch.Generator | None = None) -> Speculator:
        """Draws fresh weights: normal of standard deviation 1 / sqrt(inner_dim); gain 1, shift 0."""
        for name, weight in self.named_parameters():
            if name.startswith("ln."):
                weight.fill_(1.0 if name.endswith("weight") else 0.0)
            else:
                weight.normal_(0, self.config.inner_dim**-0.5, generator=generator)
        return self

    # -- stage by stage ----------------------------------------------------------------------

    def begin(self, state: torch.Tensor) -> torch.Tensor:
        """``h[0]`` of the target's hidden state, shape ``(..., emb_dim)``."""
        if not self.config.scale_input:
            return state
        parts = state.unflatten(-1, (-1, self.config.target_width))
        return rms_norm(parts).flatten(-2) / math.sqrt(2)

    def advance(self, stage: int, h: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """``h[stage + 1]`` of ``h[stage]`` and the tokens, ids of shape ``(...)``.

        A tied speculator may go beyond its ``n_predict`` stages.
        """
        weighed = self.config.token_weight * self.emb[self._copy(stage)](tokens)
        projection = min(stage, 1) if self.config.tie_weights else stage
        mixed = self.proj[projection](h) + weighed
        return functional.gelu(self.ln[self._copy(stage)](mixed))

    def logits(self, stage: int, h: torch.Tensor) -> torch.Tensor:
        """Of ``h[stage + 1]``: shape ``(..., words)``; column ``j`` is of id ``short_list[j]``."""
        return self.head[self._copy(stage)](h)

    def token_ids(self, columns: torch.Tensor) -> torch.Tensor:
        """The token ids that columns of the logits stand for."""
        return columns if self.short_list is None else self.short_list[columns]

    def columns(self, tokens: Sequence[int]) -> list[int]:
        """Where those of ``tokens`` that can be proposed stand in the logits, each once."""
        ids = torch.tensor(sorted(set(tokens)), dtype=torch.long)
        if self.short_list is None:
            return ids[ids < self.config.words].tolist()
        return torch.isin(self.short_list.cpu(), ids).nonzero().flatten().tolist()

    def _copy(self, stage: int) -> int:
        return 0 if self.config.tie_weights else stage

    # -- teacher-forced ----------------------------------------------------------------------

    def forward(self, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of all heads where every token before them is given (training).

        Args:
            states: the target's, shape ``(..., emb_dim)``.
            tokens: ids of shape ``(..., heads)``: the token chosen from the state, and those after it.

        Returns:
            Shape ``(heads, ..., words)``; head ``i`` speaks of the token after ``tokens[..., i]``.
        """
        return torch.stack(list(self.each_head(states, tokens)))

    def each_head(self, states: torch.Tensor, tokens: torch.Tensor) -> Iterator[torch.Tensor]:
        """The logits of one head after the other; see :meth:`forward`."""
        h = self.begin(states)
        for stage in range(tokens.shape[-1]):
            h = self.advance(stage, h, tokens[..., stage])
            yield self.logits(stage, h)


class ScaledShift(nn.Module):
    """What published checkpoints call ``ln``: an RMS norm with a learned gain and shift."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm(x) * self.weight + self.bias


def rms_norm(x: torch.Tensor) -> torch.Tensor:
    """``x`` over its root mean square; the mean is not subtracted, and nothing is learned."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)


def parameter_count(config: SpeculatorConfig) -> int:
    """Number of weights of such a speculator; nothing is allocated."""
    with torch.device("meta"):
        return sum(p.numel() for p in Speculator(config).parameters())


def with_short_list(speculator: Speculator, listed: Sequence[int]) -> Speculator:
    """The same speculator whose output layers know only the token ids ``listed``.

    Raises:
        ModelError: an id is not among those the speculator can propose.
    """
    config = speculator.config
    known = range(config.vocab_size) if config.short_list is None else config.short_list
    column = {token: i for i, token in enumerate(known)}
    wanted = tuple(sorted(set(listed)))
    if missing := [token for token in wanted if token not in column]:
        raise ModelError(
            f"token {missing[0]} is not among the {len(column)} the speculator can propose"
        )
    shorter = Speculator(replace(config, short_list=wanted))
    shorter.to(next(speculator.parameters()))
    rows = torch.tensor([column[token] for token in wanted])
    weights = speculator.state_dict()
    for name, weight in weights.items():
        if name.startswith("head."):
            weights[name] = weight[rows.to(weight.device)]
    shorter.load_state_dict(weights)
    return shorter
