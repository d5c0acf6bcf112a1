"""Pairs of the Hugging Face hub that people try first, under short names, and what each needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HubPair:
    """Two models of one family.

    Attributes:
        draft, target: their names on the hub.
        weights_gb: of both together in 16 bits (10^9 bytes): what is fetched, and about what both
            devices need.
        needs: a sentence on devices and licences.
    """

    draft: str
    target: str
    weights_gb: float
    needs: str


HUB_PAIRS = {
    "smollm2": HubPair(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct",
        3.7,
        "a CPU with 8 GB of memory, slowly; any GPU. Apache-2.0, no account needed",
    ),
    "smollm2-360m": HubPair(
        "HuggingFaceTB/SmolLM2-360M-Instruct",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct",
        4.1,
        "a CPU with 8 GB of memory, slowly; any GPU. Apache-2.0, no account needed",
    ),
    "qwen2.5": HubPair(
        "Qwen/Qwen2.5-0.5B-Instruct",
        "Qwen/Qwen2.5-7B-Instruct",
        16.2,
        "two GPUs, the target's with 24 GB, or one with 24 GB. Apache-2.0, no account needed",
    ),
    "qwen2.5-coder": HubPair(
        "Qwen/Qwen2.5-Coder-0.5B-Instruct",
        "Qwen/Qwen2.5-Coder-7B-Instruct",
        16.2,
        "two GPUs, the target's with 24 GB, or one with 24 GB. Apache-2.0, no account needed",
    ),
    "qwen2.5-3b": HubPair(
        "Qwen/Qwen2.5-0.5B-Instruct",
        "Qwen/Qwen2.5-3B-Instruct",
        7.2,
        "one GPU with 12 GB, or a CPU with 16 GB of memory. The target's licence is for research",
    ),
    "llama3": HubPair(
        "meta-llama/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-3.1-8B-Instruct",
        18.5,
        "two GPUs, the target's with 24 GB: the paper's pair. Accept Meta's licence on both pages of "
        "the hub, then 'hf auth login'",
    ),
}
