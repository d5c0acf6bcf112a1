"""A recorded run once more, in virtual time: its own agreement and its own step times."""

from __future__ import annotations

import re

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.simulate.agreement import agreement_of
from amusd_viz.simulate.calibration import (
    calibrate_latencies,
    draft_durations,
    target_durations,
)
from amusd_viz.simulate.driver import Text, simulate
from amusd_viz.simulate.timing import Constant, Timing, replayed
from amusd_viz.trace import Trace


def replay(trace: Trace) -> Trace:
    """Plays a recorded run through the simulator and returns the simulated one.

    Steps and passes take as long as the recorded ones, in their order; the draft agrees where it
    agreed. What differs is only what the simulator does not know: when the operating system let
    somebody wait. Where the recorded draft proposed nothing it is taken to agree.

    Raises:
        SettingError: the run is not complete, or its settings cannot be read from its header.
    """
    header = trace.header
    if trace.finish is None or not trace.tokens:
        raise SettingError("only a run that has finished with some tokens can be replayed")
    if header.speculator:
        raise SettingError(
            f"a run by {header.method} cannot be replayed, since two drafters proposed; use one by "
            "synchronous, speculator or amusd"
        )
    passes = [ns for _, ns in target_durations(trace)]
    steps = draft_durations(trace)
    first_commit = trace.of(ev.Verified)[0].end
    to_target, to_draft = calibrate_latencies([trace]) if steps else (0.0, 0.0)
    timing = Timing(
        draft=1,
        target=Constant(1),
        latency_to_target=round(to_target),
        latency_to_draft=round(to_draft),
        draft_prefill=max(
            (s.end for s in trace.of(ev.Prefill) if s.side is ev.Side.DRAFT), default=0
        ),
        target_prefill=first_commit,
    )
    agrees = agreement_of(trace)
    tokens = list(trace.tokens)
    wrong = max(tokens) + 1
    text = Text(
        target=tokens,
        draft=[wrong if a is False else t for t, a in zip(tokens, agrees, strict=True)],
        words=dict(zip(tokens, trace.texts, strict=False)),
    )
    takes_turns = header.method in ("synchronous", "speculator")
    return simulate(
        text,
        replayed(timing, steps, passes or [1]),
        method=header.method,
        max_new_tokens=len(tokens),
        policy=header.policy if header.method == "amusd" else "eager",
        lookahead=_number_in(header.run_ahead) if takes_turns else 1,
        run_ahead=_number_in(header.run_ahead) if header.method == "amusd" else 1,
        rows=header.numerics.rows if header.numerics else 257,
        notes={"replay of": f"a {header.source} {header.method} run"},
    )


def _number_in(name: str) -> int:
    match = re.fullmatch(r"[a-z]+\((\d+)\)", name)
    if not match:
        raise SettingError(
            f"a run with the draft policy {name!r} cannot be replayed; use constant or lookahead"
        )
    return int(match[1])
