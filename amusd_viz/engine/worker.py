"""The process of one model: it loads the model once, then plays its half of every run.

This module is imported before the process is pinned to its cores, so it imports no torch.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait as wait_for_any
from typing import Any

from amusd_viz import events as ev
from amusd_viz.engine.devices import Device
from amusd_viz.engine.orders import (
    Birth,
    Fault,
    LoadSpeculator,
    Ready,
    Report,
    RunOrder,
    RunOver,
    SpeculatorReady,
    encode_report,
)
from amusd_viz.engine.recorder import Recorder
from amusd_viz.errors import AmusdVizError


def worker_main(birth: Birth) -> None:
    """Entry point of a worker process, which ends when it is told to leave or cannot go on."""
    # The kernel's interrupt reaches the whole process group; a run is stopped by its flag instead.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _settle_on(birth.device)
    try:
        _serve(birth)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # The kernel's process is gone, or has closed the session.
    except AmusdVizError as error:
        _report_quietly(birth, Fault(str(error), named=True))
    except Exception as error:
        _report_quietly(birth, Fault(_one_line(error), named=False))
    # Taking torch down in good order takes seconds, in which nobody would know of the fault.
    os._exit(0)


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait_for_any([parent.sentinel])
    os._exit(1)


def _settle_on(device: Device) -> None:
    """Pins this process to its cores, before torch starts threads of its own."""
    if device.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, device.cores)
    os.environ["OMP_NUM_THREADS"] = str(device.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _serve(birth: Birth) -> None:
    import torch

    from amusd_viz.models.kernels import load
    from amusd_viz.models.loading import parameter_count as weight_count

    torch.set_num_threads(birth.device.threads)
    torch.set_grad_enabled(False)
    loaded = load(
        birth.source,
        birth.device.torch_name,
        birth.dtype,
        rows=birth.rows if birth.side is ev.Side.TARGET else None,
        threads=birth.device.threads,
    )
    on_gpu = birth.device.gpu is not None
    _report(
        birth,
        Ready(
            dtype=loaded.dtype,
            kernel=loaded.kernel,
            parameters=loaded.parameters,
            gpu_name=torch.cuda.get_device_name(birth.device.gpu) if on_gpu else "",
            capability="" if on_gpu else torch.backends.cpu.get_cpu_capability(),
        ),
    )
    lm = speculator = None
    learnt: dict[str, Any] = {}
    while True:
        order = birth.orders.recv()
        if order is None:
            return
        if isinstance(order, LoadSpeculator):
            speculator = speculator or _speculator(birth, loaded)
            _report(birth, SpeculatorReady(parameters=weight_count(speculator)))
            continue
        lm = _fitting(lm, loaded, order, speculator)
        _play(birth, lm, order, speculator, learnt)


def _speculator(birth: Birth, loaded: Any) -> Any:
    """The target's token/embedding speculator, on its device, tried on what it should know."""
    from amusd_viz.models.compact_speculator import card_of, open_speculator
    from amusd_viz.models.native.heads import in_few_bits
    from amusd_viz.models.speculator_check import check_speculator

    assert birth.speculator is not None, "the session has no speculator"
    speculator = open_speculator(birth.speculator, loaded.embedding).to(loaded.embedding.device)
    lm = loaded.with_cache(512, speculator.config.state_layer)
    check_speculator(speculator, lm, card_of(birth.speculator), birth.speculator.name)
    return speculator if birth.device.gpu is not None else in_few_bits(speculator)


def _fitting(lm: Any, loaded: Any, order: RunOrder, speculator: Any) -> Any:
    """The model with a cache of the run's length; the one of the last run if it fits exactly.

    Where there is a speculator, its states are kept in every run: a cache made anew for the sake of
    one that needs none would cost more.
    """
    state_layer = None if speculator is None else speculator.config.state_layer
    wanted = order.cache_length, state_layer
    if lm is not None and (lm.cache_length, lm.state_layer) == wanted:
        return lm
    return loaded.with_cache(*wanted)


def _play(birth: Birth, lm: Any, order: RunOrder, speculator: Any, learnt: dict[str, Any]) -> None:
    from amusd_viz.engine.draft_worker import DraftRun
    from amusd_viz.engine.speculator_worker import SpeculatorRun
    from amusd_viz.engine.stepping_in import SteppingInRun
    from amusd_viz.engine.target_worker import TargetRun

    recorder = Recorder(order.run, order.clock, birth.reports.send_bytes)
    if birth.side is ev.Side.DRAFT:
        DraftRun(lm, order, birth, recorder).play()
    elif order.settings.uses_speculator:
        if order.settings.uses_draft:
            SteppingInRun(lm, order, birth, recorder, speculator, learnt).play()
        else:
            SpeculatorRun(lm, order, birth, recorder, speculator, learnt).play()
    else:
        TargetRun(lm, order, birth, recorder, learnt).play()
    _report(birth, RunOver(order.run))


def _report(birth: Birth, report: Report) -> None:
    birth.reports.send_bytes(encode_report(report))


def _report_quietly(birth: Birth, report: Report) -> None:
    with contextlib.suppress(OSError):
        _report(birth, report)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
