"""From a model's folder to a model on a device, in the numbers it computes with."""

from __future__ import annotations

import torch

from amusd_viz.errors import ModelError, SettingError
from amusd_viz.models.pairs import ModelSource
from amusd_viz.models.quiet import quiet_transformers
from amusd_viz.models.twin import make_twin

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp16": torch.float16}


def read_model(source: ModelSource, device: str, dtype: str) -> torch.nn.Module:
    """Reads the weights of a model as they are, for inference.

    Args:
        source: where it is.
        device: as torch names it.
        dtype: ``"bf16"``, ``"fp32"`` or ``"fp16"``.

    Raises:
        ModelError: the weights cannot be read, or the model does not attend to all it has read.
        SettingError: an unknown dtype.
    """
    from transformers import AutoModelForCausalLM

    if dtype not in DTYPES:
        raise SettingError(f"dtype {dtype!r} is unknown; use one of {', '.join(DTYPES)}")
    with quiet_transformers():
        try:
            model = AutoModelForCausalLM.from_pretrained(source.folder, dtype=DTYPES[dtype])
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ModelError(f"{source.name} cannot be loaded: {reason[:300]}") from None
    _check_attention(source.name, model)
    return model.to(device).eval().requires_grad_(False)


def load_model(source: ModelSource, device: str, dtype: str) -> torch.nn.Module:
    """Reads a model and, if its source says so, rounds it to a few bits (which compute in bf16).

    Raises:
        ModelError, PairError, SettingError: as :func:`read_model`; a layer no twin can be made of.
    """
    if not source.bits:
        return read_model(source, device, dtype)
    return rounded(read_model(source, device, "fp32"), source)


def rounded(model: torch.nn.Module, source: ModelSource) -> torch.nn.Module:
    """A model in the few bits that its source asks for."""
    assert source.bits is not None, "asked to round a model that stays as it is"
    return make_twin(model, source.bits, last_in_8_bits=source.last_in_8_bits)


def _check_attention(name: str, model: torch.nn.Module) -> None:
    """A rollback moves a pointer; that is only right where nothing behind the pointer is lost."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds - {"full_attention"}:
        raise ModelError(
            f"{name} has layers of kind {', '.join(sorted(kinds - {'full_attention'}))}, which cannot "
            "be rolled back; choose a model whose layers all use full attention"
        )


def parameter_count(model: torch.nn.Module) -> int:
    """Number of weights, tied ones once; of a twin, those it was made of."""
    seen = {p.data_ptr(): p.numel() for p in model.parameters()}
    low_bit = sum(
        m.out_features * m.scales_and_offsets.shape[0] * 32
        if hasattr(m, "scales_and_offsets")
        else m.weight.numel()
        for m in model.modules()
        if hasattr(m, "scales_and_offsets") or hasattr(m, "scales")
    )
    return sum(seen.values()) + low_bit
