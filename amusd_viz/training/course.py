"""The training itself: steps in an order that depends on the plan alone, state on disk, a curve."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import msgspec
import torch

from amusd_viz.models.draft_card import Judgement
from amusd_viz.training.four_bits import on_the_grid
from amusd_viz.training.judge import agreement_by_kind, tail_guess
from amusd_viz.training.shards import Text
from amusd_viz.training.soft_labels import SoftLabelLoss, frequent_tokens
from amusd_viz.training.tail import Tail
from amusd_viz.training.work_bar import work_bar

STATE_FILE = "state.pt"
CURVE_FILE = "curve.json"
SAVE_EVERY_S = 240
LAST_SHARE = 0.05
"""Of the highest learning rate, at the end."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a distillation ends with.

    Attributes:
        borrowed: the target's first layers that are kept as they are.
        trained: layers after them, started from the target's last ones.
        bridge: whether a fitted layer leads from the ones to the others; it is trained as well.
        passes: how often the text is read.
        most_tokens: how much of the text is used; ``None`` is all.
        four_bits_from: from this share of the steps on the weights are on the 4-bit grid, on which
            the draft then runs; ``None``: never, and it runs in 8 bits.
        batch_tokens: tokens a step.
        learning_rate: the highest.
        warm_up: steps until then.
        weight_decay: of the matrices.
        state_weight: how much the distance between the states counts, next to the soft labels.
        frequent: tokens of every step's softmax.
        judgements: points of the curve.
        seed: of the order of texts.
        shards: names of the files learnt from; filled in at the start.
    """

    borrowed: int = 12
    trained: int = 4
    bridge: bool = True
    passes: float = 2.0
    most_tokens: int | None = None
    four_bits_from: float | None = None
    batch_tokens: int = 400
    learning_rate: float = 6e-4
    warm_up: int = 20
    weight_decay: float = 0.01
    state_weight: float = 1.0
    frequent: int = 4096
    judgements: int = 8
    seed: int = 0
    shards: tuple[str, ...] = ()


class Course:
    """One distillation.

    Args:
        tail: what is trained.
        head: the output layer's weights, ``(vocabulary, width)``.
        texts: what is learnt from.
        judged: greedy texts of held-out prompts; none for no curve.
        plan: how.
        folder: where the state is kept.
    """

    def __init__(
        self,
        tail: Tail,
        head: torch.Tensor,
        texts: Sequence[Text],
        judged: Sequence[Text],
        plan: Plan,
        folder: Path,
    ) -> None:
        self.tail, self.head, self.plan, self.folder = tail, head, plan, folder
        self.texts, self.judged = texts, judged
        self.batches = _batches(texts, plan)
        self.steps = len(self.batches)
        self.step = 0
        self.ending: int | None = None
        """The step from which on the rate falls to its last value, where the course was shortened."""
        self.tokens = 0
        self.curve: list[Judgement] = []
        self._losses: list[float] = []
        self._stopped = False
        top_ids = torch.cat([text.top_ids for text in texts])
        self._loss = SoftLabelLoss(head, frequent_tokens(top_ids, plan.frequent), plan.state_weight)
        matrices = [p for p in tail.parameters() if p.dim() > 1]
        others = [p for p in tail.parameters() if p.dim() <= 1]
        self._optimizer = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": plan.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            betas=(0.9, 0.95),
            fused=True,
        )

    def end_after(self, steps: int) -> None:
        """Ends the course after so many more steps, over which the rate falls to its last value.

        A course that is under way is shortened so; what was learnt is kept. It stays shortened when
        it is interrupted and resumed.
        """
        if self.ending is None:
            self.ending = self.step
            self.steps = min(self.steps, self.step + steps)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        plan, planned = self.plan, len(self.batches)
        if self.ending is None:
            return plan.learning_rate * _schedule(self.step, plan.warm_up, planned)
        start = _schedule(self.ending, plan.warm_up, planned)
        left = (self.steps - self.step) / (self.steps - self.ending)
        return plan.learning_rate * (LAST_SHARE + (start - LAST_SHARE) * left)

    def weights(self) -> AbstractContextManager[None]:
        """The weights that count at this step: exact ones, or those on the 4-bit grid."""
        begins = self.plan.four_bits_from
        on_grid = begins is not None and self.step >= begins * self.steps
        return on_the_grid(self.tail) if on_grid else nullcontext()

    @property
    def done(self) -> bool:
        return self.step >= self.steps

    def stop(self, *_: object) -> None:
        """Ends after the step under way; the state is kept."""
        self._stopped = True

    def run(self, until_step: int | None = None) -> None:
        """Steps until the plan is done, ``until_step`` is reached or :meth:`stop` is called."""
        last = self.steps if until_step is None else min(until_step, self.steps)
        every = max(1, self.steps // max(1, self.plan.judgements))
        saved = time.monotonic()
        with work_bar("Distilling", total=self.steps, completed=self.step) as bar:
            while self.step < last and not self._stopped:
                self._take_step()
                if self.judged and (self.step % every == 0 or self.done):
                    self._judge()
                    bar.keep(self._line())
                bar.update(self.step, self._line())
                if time.monotonic() - saved > SAVE_EVERY_S:
                    self.save()
                    saved = time.monotonic()
        self.save()

    def _take_step(self) -> None:
        texts = [self.texts[i] for i in self.batches[self.step]]
        for group in self._optimizer.param_groups:
            group["lr"] = self.rate
        self._optimizer.zero_grad(set_to_none=True)
        with self.weights():
            read = self.tail([text.tap for text in texts])
            states = torch.cat([r[len(t.prompt) - 1 :] for r, t in zip(read, texts, strict=True)])
            loss = self._loss(
                states,
                torch.cat([text.final for text in texts]),
                torch.cat([text.top_ids for text in texts]),
                torch.cat([text.top_logprobs for text in texts]),
            )
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.tail.parameters(), 1.0)
        self._optimizer.step()
        self.step += 1
        self.tokens += len(states)
        self._losses.append(loss.item())

    def _judge(self) -> None:
        with self.weights():
            agreed = agreement_by_kind(self.judged, partial(tail_guess, self.tail, self.head))
        loss = sum(self._losses) / len(self._losses)
        self._losses = []
        self.curve.append(
            Judgement(step=self.step, tokens=self.tokens, loss=round(loss, 4), agreed=agreed)
        )

    def _line(self) -> str:
        if not self.curve:
            return ""
        last = self.curve[-1]
        return f"{last.tokens} tokens: loss {last.loss:.3f}, agrees {last.rate:.1%}"

    def save(self) -> None:
        """Keeps the whole state, at once or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "step": self.step,
            "tokens": self.tokens,
            "steps": self.steps,
            "ending": self.ending,
            "losses": self._losses,
            "tail": self.tail.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "curve": msgspec.json.encode(self.curve),
        }
        scratch = self.folder / (STATE_FILE + ".part")
        torch.save(state, scratch)
        os.replace(scratch, self.folder / STATE_FILE)
        (self.folder / CURVE_FILE).write_bytes(
            msgspec.json.format(msgspec.json.encode(self.curve)) + b"\n"
        )

    def resume(self) -> None:
        """Takes up the state that is kept, if there is one."""
        file = self.folder / STATE_FILE
        if not file.is_file():
            return
        state = torch.load(file, weights_only=True)
        self.step, self.tokens, self._losses = state["step"], state["tokens"], state["losses"]
        self.steps = state.get("steps", self.steps)
        self.ending = state.get("ending")
        self.tail.load_state_dict(state["tail"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.curve = msgspec.json.decode(state["curve"], type=list[Judgement])


def _batches(texts: Sequence[Text], plan: Plan) -> list[list[int]]:
    """Which texts each step reads, for all passes."""
    rng = torch.Generator().manual_seed(plan.seed)
    batches: list[list[int]] = []
    wanted = plan.passes * sum(len(text.tokens) for text in texts)
    planned = 0
    while planned < wanted:
        batch: list[int] = []
        size = 0
        for i in torch.randperm(len(texts), generator=rng).tolist():
            batch.append(i)
            size += len(texts[i].tokens)
            if size >= plan.batch_tokens:
                batches.append(batch)
                planned += size
                batch, size = [], 0
                if planned >= wanted:
                    return batches
        if batch:
            batches.append(batch)
            planned += size
    return batches


def _schedule(step: int, warm_up: int, steps: int) -> float:
    """A linear warm-up, then a cosine down to the last share."""
    if step < warm_up:
        return (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return LAST_SHARE + (1 - LAST_SHARE) * 0.5 * (1 + math.cos(math.pi * done))
