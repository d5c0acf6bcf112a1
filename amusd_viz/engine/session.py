"""Two warm models on two devices: open a session once, decode as often as you like."""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amusd_viz import events as ev
from amusd_viz.engine import mailbox
from amusd_viz.engine.devices import all_cores_shared, device_pair
from amusd_viz.engine.header import run_header
from amusd_viz.engine.orders import (
    ABORT,
    DRAFT_LOST,
    STOP,
    Birth,
    Fault,
    Happened,
    Report,
    RunOrder,
    RunOver,
    new_flags,
)
from amusd_viz.engine.run import Run, elapsed_ns
from amusd_viz.engine.settings import RunSettings, check_fits
from amusd_viz.engine.worker_process import CONTEXT, WorkerProcess
from amusd_viz.errors import EngineError, SettingError, WorkerDiedError
from amusd_viz.models.card import Card
from amusd_viz.models.memory import check_memory
from amusd_viz.models.pairs import ModelSource, resolve_pair, speculator_folder
from amusd_viz.models.tokens import Chat, Tokens, shown_prompt

log = logging.getLogger("amusd_viz")

ROWS = 8
"""Rows of every target pass: the last committed token and up to seven proposals."""
CACHE_STEP = 256
"""Cache lengths are multiples of this, so that most runs share one shape."""
PATIENCE_S = 5.0
"""How long a worker may go on after the end of its run before it is taken for hung; a slow one gets
as long again as the run took."""


class Session:
    """Starts two worker processes, loads each model once and keeps both warm.

    Use it as a context manager, or call :meth:`close`. Workers also leave when their parent does.

    Args:
        pair: name of a pair (``"twin"``, ``"twin8"``); or name both models with ``draft`` and
            ``target`` (a folder, a hub name; the draft may be ``"twin"`` of any target).
        draft_device, target_device: ``"cpu:0"``, ``"cpu:0-3"``, ``"cuda:1"``; chosen if not given.
        dtype: ``"bf16"`` or ``"fp32"``; by default bf16 where the target's device has it natively.
        rows: rows of every target pass; windows hold up to ``rows - 1`` proposals.
        sides: whose workers to start at once; the other one is started when a run needs it.
        all_cores: both models on all cores that this process may use, for methods in which only one
            of them works at a time.
        speculator: folder of a token/embedding speculator of the target; the default target has one.
            It is loaded when a run first needs it.

    Raises:
        SettingError, DeviceError, ModelError, PairError: what cannot work, before it is tried.
        WorkerDiedError: a model could not be loaded.
    """

    def __init__(
        self,
        pair: str | None = None,
        draft_device: str | None = None,
        target_device: str | None = None,
        dtype: str | None = None,
        *,
        draft: str | None = None,
        target: str | None = None,
        rows: int = ROWS,
        sides: Sequence[ev.Side] = tuple(ev.Side),
        all_cores: bool = False,
        speculator: str | Path | None = None,
    ) -> None:
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= 64:
            raise SettingError(f"rows is {rows!r}; it must be a whole number between 1 and 64")
        if dtype not in (None, "bf16", "fp32", "fp16"):
            raise SettingError(f"dtype {dtype!r} is unknown; use bf16, fp32 or fp16")
        chosen = all_cores_shared() if all_cores else device_pair(draft_device, target_device)
        self.devices = dict(zip(ev.Side, chosen, strict=True))
        self.pair = resolve_pair(pair, draft=draft, target=target)
        self.rows = rows
        self.speculator = speculator_folder(self.pair.target, speculator)
        """Folder of the target's token/embedding speculator, or ``None``."""
        self._dtype = dtype
        self.tokens = Tokens(self.pair.target.folder)
        log.info(check_memory(self.pair, dtype))
        self._proposals = mailbox.ring(CONTEXT)
        self._commits = mailbox.ring(CONTEXT)
        self._flags = new_flags(CONTEXT)
        self._lock = threading.RLock()
        self._workers: dict[ev.Side, WorkerProcess] = {}
        self._run: Run | None = None
        self._giving_up: threading.Timer | None = None
        self._number = 0
        self._clock = 0
        self._closed = False
        _open_sessions.add(self)
        try:
            self._start_workers(sides)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        places = ", ".join(f"{side} on {device.name}" for side, device in self.devices.items())
        state = ", closed" if self._closed else ""
        return f"Session({self.pair.name}: {places}, {self.rows} rows{state})"

    @property
    def worker_pids(self) -> dict[ev.Side, int]:
        """Process ids of the workers that were started."""
        return {side: worker.pid for side, worker in self._workers.items()}

    @property
    def card(self) -> Card:
        """What the two models are and how well they agree."""
        return Card(self.pair)

    def close(self) -> None:
        """Ends both workers; a run still going on is stopped. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._flags[STOP] = self._flags[ABORT] = self._number
        for worker in self._workers.values():
            worker.close()
        _open_sessions.discard(self)

    # -- decoding ----------------------------------------------------------------------------

    def decode(
        self,
        prompt: str | Chat,
        method: str = "amusd",
        *,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        stop: str | Sequence[str] = (),
        policy: str = "paper",
        lookahead: int = 4,
        run_ahead: int = 16,
        chat: bool | None = None,
        **more: Any,
    ) -> Run:
        """Starts a run and returns it at once; a run still going on is stopped first.

        Args:
            prompt: what to continue or, with a chat model, to answer; or the messages of a chat.
            method: ``"autoregressive"``, ``"synchronous"``, ``"speculator"``, ``"amusd"`` or
                ``"amusd+speculator"``; see :class:`~amusd_viz.engine.settings.RunSettings`.
            max_new_tokens: exact length limit of the output, in tokens.
            temperature: 0 is greedy; otherwise seeded sampling, which no schedule can change.
            top_k, top_p: keep only the likeliest tokens; 0 and 1 keep all.
            min_p: keep only tokens at least so many times as likely as the likeliest.
            repetition_penalty: above 1, tokens of the prompt and the output become less likely.
            seed: of the sampling.
            stop: strings at which the output ends; its text does not hold them.
            policy: how many proposals the target waits for (amusd).
            lookahead: proposals a round (synchronous, speculator).
            run_ahead: how far ahead the draft may go (amusd).
            chat: put the prompt as a user's message; by default if the model has a template.
            more: further fields of :class:`~amusd_viz.engine.settings.RunSettings`.

        Raises:
            PromptError, SettingError: what is wrong with the request.
            EngineError: the session is closed, or a worker could not be started again.
        """
        sampling = ev.Sampling(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            seed=seed,
        )
        settings = RunSettings(
            method=method,
            max_new_tokens=max_new_tokens,
            sampling=sampling,
            policy=policy,
            lookahead=lookahead,
            run_ahead=run_ahead,
            stop=stop,
            **more,
        )
        settings.check_rows(self.rows)
        if settings.uses_speculator and self.speculator is None:
            raise SettingError(
                f"{self.pair.target.name} has no token/embedding speculator; give its folder with "
                "Session(speculator=...), or train one: python -m amusd_viz.training.speculator"
            )
        prompt_ids = self.tokens.encode(prompt, chat=chat)
        check_fits(len(prompt_ids), max_new_tokens, self.tokens.context)
        if self._closed:
            raise EngineError("this session is closed; open a new one")
        self._end_current_run()
        sides = tuple(ev.Side) if settings.uses_draft else (ev.Side.TARGET,)
        self._start_workers(sides)
        return self._begin(shown_prompt(prompt), prompt_ids, settings, sides)

    def _begin(
        self,
        prompt: str,
        prompt_ids: list[int],
        settings: RunSettings,
        sides: tuple[ev.Side, ...],
    ) -> Run:
        ready = {side: self._workers[side].ready.result() for side in sides}
        heads = self._workers[ev.Side.TARGET].load_speculator() if settings.uses_speculator else 0
        cache_length = self._cache_length(len(prompt_ids) + settings.max_new_tokens)
        header = run_header(
            self,
            settings,
            ready,
            heads=heads,
            prompt=prompt,
            prompt_ids=prompt_ids,
            cache_length=cache_length,
        )
        with self._lock:
            # Both workers are idle, so the mailboxes may be emptied and the run numbers reused.
            mailbox.clear(self._proposals)
            mailbox.clear(self._commits)
            self._number = self._number % mailbox.RUNS + 1
            self._flags[:] = [0] * len(self._flags)
            number = self._number
            run = Run(header, self.tokens, sides, lambda: self._set_flag(STOP, number))
            self._run = run
            self._clock = time.perf_counter_ns()
            order = RunOrder(
                run=number,
                clock=self._clock,
                prompt_ids=tuple(prompt_ids),
                end_tokens=tuple(sorted(self.tokens.end_tokens)),
                cache_length=cache_length,
                settings=settings,
            )
            for side in sides:
                self._workers[side].order(order)
                # It may have died between the check and now; its reader has come and gone then.
                if not self._workers[side].alive():
                    self._lost(self._workers[side])
        return run

    def _cache_length(self, tokens: int) -> int:
        return -(-(tokens + self.rows) // CACHE_STEP) * CACHE_STEP

    def _end_current_run(self) -> None:
        """Nobody may still be at the last run when the next one empties the mailboxes."""
        run = self._run
        if run is None:
            return
        if not run.done:
            run.stop()
            with contextlib.suppress(EngineError):
                run.wait(self._patience_s())
        for worker in self._workers.values():
            worker.kill_unless_idle(self._patience_s())

    def _patience_s(self) -> float:
        return PATIENCE_S + elapsed_ns(self._clock) / 1e9

    def _set_flag(self, which: int, run: int) -> None:
        with self._lock:
            if run == self._number:
                self._flags[which] = run

    # -- workers -----------------------------------------------------------------------------

    def _start_workers(self, sides: Any) -> None:
        """Starts the workers that are missing and waits until their models are loaded."""
        for side in sides:
            worker = self._workers.get(side)
            if worker is None or not worker.alive():
                self._workers[side] = WorkerProcess(
                    self._birth(side), self._on_report, self._on_gone
                )
        for side in sides:
            self._workers[side].ready.result()

    def _birth(self, side: ev.Side) -> Birth:
        source: ModelSource = self.pair.draft if side is ev.Side.DRAFT else self.pair.target
        return Birth(
            side=side,
            source=source,
            device=self.devices[side],
            dtype=self._dtype,
            rows=self.rows,
            vocabulary=self.tokens.vocabulary,
            orders=None,  # type: ignore[arg-type]
            reports=None,  # type: ignore[arg-type]
            proposals=self._proposals,
            commits=self._commits,
            flags=self._flags,
            speculator=self.speculator if side is ev.Side.TARGET else None,
        )

    def _on_report(self, side: ev.Side, report: Report) -> None:
        with self._lock:
            run, current = self._run, self._number
        if run is None or getattr(report, "run", None) != current:
            return
        if isinstance(report, Happened):
            run.happened(report.events)
        elif isinstance(report, RunOver):
            run.side_over(side)
            if self._giving_up:
                self._giving_up.cancel()
            if side is ev.Side.TARGET and run.waits_for(ev.Side.DRAFT):
                self._giving_up = threading.Timer(self._patience_s(), self._give_up_draft, [run])
                self._giving_up.daemon = True
                self._giving_up.start()

    def _give_up_draft(self, run: Run) -> None:
        """Kills a draft that does not end its half of a finished run."""
        if run.waits_for(ev.Side.DRAFT):
            worker = self._workers[ev.Side.DRAFT]
            worker.fault = Fault("it did not end its half of the run and was ended", named=True)
            worker.kill()

    def _on_gone(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._lost(worker)

    def _lost(self, worker: WorkerProcess) -> None:
        """A worker is gone; if it was in a run, the run must know."""
        run, side = self._run, worker.side
        if run is None or not run.waits_for(side) or self._workers.get(side) is not worker:
            return
        why = "the session was closed" if self._closed else worker.why_gone()
        failed = ev.Failed(t=elapsed_ns(self._clock), side=side, what=why)
        run.happened([failed])
        if side is ev.Side.DRAFT:
            self._flags[DRAFT_LOST] = self._number
            run.side_over(side)
        else:
            self._flags[ABORT] = self._number
            run.fail(
                WorkerDiedError(
                    f"the target model is gone: {why}. The run is lost; the next decode "
                    + ("needs a new session" if self._closed else "starts the worker again")
                )
            )


_open_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


@atexit.register
def _close_open_sessions() -> None:
    for session in list(_open_sessions):
        session.close()
