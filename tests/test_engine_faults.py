"""What goes wrong in real processes: killed, hung and raising workers, interrupts, dead parents.

Workers start anew after most of these, which takes seconds each; the rarer faults are marked full.
Every run must end with the right text or one clear error, and the session must stay usable. Waits
here have generous limits, so that they fail on a hang and not on a busy machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny_models import save_tiny_pair

from amusd_viz import events as ev
from amusd_viz.engine import Run, Session
from amusd_viz.errors import EngineError, PromptError, WorkerDiedError

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals"),
]

DRAFT, TARGET = ev.Side.DRAFT, ev.Side.TARGET
PROMPT = "w3 w2"
TOKENS = 150
PATIENCE_S = 300
SLOW = ((0.004,), (0.008,))
"""Seconds a step of each side is slowed by, so that faults come in the middle of a run."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_pair(folder)
    return folder


@pytest.fixture(scope="module")
def session(pair: Path) -> Iterator[Session]:
    with Session(draft=str(pair / "draft"), target=str(pair / "target"), dtype="fp32") as session:
        yield session


@pytest.fixture(scope="module")
def plain(session: Session) -> tuple[int, ...]:
    """The output of every run here that is not cut."""
    run = session.decode(PROMPT, "autoregressive", max_new_tokens=TOKENS)
    assert len(run.wait(PATIENCE_S).token_ids) == TOKENS
    return run.token_ids


def slow_run(session: Session, method: str = "amusd", **settings) -> Run:
    settings = {"delays": SLOW, "max_new_tokens": TOKENS} | settings
    return session.decode(PROMPT, method, **settings)


def until_committed(run: Run, position: int) -> None:
    """Follows a run until it has committed beyond a position."""
    for event in run:
        if isinstance(event, ev.Verified) and event.position > position:
            return
    pytest.fail("the run ended too early for this test")


def over(run: Run) -> Run:
    """Waits for the end of a run whose trace must hold together."""
    assert run.wait(PATIENCE_S).done, "the run hangs"
    run.trace.check()
    return run


def pid(session: Session, side: ev.Side) -> int:
    return session._workers[side].pid


def kill(session: Session, side: ev.Side, how: signal.Signals = signal.SIGKILL) -> None:
    os.kill(pid(session, side), how)


# -- a draft that fails does no harm -------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("amusd", {"policy": "paper"}),
        ("synchronous", {}),
        pytest.param("amusd", {"policy": "fixed(7)"}, marks=pytest.mark.full),
    ],
)
def test_a_killed_draft_leaves_the_text_as_it_is(
    session: Session, plain: tuple[int, ...], method: str, settings: dict
) -> None:
    run = slow_run(session, method, **settings)
    until_committed(run, 10)
    kill(session, DRAFT)
    assert over(run).token_ids == plain
    (failed,) = run.trace.of(ev.Failed)
    assert failed.side is DRAFT
    assert "killed by SIGKILL" in failed.what
    assert 0 < failed.t < run.trace.finish.t
    verified_after = [v for v in run.trace.of(ev.Verified) if v.start > failed.t]
    assert verified_after
    assert all(p.end <= failed.t for p in run.trace.of(ev.Proposed))
    assert sum(v.proposals for v in verified_after[20:]) == 0, "then it decodes alone"
    again = over(slow_run(session))
    assert again.token_ids == plain
    assert again.trace.of(ev.Failed) == []
    assert sum(v.accepted for v in again.trace.of(ev.Verified)) > 0, "it has a draft again"


@pytest.mark.full
def test_a_draft_that_raises_is_named_and_does_no_harm(
    session: Session, plain: tuple[int, ...]
) -> None:
    run = over(slow_run(session, delays=((0, 0, 0, -1), SLOW[1])))
    assert run.token_ids == plain
    (failed,) = run.trace.of(ev.Failed)
    assert failed.side is DRAFT
    assert failed.what == "ValueError: sleep length must be non-negative"


def test_a_hung_draft_is_waited_for_no_longer_than_some_seconds(
    session: Session, plain: tuple[int, ...]
) -> None:
    run = slow_run(session, policy="fixed(5)")
    until_committed(run, 10)
    kill(session, DRAFT, signal.SIGSTOP)
    assert over(run).token_ids == plain
    assert [f.side for f in run.trace.of(ev.Failed)] == [DRAFT], "killed when the target was done"
    assert over(slow_run(session)).token_ids == plain


def test_a_draft_that_hangs_for_a_while_comes_back(
    session: Session, plain: tuple[int, ...]
) -> None:
    """Its old proposals arrive all at once, long after their positions were committed."""
    run = slow_run(session, policy="eager")
    until_committed(run, 10)
    kill(session, DRAFT, signal.SIGSTOP)
    until_committed(run, 40)
    kill(session, DRAFT, signal.SIGCONT)
    assert over(run).token_ids == plain
    assert run.trace.of(ev.Failed) == []


# -- a target that fails is one clear error ------------------------------------------------------


def test_a_killed_target_is_one_error_and_the_next_run_works(
    session: Session, plain: tuple[int, ...]
) -> None:
    run = slow_run(session)
    until_committed(run, 10)
    kill(session, TARGET)
    sentence = "target model is gone: its process was killed by SIGKILL.*the next decode starts"
    with pytest.raises(WorkerDiedError, match=sentence):
        run.wait(PATIENCE_S)
    with pytest.raises(WorkerDiedError, match=sentence):
        list(run)
    with pytest.raises(WorkerDiedError, match=sentence):
        _ = run.text
    assert run.done
    assert over(slow_run(session)).token_ids == plain


@pytest.mark.full
def test_a_target_that_raises_says_what(session: Session, plain: tuple[int, ...]) -> None:
    run = slow_run(session, delays=((), (0, 0, -1)))
    with pytest.raises(
        WorkerDiedError, match="gone: ValueError: sleep length must be non-negative"
    ):
        run.wait(PATIENCE_S)
    assert over(slow_run(session)).token_ids == plain


@pytest.mark.full
def test_both_killed_between_runs_are_started_again(
    session: Session, plain: tuple[int, ...]
) -> None:
    over(slow_run(session, max_new_tokens=1))
    for side in ev.Side:
        kill(session, side)
    wait_until_gone(pid(session, side) for side in ev.Side)
    assert over(slow_run(session)).token_ids == plain


def test_a_draft_still_at_the_lost_run_never_enters_the_next(
    session: Session, plain: tuple[int, ...]
) -> None:
    """It hangs while its target dies, and wakes when the next run has begun."""
    run = slow_run(session)
    until_committed(run, 10)
    draft = pid(session, DRAFT)
    os.kill(draft, signal.SIGSTOP)
    kill(session, TARGET)
    with pytest.raises(WorkerDiedError):
        run.wait(PATIENCE_S)
    again = slow_run(session)
    with contextlib.suppress(ProcessLookupError):  # The session may have ended it already.
        os.kill(draft, signal.SIGCONT)
    assert over(again).token_ids == plain
    assert again.trace.of(ev.Failed) == []


# -- stopped, interrupted, closed ----------------------------------------------------------------


def interrupted(action: Callable[[], object]) -> None:
    """Sends this process an interrupt, as a kernel does, while it waits in ``action``."""
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        action()
    timer.join()


@pytest.mark.parametrize("wait", [lambda run: run.wait(PATIENCE_S), list, lambda run: run.text])
def test_an_interrupt_stops_the_run_and_keeps_the_session(
    session: Session, plain: tuple[int, ...], wait: Callable[[Run], object]
) -> None:
    run = slow_run(session, delays=((0.05,), (0.1,)))
    interrupted(lambda: wait(run))
    assert over(run).trace.finish.reason == "stop_request"
    assert run.token_ids == plain[: len(run.token_ids)]
    assert over(slow_run(session)).token_ids == plain


@pytest.mark.full
def test_an_interrupt_while_the_target_hangs_returns_and_the_next_run_works(
    session: Session, plain: tuple[int, ...]
) -> None:
    run = slow_run(session)
    until_committed(run, 5)
    kill(session, TARGET, signal.SIGSTOP)
    interrupted(lambda: run.wait(PATIENCE_S))
    assert not run.done
    assert over(slow_run(session)).token_ids == plain
    with pytest.raises(EngineError):
        run.wait(PATIENCE_S)


def test_a_run_that_is_followed_by_another_is_stopped_first(
    session: Session, plain: tuple[int, ...]
) -> None:
    first = slow_run(session, delays=((0.02,), (0.05,)))
    second = slow_run(session)
    assert first.done
    assert first.trace.check().finish.reason == "stop_request"
    assert first.token_ids == plain[: len(first.token_ids)]
    assert over(second).token_ids == plain


def test_a_stop_before_the_first_token_and_one_after_the_end_are_harmless(
    session: Session, plain: tuple[int, ...]
) -> None:
    run = slow_run(session)
    run.stop()
    run.stop()
    assert over(run).token_ids == plain[: len(run.token_ids)]
    run.stop()
    assert over(slow_run(session, max_new_tokens=1)).token_ids == plain[:1]


@pytest.mark.parametrize("prompt", ["", "w1 " * 600])
def test_a_prompt_that_cannot_be_continued_is_refused_and_harmless(
    session: Session, plain: tuple[int, ...], prompt: str
) -> None:
    with pytest.raises(PromptError):
        session.decode(prompt)
    assert over(slow_run(session)).token_ids == plain


@pytest.mark.parametrize("hung", [DRAFT, pytest.param(TARGET, marks=pytest.mark.full)])
def test_closing_ends_a_run_and_both_workers_even_hung_ones(pair: Path, hung: ev.Side) -> None:
    session = Session(draft=str(pair / "draft"), target=str(pair / "target"), dtype="fp32")
    run = slow_run(session)
    until_committed(run, 5)
    pids = [pid(session, side) for side in ev.Side]
    kill(session, hung, signal.SIGSTOP)
    session.close()
    session.close()
    wait_until_gone(pids)
    if hung is DRAFT:
        assert over(run).trace.finish.reason == "stop_request"
    else:
        with pytest.raises(WorkerDiedError, match="the session was closed"):
            run.wait(PATIENCE_S)
    with pytest.raises(EngineError, match="closed"):
        session.decode(PROMPT)


# -- parents -------------------------------------------------------------------------------------

PARENT = """
import json, sys, time
from amusd_viz.engine import Session
session = Session(draft={folder!r} + "/draft", target={folder!r} + "/target", dtype="fp32")
run = session.decode("w3 w2", max_new_tokens=400, delays=((0.01,), (0.02,)))
while not run.events_from(9):
    time.sleep(0.01)
print(json.dumps([worker.pid for worker in session._workers.values()]), flush=True)
{then}
"""


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        return True
    return state not in "ZX"


def wait_until_gone(processes: Iterator[int] | list[int], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    left = list(processes)
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = [process for process in left if alive(process)]
    assert not left, f"still alive after {seconds} s: {left}"


def parent_with_workers(pair: Path, then: str) -> tuple[subprocess.Popen, list[int]]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(folder=str(pair), then=then)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    return parent, json.loads(parent.stdout.readline())


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
def test_no_worker_and_no_memory_outlives_a_killed_parent(pair: Path, how: signal.Signals) -> None:
    parent, workers = parent_with_workers(pair, "time.sleep(900)")
    assert all(map(alive, workers))
    parent.send_signal(how)
    parent.wait()
    wait_until_gone(workers)
    mine = {str(parent.pid), *map(str, workers)}
    shared = Path("/dev/shm")
    left = [p for p in shared.iterdir() if mine & set(p.name.split("-"))] if shared.is_dir() else []
    assert not left


@pytest.mark.parametrize("then", ["", pytest.param("1 / 0", marks=pytest.mark.full)])
def test_no_worker_outlives_a_script_that_forgets_to_close(pair: Path, then: str) -> None:
    parent, workers = parent_with_workers(pair, then)
    parent.wait(PATIENCE_S)
    wait_until_gone(workers)


# -- a real kernel -------------------------------------------------------------------------------

OPEN = """
import amusd_viz
session = amusd_viz.Session(draft={folder!r} + "/draft", target={folder!r} + "/target", dtype="fp32")
print(*(worker.pid for worker in session._workers.values()))
"""
LONG = (
    "run = session.decode('w3 w2', max_new_tokens=150, delays=((0.05,), (0.1,)))\n"
    "print('goes on', flush=True)\n"
    "run.wait()"
)
SHORT = "print(len(session.decode('w3 w2', max_new_tokens=12).wait().token_ids))"


class Kernel:
    """A Jupyter kernel of its own, cell by cell."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(startup_timeout=PATIENCE_S)

    def run(self, code: str, on_output: Callable[[str], None] = lambda _: None) -> tuple[str, str]:
        """Runs a cell; returns what it printed and the name of its error, if any."""
        printed: list[str] = []

        def hook(message: dict) -> None:
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                printed.append(message["content"]["text"])
                on_output(printed[-1])

        reply = self.client.execute_interactive(code, timeout=PATIENCE_S, output_hook=hook)
        return "".join(printed), reply["content"].get("ename", "")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    kernel = Kernel()
    yield kernel
    kernel.close()


def test_a_cell_can_be_interrupted_and_a_killed_kernel_leaves_nothing(
    kernel: Kernel, pair: Path
) -> None:
    printed, error = kernel.run(OPEN.format(folder=str(pair)))
    assert error == ""
    workers = [int(word) for word in printed.split()]
    assert all(map(alive, workers))
    for _ in range(2):
        _, error = kernel.run(LONG, on_output=lambda _: kernel.manager.interrupt_kernel())
        assert error == "KeyboardInterrupt"
        assert kernel.run(SHORT) == ("12\n", "")
    kernel.manager.restart_kernel(now=True)
    wait_until_gone(workers)
