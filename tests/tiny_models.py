"""Two tiny models with one tokenizer, made on the spot: the engine's tests in milliseconds a token.

The draft is the target with noise on its weights, so it is right about half of the time.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = 300


def save_tiny_pair(
    folder: Path, *, seed: int = 0, noise: float = 0.02, layers: int = 2
) -> tuple[Path, Path]:
    """Saves a draft and a target under ``folder`` and returns both folders."""
    torch.manual_seed(seed)
    target = LlamaForCausalLM(_config(layers))
    # Larger weights than the initialiser's, so that choices depend on what was read.
    for weight in target.parameters():
        if weight.dim() > 1:
            weight.data.mul_(6)
    draft = LlamaForCausalLM(_config(layers))
    draft.load_state_dict(target.state_dict())
    for weight in draft.parameters():
        weight.data += noise * torch.randn_like(weight) * weight.std(unbiased=False)
    tokenizer = word_tokenizer()
    for name, model in (("draft", draft), ("target", target)):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder / "draft", folder / "target"


def word_tokenizer(words: int = WORDS) -> PreTrainedTokenizerFast:
    """A tokenizer of ``words`` made-up words, the bytes of ASCII and an end token."""
    entries = ["<end>", "<unk>"] + [f"w{i}" for i in range(words - 2)]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(entries)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unk>")


def _config(layers: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=WORDS,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        eos_token_id=0,
        bos_token_id=None,
        pad_token_id=0,
    )
