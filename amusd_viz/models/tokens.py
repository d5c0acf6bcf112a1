"""Between text and token ids: prompts in, texts of single tokens and of whole outputs out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amusd_viz.errors import ModelError, PromptError, SettingError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


Chat = Sequence[Mapping[str, str]]
"""Messages with ``role`` and ``content``."""


def shown_prompt(prompt: str | Chat) -> str:
    """A prompt as text for people: a chat's last message."""
    return prompt if isinstance(prompt, str) else str(prompt[-1]["content"])


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a saved model.

    Raises:
        ModelError: the folder has none that can be read.
    """
    from transformers import AutoTokenizer

    from amusd_viz.models.quiet import quiet_transformers

    with quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(folder)
        except Exception as error:
            raise ModelError(f"the tokenizer in {folder} cannot be read: {error}") from None


class Tokens:
    """The tokenizer of a pair, its end tokens and its limits.

    Attributes:
        end_tokens: ids after which a text is over.
        vocabulary: number of real token ids.
        context: longest sequence the model was made for, in tokens.
        has_chat_template: whether prompts can be put as a user's message.
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)
        self.end_tokens = _end_tokens(folder, self._tokenizer.eos_token_id)
        self.vocabulary = len(self._tokenizer)
        self.context = _context(folder)
        self.has_chat_template = bool(self._tokenizer.chat_template)
        self._texts: dict[int, str] = {}

    def encode(self, prompt: str | Chat, *, chat: bool | None = None) -> list[int]:
        """Token ids of a prompt.

        Args:
            prompt: the text; or a chat, whose messages have a ``role`` and a ``content`` each.
            chat: put it as a user's message by the model's chat template; by default if it has one.

        Raises:
            PromptError: the prompt is empty.
            SettingError: ``chat`` is asked for and the model has no template.
        """
        if not isinstance(prompt, str):
            return self._encode_chat(prompt)
        if not prompt.strip():
            raise PromptError("the prompt is empty; write something for the model to continue")
        if chat and not self.has_chat_template:
            raise SettingError("this model has no chat template; use chat=False (--no-chat)")
        if chat is None:
            chat = self.has_chat_template
        if not chat:
            return list(self._tokenizer.encode(prompt))
        return self._encode_chat([{"role": "user", "content": prompt}])

    def user_turn(self, opening: str = "") -> list[int]:
        """Token ids of the chat template up to where the user speaks, and the user's first words.

        Raises:
            SettingError: this model has no chat template.
        """
        if not self.has_chat_template:
            raise SettingError("this model has no chat template, so it takes no user's words")
        said = "the user's words"
        whole = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": said}], tokenize=False
        )
        head = str(whole).partition(said)[0]
        return list(self._tokenizer.encode(head + opening, add_special_tokens=False))

    def _encode_chat(self, messages: Chat) -> list[int]:
        if not self.has_chat_template:
            raise SettingError("this model has no chat template; give the prompt as one text")
        if not messages:
            raise PromptError("the chat is empty; give it one message or more")
        try:
            ids = self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, return_dict=False
            )
        except Exception as error:  # Templates raise whatever they like about an order of roles.
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise PromptError(
                f"the model's chat template refuses these messages: {reason[0][:200]}"
            ) from None
        return list(ids)

    def text(self, ids: Iterable[int]) -> str:
        """The text of an output, without end tokens and other special ones."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def token_text(self, token: int) -> str:
        """The text of one token by itself; part of a character shows as its bytes, such as ⟨E2 80⟩."""
        text = self._texts.get(token)
        if text is None:
            text = self._texts[token] = self._one(token)
        return text

    def token_texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.token_text(i) for i in ids)

    def _one(self, token: int) -> str:
        text = str(self._tokenizer.decode([token]))
        if "\ufffd" not in text:
            return text
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        codes = [_BYTE_OF.get(c) for c in piece]
        if all(c is not None for c in codes):
            return "⟨" + " ".join(f"{c:02X}" for c in codes) + "⟩"
        return piece


def _byte_alphabet() -> dict[str, int]:
    """The printable characters by which byte-level BPE writes the 256 bytes (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in printable}
    rest = (b for b in range(256) if b not in set(printable))
    return table | {chr(256 + i): b for i, b in enumerate(rest)}


_BYTE_OF = _byte_alphabet()


def _end_tokens(folder: Path, tokenizers_own: int | None) -> frozenset[int]:
    found = {tokenizers_own}
    for name in ("generation_config.json", "config.json"):
        if (folder / name).is_file():
            value = json.loads((folder / name).read_text(encoding="utf-8")).get("eos_token_id")
            found |= set(value) if isinstance(value, list) else {value}
    return frozenset(i for i in found if i is not None)


def _context(folder: Path) -> int:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return int(config.get("max_position_embeddings") or config.get("n_positions") or 1 << 17)
