"""The bridge: one layer in place of all the target's layers that a draft leaves out, fitted at once.

The target's last layers expect states that only the layers before them make; straight after the
borrowed layers they understand little. A ridge regression on some texts says what the left out layers
would add to a state. It fits into an ordinary layer, so that a draft stays an ordinary model:

* the attention is that of the target's layer after the borrowed ones, which reads just such states;
* the first ``hidden`` inner units of the MLP pass its input on: their ``up`` is the identity, and their
  gates look along one direction in which all normed states are about 1, so that they stand equally open;
* ``down`` is what the regression finds, from what these units really compute;
* the other inner units stay that layer's own, those that do most, but add nothing until trained.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from amusd_viz.errors import SettingError
from amusd_viz.training.tail import Shape, Tail

POSITIONS = 12_000
"""So many are fitted to; twice as many hardly change anything."""
RIDGE = 30.0
OPEN = 6.0
"""What the gates that pass on see: silu(6) is 5.99, and around there it is a straight line."""


@torch.no_grad()
def fit_bridge(tail: Tail, target: nn.Module, states: Sequence[torch.Tensor]) -> None:
    """Fits the first layer of ``tail`` to lead to where its second one starts.

    The same states give the same weights.

    Args:
        tail: with a bridge; only that layer changes.
        target: the model it was made of.
        states: of some texts, the borrowed layers' states, ``(tokens, width)``.

    Raises:
        SettingError: the target's layers have no gated MLP that is wide enough.
    """
    layer = tail.decoder.layers[0]
    width = layer.post_attention_layernorm.weight.numel()
    inner = _inner_units(layer)
    if inner < width:
        raise SettingError(
            f"a bridge needs layers with a gated MLP of at least {width} inner units; these have "
            f"{inner}: distil without one (--no-bridge)"
        )
    shape = tail.shape
    between = Tail(
        target, Shape(shape.borrowed, tuple(range(shape.borrowed, shape.trained[0] + 1)))
    )
    some = _first_positions(states)
    reached = torch.cat([_seen_by(layer.post_attention_layernorm, tail, text) for text in some])
    wanted = torch.cat([_seen_by(between.decoder.layers[-1], between, text) for text in some])
    norm = layer.post_attention_layernorm.weight
    layer.mlp.gate_proj.weight.mul_(norm)
    layer.mlp.up_proj.weight.mul_(norm)
    norm.fill_(1)
    normed = layer.post_attention_layernorm(reached)
    _set_units(layer.mlp, normed)
    _solve(layer.mlp, normed, wanted - reached)


def _inner_units(layer: nn.Module) -> int:
    gate = getattr(getattr(layer, "mlp", None), "gate_proj", None)
    return gate.out_features if isinstance(gate, nn.Linear) else 0


def _first_positions(states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    some: list[torch.Tensor] = []
    for text in states:
        some.append(text)
        if sum(map(len, some)) >= POSITIONS:
            break
    return some


def _seen_by(module: nn.Module, tail: Tail, text: torch.Tensor) -> torch.Tensor:
    """What a module inside ``tail`` is given for one text, ``(tokens, width)``."""
    seen: list[torch.Tensor] = []
    hook = module.register_forward_pre_hook(lambda _, given: seen.append(given[0][0].clone()))
    try:
        tail([text])
    finally:
        hook.remove()
    return seen[0]


def _set_units(mlp: nn.Module, normed: torch.Tensor) -> None:
    """Makes the first inner units pass on, and keeps the others that do most."""
    width = normed.shape[1]
    down = mlp.down_proj.weight
    size = _computed(mlp, normed).square().mean(dim=0).sqrt() * down.norm(dim=0)
    kept = size.argsort(descending=True)[: len(size) - width].sort().values
    along = _ridge(normed, torch.ones(len(normed), 1)).T
    gates = OPEN * along.expand(width, -1)
    mlp.gate_proj.weight.copy_(torch.cat([gates, mlp.gate_proj.weight[kept]]))
    mlp.up_proj.weight.copy_(torch.cat([torch.eye(width), mlp.up_proj.weight[kept]]))
    down.zero_()


def _solve(mlp: nn.Module, normed: torch.Tensor, wanted: torch.Tensor) -> None:
    """Finds ``down`` of the units that pass on.

    Its columns are evened out at the expense of ``up``: they are stored in few bits, many with one scale.
    """
    width = normed.shape[1]
    passed = _computed(mlp, normed)[:, :width]
    down = _ridge(passed / OPEN, wanted).T / OPEN
    size = down.norm(dim=0).clamp_min(1e-6)
    even = size.log().mean().exp() / size
    mlp.down_proj.weight[:, :width] = down * even
    mlp.up_proj.weight[:width] /= even[:, None]


def _computed(mlp: nn.Module, normed: torch.Tensor) -> torch.Tensor:
    """The inner units' values, ``(tokens, inner)``."""
    return mlp.act_fn(mlp.gate_proj(normed)) * mlp.up_proj(normed)


def _ridge(given: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Weights that make ``given @ weights`` close to ``wanted``."""
    square = (given.T @ given).double()
    square.diagonal().add_(RIDGE)
    return torch.linalg.solve(square, (given.T @ wanted).double()).float()
