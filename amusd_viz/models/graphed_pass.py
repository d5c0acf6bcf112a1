"""A pass of one fixed shape as a CUDA graph: recorded once, then started by a single call.

A small model's pass on a GPU is hundreds of kernels of some microseconds each, and starting them one by
one from Python takes longer than running them. A graph starts them all at once. They are the same
kernels, so the logits are those of the plain pass to the bit; that is tried before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import torch

WARM_UP = 3
"""Passes before the recording, in which libraries choose and prepare what they use."""


class PassInputs(NamedTuple):
    """What a pass reads, all on its device.

    Attributes:
        ids: tokens of its rows, ``(1, rows)``.
        places: their positions in the text, ``(1, rows)``.
        entries: their entries of the KV cache, ``(rows,)``.
        mask: what each row attends to, ``(1, 1, rows, cache length)``.
    """

    ids: torch.Tensor
    places: torch.Tensor
    entries: torch.Tensor
    mask: torch.Tensor


Compute = Callable[[PassInputs], tuple[torch.Tensor, torch.Tensor]]
"""From the inputs of a pass to its logits ``(rows, V)`` and the states they come from."""
Capture = Callable[[Callable[[], None]], Callable[[], None]]
"""Records what a function starts on a device; the result starts the same again."""


def cuda_graph(work: Callable[[], None]) -> Callable[[], None]:
    """Records the kernels that ``work`` starts on the current CUDA device.

    Raises:
        RuntimeError: it does something that cannot be recorded, such as waiting for the GPU.
    """
    here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            work()
    here.wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def capture_for(device: torch.device) -> Capture | None:
    """How passes are recorded on a device; ``None`` where they are not.

    ``AMUSD_VIZ_GRAPHS=0`` does without it.
    """
    if device.type != "cuda" or os.environ.get("AMUSD_VIZ_GRAPHS") == "0":
        return None

    def capture(work: Callable[[], None]) -> Callable[[], None]:
        with torch.cuda.device(device):
            return cuda_graph(work)

    return capture


class GraphedPass:
    """One pass, recorded. Called with other inputs of the same shapes it computes them.

    Args:
        compute: the pass; everything else that it reads stays where it is.
        example: inputs to record it with.
        capture: how it is recorded.

    Raises:
        RuntimeError: it cannot be recorded.
    """

    def __init__(self, compute: Compute, example: PassInputs, capture: Capture) -> None:
        self._inputs = PassInputs(*(one.clone() for one in example))

        def work() -> None:
            self._outputs = compute(self._inputs)

        self._replay = capture(work)

    def __call__(self, inputs: PassInputs) -> tuple[torch.Tensor, torch.Tensor]:
        for kept, given in zip(self._inputs, inputs, strict=True):
            kept.copy_(given)
        self._replay()
        logits, states = self._outputs
        # The next pass writes into the same memory.
        return logits.clone(), states.clone()

    def agrees(self, compute: Compute, inputs: PassInputs) -> bool:
        """Whether it gives what ``compute`` gives, to the bit."""
        pairs = zip(self(inputs), compute(inputs), strict=True)
        return all(torch.equal(ours, plain) for ours, plain in pairs)
