"""Both models of a pair in this process, one step at a time: for a person who schedules them.

Nothing runs at the same time here, so the workers, their mailboxes and their devices are not needed;
the schedule is put together from the measured steps.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from amusd_viz.by_hand.pair import Answer
from amusd_viz.engine.settings import check_fits
from amusd_viz.machine import usable_cores, within_quota
from amusd_viz.models.choice import chances
from amusd_viz.models.kernels import LanguageModel, load
from amusd_viz.models.pairs import resolve_pair
from amusd_viz.models.tokens import Tokens

LONGEST = 256
"""Output tokens for which there is room in the caches."""


class LivePair:
    """Answers with the models themselves; a question asked again is answered from memory.

    Args:
        prompt: what to continue or, with a chat model, to answer.
        pair, draft, target: which models, as for a session.
        rows: most tokens one target pass takes.

    Raises:
        AmusdVizError: what is wrong with the prompt or the models.
    """

    longest: int | None = LONGEST
    context = ""

    def __init__(
        self,
        prompt: str,
        *,
        pair: str | None = None,
        draft: str | None = None,
        target: str | None = None,
        rows: int = 8,
    ) -> None:
        found = resolve_pair(pair, draft=draft, target=target)
        self.name = found.name
        self.tokens = Tokens(found.target.folder)
        self.prompt = prompt
        self.prompt_ids = tuple(self.tokens.encode(prompt))
        self.end_tokens = tuple(sorted(self.tokens.end_tokens))
        check_fits(len(self.prompt_ids), LONGEST, self.tokens.context)
        length = len(self.prompt_ids) + LONGEST + rows
        threads = max(1, len(within_quota(usable_cores())) // 2)
        torch.set_num_threads(threads)
        draft_model = load(found.draft, threads=threads)
        target_model = load(found.target, rows=rows, threads=threads)
        self._draft = draft_model.with_cache(length)
        self._target = target_model.with_cache(length)
        self.draft_model = found.draft.described(draft_model.parameters)
        self.target_model = found.target.described(target_model.parameters)
        self._first = {lm: lm.prefill(self.prompt_ids) for lm in (self._draft, self._target)}
        self._drafted: dict[tuple[int, ...], tuple[Answer, int]] = {}
        self._verified: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[list[Answer], int]] = {}

    def draft(self, output: Sequence[int]) -> tuple[Answer, int]:
        key = tuple(output)
        if key not in self._drafted:
            answers, took = self._ask(self._draft, key, ())
            self._drafted[key] = answers[0], took
        return self._drafted[key]

    def verify(self, output: Sequence[int], window: Sequence[int]) -> tuple[list[Answer], int]:
        key = tuple(output), tuple(window)
        if key not in self._verified:
            answers, took = self._ask(self._target, *key)
            judged = next(
                (i for i, (a, t) in enumerate(zip(answers, window, strict=False)) if a.token != t),
                len(window),
            )
            self._verified[key] = answers[: judged + 1], took
        return self._verified[key]

    def _ask(
        self, lm: LanguageModel, output: tuple[int, ...], window: tuple[int, ...]
    ) -> tuple[list[Answer], int]:
        start = time.perf_counter_ns()
        read = [*self.prompt_ids, *output]
        logits = lm.logits_after(read, window) if output else self._first[lm][None]
        best = [int(i) for i in logits[:, : self.tokens.vocabulary].argmax(-1)]
        took = time.perf_counter_ns() - start
        scores = logits[:, : self.tokens.vocabulary].float().cpu().numpy()
        return [
            Answer(token, self.tokens.token_text(token), chances(row, token).taken)
            for token, row in zip(best, scores, strict=True)
        ], max(1, took)
