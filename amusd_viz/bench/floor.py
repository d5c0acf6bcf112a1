"""How near a forward comes to its floor: reading its weights once, as fast as memory allows."""

from __future__ import annotations

import json
import os
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection

import msgspec

from amusd_viz import events as ev
from amusd_viz.engine.devices import Device
from amusd_viz.models.pairs import ModelSource

_COPIED = 256 << 20
_TRIES = 7
_ITEMSIZE = {"bf16": 2, "fp16": 2, "fp32": 4}
_BYTES_A_WEIGHT = {4: 0.5 + 4 / 32, 8: 1.0}
"""Of a twin's layers: 4 bits and a scale and an offset of 16 bits for 32 of them; or 8 bits."""


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """One model's step beside its floor."""

    weight_bytes: int
    """Read by each step."""
    bandwidth: float
    """Bytes a second of a large copy on the device's cores, read and written ones counted."""
    floor_ms: float
    step_ms: float
    """The median step or pass of the benchmark's runs."""

    @property
    def ratio(self) -> float:
        return self.step_ms / self.floor_ms


def floor_of(
    source: ModelSource, model: ev.Model, dtype: str, bandwidth: float, ms: float
) -> Floor:
    """The floor of a model's step that took ``ms``."""
    weights = streamed_bytes(source, model.parameters, dtype)
    return Floor(
        weight_bytes=weights,
        bandwidth=bandwidth,
        floor_ms=weights / bandwidth * 1e3,
        step_ms=ms,
    )


def streamed_bytes(source: ModelSource, parameters: int, dtype: str) -> int:
    """Bytes of weights that one step reads: all but the table of embeddings it only looks into."""
    config = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))
    head = config.get("vocab_size", 0) * config.get("hidden_size", 0)
    tied = config.get("tie_word_embeddings", True)
    layers = max(0, parameters - head * (1 if tied else 2))
    if source.bits:
        finer = source.last_in_8_bits / config.get("num_hidden_layers", 1)
        a_weight = (1 - finer) * _BYTES_A_WEIGHT[source.bits] + finer * _BYTES_A_WEIGHT[8]
        return round(layers * a_weight + head)
    return (layers + head) * _ITEMSIZE[dtype]


def bandwidth_of(device: Device) -> float | None:
    """Bytes a second of a large copy on the cores of ``device``; ``None`` on a GPU."""
    if device.gpu is not None:
        return None
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_copy, args=(theirs, device.cores), daemon=True)
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(60) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _copy(pipe: Connection, cores: tuple[int, ...]) -> None:
    """A copy by as many threads as cores; the fastest of some tries."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    count = max(1, len(cores))
    source = np.ones((count, _COPIED // count), dtype=np.uint8)
    target = np.zeros_like(source)
    seconds = []
    with ThreadPoolExecutor(count) as pool:
        for _ in range(_TRIES):
            start = time.perf_counter()
            list(
                pool.map(np.copyto, target, source)
            )  # NumPy copies without the interpreter's lock.
            seconds.append(time.perf_counter() - start)
    pipe.send(2 * source.nbytes / min(seconds))
