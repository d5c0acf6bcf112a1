"""Many texts at once: a batch of slots, each with a text of its own length and temperature.

When a text ends, its slot takes the next prompt, so that every pass is full. What a text becomes
depends on its own seed alone, apart from the last bits of a sum that differ with the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from transformers import AttentionInterface, Cache, DynamicCache
from transformers.cache_utils import StaticLayer

from amusd_viz.protocol import plan_cache

TOP = 12
"""How many of the target's most probable tokens are kept at each position."""


Asked = tuple[int, list[int], float]
"""A prompt: its number, its token ids, and the temperature its answer is drawn at."""


class Rows:
    """Rows that are added one by one, in one piece of memory: thousands of tiny tensors would
    scatter the heap that the large ones of a pass come from.

    Args:
        most: rows that will fit.
        width: of a row.
        dtype: of its numbers.
    """

    def __init__(self, most: int, width: int, dtype: torch.dtype) -> None:
        self._held = torch.empty(most, width, dtype=dtype)
        self._count = 0

    def add(self, rows: torch.Tensor) -> None:
        """Adds ``(width,)`` or ``(rows, width)``, converted to what is kept."""
        rows = rows.view(-1, self._held.shape[1])
        self._held[self._count : self._count + len(rows)] = rows
        self._count += len(rows)

    @property
    def tensor(self) -> torch.Tensor:
        """All rows so far, ``(rows, width)``."""
        return self._held[: self._count]


@dataclass(frozen=True)
class Reading:
    """The prompt that was read last: what the next one shares with it is not read again.

    Attributes:
        ids: of the prompt.
        layers: keys and values of every layer, ``(1, heads, tokens, head size)`` each.
        taps: by number of layers, the states after so many, ``(tokens, width)``.
    """

    ids: list[int]
    layers: list[tuple[torch.Tensor, torch.Tensor]]
    taps: dict[int, torch.Tensor]

    def first(self, count: int) -> DynamicCache:
        """A cache that holds the first ``count`` tokens."""
        cache = DynamicCache()
        if count:
            for layer, (keys, values) in enumerate(self.layers):
                cache.update(keys[:, :, :count], values[:, :, :count], layer)
        return cache


@dataclass
class Answer:
    """One text in the making, and all that a draft can learn from it.

    Attributes:
        index: number of its prompt.
        prompt: token ids of the prompt, N of them.
        tokens: token ids of the answer so far, T of them; an end token is among them.
        top_ids: the target's best tokens for each of them, ``(T, TOP)``.
        top_logprobs: their log-probabilities at temperature 1.
        final: what the output layer read to predict each token, ``(T, width)``.
        taps: by number of layers, the states after so many, one for each token that was fed,
            ``(N + T - 1, width)``.
    """

    index: int
    prompt: list[int]
    temperature: float
    rng: torch.Generator = field(repr=False)
    top_ids: Rows = field(repr=False)
    top_logprobs: Rows = field(repr=False)
    final: Rows = field(repr=False)
    taps: dict[int, Rows] = field(repr=False)
    tokens: list[int] = field(default_factory=list)


class BatchDecoder:
    """Decodes prompts with one model, ``slots`` at a time.

    Args:
        model: a transformers causal LM; its attention is replaced.
        slots: rows of a pass.
        longest: entries of a slot's cache; prompt and answer must fit.
        end_tokens: ids after which a text is over.
        max_new_tokens: length limit of an answer.
        taps: after how many layers the states are kept.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        slots: int,
        longest: int,
        end_tokens: frozenset[int],
        max_new_tokens: int,
        taps: Sequence[int] = (),
    ) -> None:
        model.config._attn_implementation = GROUPED
        self.model = model
        self.slots = slots
        self.longest = longest
        self.end_tokens = end_tokens
        self.max_new_tokens = max_new_tokens
        self.taps = tuple(taps)
        self._lengths = torch.zeros(slots, dtype=torch.long)
        layers = model.config.get_text_config().num_hidden_layers
        self._layers = [SlotLayer(longest, self) for _ in range(layers)]
        self._cache = Cache(layers=self._layers)
        self._read = Reading([], [], {})
        self._span = torch.arange(longest)
        self._head = model.get_output_embeddings()
        self._width = model.config.get_text_config().hidden_size

    @torch.inference_mode()
    def answers(self, asked: Iterable[Asked]) -> Iterator[Answer]:
        """Finished texts, in the order in which they end.

        Args:
            asked: prompts, taken when there is a free slot.
        """
        source = iter(asked)
        held: list[Answer | None] = [None] * self.slots
        while True:
            free = [slot for slot, answer in enumerate(held) if answer is None]
            # Prompts are cheapest to read several at a time.
            if len(free) >= max(1, self.slots // 12):
                for slot, item in zip(free, source, strict=False):
                    held[slot] = self._begin(slot, *item)
            active = [slot for slot, answer in enumerate(held) if answer is not None]
            if not active:
                return
            for slot in active:
                if self._is_over(held[slot]):
                    yield held[slot]
                    held[slot] = None
            self._step(held)

    def _is_over(self, answer: Answer) -> bool:
        return (
            answer.tokens[-1] in self.end_tokens
            or len(answer.tokens) >= self.max_new_tokens
            or len(answer.prompt) + len(answer.tokens) >= self.longest
        )

    def _begin(self, slot: int, index: int, prompt: list[int], temperature: float) -> Answer:
        """Reads a prompt into a slot and takes the first token of its answer."""
        most, width = self.max_new_tokens, self._width
        answer = Answer(
            index,
            prompt,
            temperature,
            torch.Generator().manual_seed(index),
            top_ids=Rows(most, TOP, torch.int32),
            top_logprobs=Rows(most, TOP, torch.float16),
            final=Rows(most, width, torch.float16),
            taps={tap: Rows(len(prompt) + most, width, torch.float16) for tap in self.taps},
        )
        self._lengths[slot] = len(prompt)
        last = self._read_prompt(prompt)
        for ours, (keys, values) in zip(self._layers, self._read.layers, strict=True):
            ours.put(slot, keys, values)
        for tap in self.taps:
            answer.taps[tap].add(self._read.taps[tap])
        self._take([answer], last)
        return answer

    def _read_prompt(self, prompt: list[int]) -> torch.Tensor:
        """Reads a prompt, most of whose template the one before it had too; returns its last state."""
        before, (shared, rest) = self._read, plan_cache(self._read.ids, prompt)
        cache = before.first(shared)
        states = self._states(torch.tensor([rest]), cache=cache)
        taps = {tap: states[tap][0] for tap in self.taps}
        if shared:
            taps = {tap: torch.cat([before.taps[tap][:shared], new]) for tap, new in taps.items()}
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        self._read = Reading(prompt, layers, taps)
        return states[-1][:, -1]

    def _step(self, held: list[Answer | None]) -> None:
        """One pass: every slot is fed its newest token; free slots ride along."""
        active = [slot for slot, answer in enumerate(held) if answer is not None]
        if not active:
            return
        fed = torch.tensor([[0 if a is None else a.tokens[-1]] for a in held])
        reach = int(self._lengths[active].max()) + 1
        mask = (self._span[:reach] <= self._lengths[:, None])[:, None, None]
        self.reach = reach
        states = self._states(
            fed, cache=self._cache, position_ids=self._lengths[:, None], attention_mask=mask
        )
        for tap in self.taps:
            for slot in active:
                held[slot].taps[tap].add(states[tap][slot, 0])
        self._lengths[active] += 1
        self._take([held[slot] for slot in active], states[-1][active, 0])

    def _states(self, ids: torch.Tensor, **how: object) -> tuple[torch.Tensor, ...]:
        """States after 0, 1, ... layers, the last one normed; each ``(rows, tokens, width)``."""
        base = self.model.get_decoder()
        return base(input_ids=ids, use_cache=True, output_hidden_states=True, **how).hidden_states

    def _take(self, answers: list[Answer], final: torch.Tensor) -> None:
        """Chooses the next token of each answer from the states ``(answers, width)``."""
        logits = self._head(final).float()
        top = logits.topk(TOP, dim=-1)
        top_logprobs = top.values - logits.logsumexp(dim=-1, keepdim=True)
        for row, answer in enumerate(answers):
            answer.final.add(final[row])
            answer.top_ids.add(top.indices[row])
            answer.top_logprobs.add(top_logprobs[row])
            if answer.temperature == 0:
                answer.tokens.append(int(top.indices[row, 0]))
            else:
                answer.tokens.append(_sample(logits[row] / answer.temperature, answer.rng))


def _sample(logits: torch.Tensor, rng: torch.Generator) -> int:
    """A token by its probability, from one random number (``multinomial`` draws one a token)."""
    summed = logits.softmax(dim=-1).cumsum(dim=-1)
    drawn = torch.rand(1, generator=rng) * summed[-1]
    return min(int(torch.searchsorted(summed, drawn)), len(logits) - 1)


class SlotLayer(StaticLayer):
    """Keys and values of one layer for all slots; a pass writes one entry in each."""

    def __init__(self, longest: int, batch: BatchDecoder) -> None:
        super().__init__(max_cache_len=longest)
        self._batch = batch
        self._rows = torch.arange(batch.slots)

    def put(self, slot: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Stores what a prompt left, ``(1, heads, tokens, head size)`` each, in one slot."""
        if not self.is_initialized:
            _, heads, _, size = keys.shape
            self.keys = keys.new_zeros(self._batch.slots, heads, self.max_cache_len, size)
            self.values = torch.zeros_like(self.keys)
            self.is_initialized = True
        self.keys[slot, :, : keys.shape[2]] = keys[0]
        self.values[slot, :, : keys.shape[2]] = values[0]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        at = self._batch._lengths
        self.keys[self._rows, :, at] = key_states[:, :, 0]
        self.values[self._rows, :, at] = value_states[:, :, 0]
        reach = self._batch.reach
        return self.keys[:, :, :reach], self.values[:, :, :reach]

    def get_seq_length(self) -> int:
        return int(self._batch._lengths.max())


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Attention in which query heads share keys without copying them (they fill the cache here).

    Args:
        query: ``(batch, heads, rows, size)``.
        key: ``(batch, key heads, entries, size)``; ``value`` alike.
        attention_mask: boolean or additive, ``(batch, 1, rows, entries)``; ``None`` is causal.
    """
    batch, heads, rows, size = query.shape
    shared, entries = key.shape[1:3]
    grouped = (query * scaling).reshape(batch, shared, heads // shared * rows, size)
    scores = (grouped @ key.transpose(-1, -2)).view(batch, shared, -1, rows, entries)
    if attention_mask is None:
        attention_mask = torch.ones(rows, entries, dtype=torch.bool).tril(entries - rows)[
            None, None
        ]
    mask = attention_mask[:, :, None]
    if mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    else:
        scores = scores + mask
    weights = scores.softmax(dim=-1).view(batch, shared, -1, entries)
    mixed = (weights @ value).view(batch, heads, rows, size)
    return mixed.transpose(1, 2), None


GROUPED = "amusd_viz_grouped"
AttentionInterface.register(GROUPED, grouped_attention)
