"""transformers' assisted generation with the same two models, in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from amusd_viz.bench.sample import Sample
from amusd_viz.errors import EngineError
from amusd_viz.models.pairs import Pair

_LOADING_S, _DECODING_S = 900.0, 900.0


class Assisted:
    """Both models in one process, on all the cores it may use or on the first GPU.

    Args:
        pair: draft and target.
        dtype: as of the engine's runs.
        device: as torch names it.

    Raises:
        EngineError: the process could not load the models.
    """

    def __init__(self, pair: Pair, dtype: str, device: str = "cpu") -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, pair, dtype, device), daemon=True
        )
        self._process.start()
        theirs.close()
        self._answer(_LOADING_S)

    def decode(
        self, prompt_ids: Sequence[int], end_tokens: Sequence[int], tokens: int, prompt: int
    ) -> Sample:
        """Decodes greedily; prefill ends with the first tokens, decode with the last."""
        self._pipe.send((list(prompt_ids), list(end_tokens), tokens))
        ids, times = self._answer(_DECODING_S)
        start, first = times[0][0], times[1]
        last = next(t for t, count in times if count == len(ids))
        return Sample(
            method="assisted",
            prompt=prompt,
            token_ids=tuple(ids),
            prefill_seconds=first[0] - start,
            decode_seconds=last - first[0],
            decoded=len(ids) - first[1],
        )

    def close(self) -> None:
        """Ends the process."""
        self._pipe.close()
        self._process.join(2)
        if self._process.is_alive():
            self._process.kill()

    def _answer(self, patience_s: float) -> Any:
        try:
            if not self._pipe.poll(patience_s):
                raise EngineError(f"transformers' loop gave no answer within {patience_s:.0f} s")
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise EngineError(
                "the process of transformers' loop is gone; is memory short?"
            ) from None
        if isinstance(answer, str):
            raise EngineError(f"transformers' assisted generation failed: {answer}")
        return answer


def _serve(pipe: Connection, pair: Pair, dtype: str, device: str) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import torch

        from amusd_viz.machine import usable_cores
        from amusd_viz.models.kernels import torch_dtype
        from amusd_viz.models.loading import load_model
        from amusd_viz.models.quiet import quiet_transformers

        torch.set_num_threads(len(usable_cores()))
        torch.set_grad_enabled(False)
        # Where torch only emulates bf16 it would be slowed down for nothing.
        dtype = torch_dtype(device) if dtype == "bf16" else dtype
        draft, target = (load_model(m, device, dtype) for m in (pair.draft, pair.target))
        pipe.send(())
        with quiet_transformers():
            while True:
                pipe.send(_generated(draft, target, device, *pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {str(error)[:300]}")


def _generated(
    draft: Any, target: Any, device: str, prompt: list[int], ends: list[int], tokens: int
) -> tuple[list[int], list[tuple[float, int]]]:
    """The new ids, and after each step the time and how many there were."""
    import torch
    from transformers import StoppingCriteria, StoppingCriteriaList

    times = [(time.perf_counter(), 0)]

    class Clock(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, scores: Any, **more: Any) -> torch.Tensor:
            times.append((time.perf_counter(), input_ids.shape[1] - len(prompt)))
            return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    output = target.generate(
        torch.tensor([prompt], device=device),
        attention_mask=torch.ones((1, len(prompt)), dtype=torch.long, device=device),
        assistant_model=draft,
        do_sample=False,
        max_new_tokens=tokens,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
        stopping_criteria=StoppingCriteriaList([Clock()]),
    )
    ids = output[0, len(prompt) :].tolist()
    times.append((time.perf_counter(), len(ids)))
    return ids, times
