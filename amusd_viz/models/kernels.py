"""How a model is computed on a device: in C, by torch with packed weights, or by torch as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.loading import DTYPES, parameter_count, read_model, rounded
from amusd_viz.models.native.native_lm import NativeLM
from amusd_viz.models.native.weights import KINDS, TWIN_KINDS, NativeWeights, can_run
from amusd_viz.models.packed import can_pack, pack_linears
from amusd_viz.models.pairs import ModelSource

LanguageModel = CausalLM | NativeLM
"""One sequence of one model with its KV cache."""


class WithCache(Protocol):
    """Gives a model a KV cache."""

    def __call__(self, length: int, state_layer: int | None = None) -> LanguageModel: ...


@dataclass(frozen=True)
class LoadedModel:
    """A model on its device.

    Attributes:
        dtype: of the weights.
        kernel: ``"native"`` (llama.c: sums in fp32, rows of any number equal to the bit),
            ``"packed"`` (torch, weights laid out once) or ``"eager"`` (torch).
        parameters: number of weights.
        with_cache: gives it a KV cache of some length, in tokens; its states hold those of a layer too,
            if one is named (:mod:`amusd_viz.models.states`).
        embedding: its input embedding, ``(vocabulary, width)``.
    """

    dtype: str
    kernel: str
    parameters: int
    with_cache: WithCache
    embedding: torch.Tensor


def load(
    source: ModelSource,
    device: str = "cpu",
    dtype: str | None = None,
    *,
    rows: int | None = None,
    threads: int = 1,
) -> LoadedModel:
    """Loads a model and chooses the fastest kernel it can run on.

    Args:
        source: where it is, and whether it is rounded to a few bits.
        device: as torch names it.
        dtype: ``"bf16"``, ``"fp32"`` or ``"fp16"``; by default bf16 where some kernel here computes
            it without emulation, else fp32.
        rows: rows of every pass of a target; ``None`` for a draft.
        threads: cores of a CPU device.

    Raises:
        ModelError, PairError, SettingError: see :func:`~amusd_viz.models.loading.load_model`.
    """
    read_as = "fp32" if source.bits or dtype is None else dtype
    model = read_model(source, device, read_as)
    if dtype != "fp16" and can_run(model):
        return _native(model, source, dtype or "bf16", rows, threads)
    dtype = dtype or torch_dtype(device)
    model = rounded(model, source) if source.bits else model.to(DTYPES[dtype])
    parameters = parameter_count(model)
    packed = rows is not None and can_pack(model)
    if packed:
        pack_linears(model, rows)
    return LoadedModel(
        dtype="bf16" if source.bits else dtype,
        kernel="packed" if packed else "eager",
        parameters=parameters,
        with_cache=lambda length, state_layer=None: CausalLM(model, length, rows, state_layer),
        embedding=model.get_input_embeddings().weight,
    )


def _native(
    model: torch.nn.Module, source: ModelSource, dtype: str, rows: int | None, threads: int
) -> LoadedModel:
    layers, head = TWIN_KINDS[source.bits] if source.bits else KINDS[dtype]
    weights = NativeWeights.of(model, layers, head, last_in_8_bits=source.last_in_8_bits)
    return LoadedModel(
        dtype=dtype,
        kernel="native",
        parameters=parameter_count(model),
        with_cache=lambda length, state_layer=None: NativeLM(
            weights, length, rows, threads, state_layer
        ),
        embedding=weights.embedding,
    )


def torch_dtype(device: str) -> str:
    """``bf16`` where torch computes it natively on the device, else ``fp32``."""
    if device.startswith("cuda"):
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if native else "fp32"
