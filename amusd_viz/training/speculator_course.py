"""The training of a speculator: two stages, steps in an order that the plan decides, state on disk.

Stage 1 learns from text read in parallel, stage 2 from the target's own samples. Either may be left
out: where the target is small, its samples are cheap and serve for all. Schedules are the paper's: in
stage 1 a warm-up along a parabola and a cosine down to a tenth of the highest rate, in stage 2 again,
from a tenth of it down to a hundredth.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import msgspec
import torch

from amusd_viz.errors import SettingError
from amusd_viz.models.speculator import Speculator
from amusd_viz.training.shared_rows import sums_made_once
from amusd_viz.training.speculator_loss import HeadLosses
from amusd_viz.training.speculator_rows import Rows
from amusd_viz.training.speculator_scores import head_accuracy
from amusd_viz.training.work_bar import work_bar

STATE_FILE = "state.pt"
SAVE_EVERY_S = 120


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a training ends with.

    Attributes:
        heads: ``n_predict``.
        words: length of the short list.
        stage_1, stage_2: steps of each stage.
        batch: positions a step.
        learning_rate: the highest.
        weight_decay: of matrices; gains and shifts are left alone.
        soft: share of soft labels in the loss; the paper has none.
        fade: weight of a head's loss as a share of the weight of the one before; the paper's is 1. A
            head is only asked where those before it were right, so the first ones matter most.
        judgements: points of the curve.
        seed: of the first weights and the order of positions.
        shards: names of the files learnt from.
        state_layer: of the target, whose input is read beside the last state; ``None`` for none.
        begun_from: digest of the weights that the first step begins with; ``None`` for fresh ones.
        shared: whether the rows of words learn together (:mod:`~amusd_viz.training.shared_rows`).
        halved: whether matrices are multiplied in bf16.
    """

    heads: int = 4
    words: int = 4096
    stage_1: int = 1000
    stage_2: int = 400
    batch: int = 512
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    soft: float = 0.0
    fade: float = 1.0
    judgements: int = 10
    seed: int = 0
    shards: tuple[str, ...] = ()
    state_layer: int | None = None
    begun_from: str | None = None
    shared: bool = False
    halved: bool = False

    @property
    def steps(self) -> int:
        return self.stage_1 + self.stage_2

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0 over both stages."""
        if step < self.stage_1:
            return self.learning_rate * _course(step, self.stage_1, 0.1)
        return 0.1 * self.learning_rate * _course(step - self.stage_1, self.stage_2, 0.1)


def _course(step: int, steps: int, end: float) -> float:
    """Up along a parabola over 5 % of the steps, then down along a cosine to ``end``."""
    warm_up = min(2000, max(1, steps // 20))
    if step < warm_up:
        return 1 - (1 - (step + 1) / warm_up) ** 2
    done = (step - warm_up) / max(1, steps - warm_up)
    return end + (1 - end) * (1 + math.cos(math.pi * done)) / 2


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the curve."""

    step: int
    stage: int
    loss: tuple[float, ...]
    """Of each head, mean since the last point."""
    accuracy: tuple[float, ...]
    """Of each head on held-out text; empty where there is none."""


class Course:
    """One training.

    Args:
        speculator: what is trained.
        stages: the rows of stage 1 and of stage 2.
        judged: held-out rows; ``None`` for a curve of losses alone.
        plan: how.
        folder: where the state is kept; ``None`` keeps none.

    Raises:
        SettingError: a stage has steps and no text.
    """

    def __init__(
        self,
        speculator: Speculator,
        stages: tuple[Rows | None, Rows | None],
        judged: Rows | None,
        plan: Plan,
        folder: Path | None = None,
    ) -> None:
        self.speculator, self.stages, self.judged = speculator, stages, judged
        self.plan, self.folder = plan, folder
        for number, (rows, steps) in enumerate(
            zip(stages, (plan.stage_1, plan.stage_2), strict=True), start=1
        ):
            if steps and rows is None:
                raise SettingError(f"stage {number} has {steps} steps and no text; give some, or 0")
        self.step = 0
        self.curve: list[Judgement] = []
        self._losses: list[list[float]] = []
        self._stopped = False
        self._loss = HeadLosses(speculator, plan.soft)
        self._orders: dict[tuple[int, int], torch.Tensor] = {}
        named = list(speculator.requires_grad_(True).train().named_parameters())
        self._optimizer = torch.optim.AdamW(
            [
                {
                    "params": [p for n, p in named if not n.startswith("ln.")],
                    "weight_decay": plan.weight_decay,
                },
                {"params": [p for n, p in named if n.startswith("ln.")], "weight_decay": 0.0},
            ],
            betas=(0.9, 0.95),
            fused=True,
        )

    @property
    def done(self) -> bool:
        return self.step >= self.plan.steps

    def stop(self, *_: object) -> None:
        """Ends after the step under way; the state is kept."""
        self._stopped = True

    def run(self, until_step: int | None = None) -> None:
        """Steps until the plan is done, ``until_step`` is reached or :meth:`stop` is called."""
        last = self.plan.steps if until_step is None else min(until_step, self.plan.steps)
        every = max(1, self.plan.steps // max(1, self.plan.judgements))
        saved = time.monotonic()
        with work_bar("Training", total=self.plan.steps, completed=self.step) as bar:
            while self.step < last and not self._stopped:
                self._take_step()
                if self.step % every == 0 or self.done:
                    self._judge()
                    bar.keep(self.line())
                bar.update(self.step, self.line())
                if time.monotonic() - saved > SAVE_EVERY_S:
                    self.save()
                    saved = time.monotonic()
        self.save()
        if self.done:
            self.speculator.requires_grad_(False).eval()

    def _take_step(self) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = self.plan.rate(self.step)
        stage = 1 if self.step < self.plan.stage_1 else 2
        rows = self.stages[stage - 1]
        assert rows is not None
        batch = rows.batch(self._positions(stage, rows), self.plan.heads)
        self._optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.plan.halved), sums_made_once():
            heads = self.speculator.each_head(batch.states, batch.given)
            losses = [self._loss(head, logits, batch) for head, logits in enumerate(heads)]
        sum(loss * self.plan.fade**head for head, loss in enumerate(losses)).backward()
        torch.nn.utils.clip_grad_norm_(self.speculator.parameters(), 1.0)
        self._optimizer.step()
        self.step += 1
        self._losses.append([loss.item() for loss in losses])

    def _positions(self, stage: int, rows: Rows) -> torch.Tensor:
        """Where the step looks: every position once a pass, in an order of the pass's own."""
        usable = rows.usable()
        first = (self.step - (0 if stage == 1 else self.plan.stage_1)) * self.plan.batch
        taken = []
        for place in range(first, first + self.plan.batch, max(1, len(usable))):
            read, offset = divmod(place, len(usable))
            if (stage, read) not in self._orders:
                rng = torch.Generator().manual_seed(self.plan.seed * 1000 + stage * 100 + read)
                self._orders = {(stage, read): usable[torch.randperm(len(usable), generator=rng)]}
            taken.append(self._orders[stage, read][offset : offset + self.plan.batch])
        return torch.cat(taken)[: self.plan.batch]

    def _judge(self) -> None:
        accuracy: list[float] = []
        if self.judged is not None:
            with sums_made_once():
                accuracy = head_accuracy(self.speculator, self.judged, self.plan.heads)
        losses = torch.tensor(self._losses).mean(0).tolist()
        self._losses = []
        self.curve.append(
            Judgement(
                step=self.step,
                stage=1 if self.step <= self.plan.stage_1 else 2,
                loss=tuple(round(x, 4) for x in losses),
                accuracy=tuple(round(x, 4) for x in accuracy),
            )
        )

    def line(self) -> str:
        """The last point of the curve in words."""
        if not self.curve:
            return ""
        last = self.curve[-1]
        told = f"step {last.step}, stage {last.stage}: loss {sum(last.loss):.3f}"
        if last.accuracy:
            told += ", heads right " + " ".join(f"{a:.3f}" for a in last.accuracy)
        return told

    # -- the state on disk -------------------------------------------------------------------

    def save(self) -> None:
        """Keeps the whole state, at once or not at all."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "plan": msgspec.json.encode(self.plan),
            "step": self.step,
            "losses": self._losses,
            "speculator": self.speculator.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "curve": msgspec.json.encode(self.curve),
        }
        scratch = self.folder / (STATE_FILE + ".part")
        torch.save(state, scratch)
        os.replace(scratch, self.folder / STATE_FILE)

    def resume(self) -> None:
        """Takes up the state that is kept.

        Raises:
            SettingError: it is of another plan.
        """
        assert self.folder is not None
        state = torch.load(self.folder / STATE_FILE, weights_only=True)
        if state["plan"] != msgspec.json.encode(self.plan):
            raise SettingError(
                f"{self.folder} holds a training of another plan; go on with that one, "
                "give another --folder, or start anew with --fresh"
            )
        self.step, self._losses = state["step"], state["losses"]
        self.speculator.load_state_dict(state["speculator"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.curve = msgspec.json.decode(state["curve"], type=list[Judgement])


def kept_plan(folder: Path) -> Plan | None:
    """The plan of the training that is kept in ``folder``, if there is one."""
    file = folder / STATE_FILE
    if not file.is_file():
        return None
    return msgspec.json.decode(torch.load(file, weights_only=True)["plan"], type=Plan)
