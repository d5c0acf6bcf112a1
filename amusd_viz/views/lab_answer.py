"""The lab's answer to one setting: speeds, a sentence, and two simulated runs."""

from __future__ import annotations

from dataclasses import dataclass

from amusd_viz.simulate.driver import simulate
from amusd_viz.simulate.expected import expected
from amusd_viz.simulate.gain import best_synchronous
from amusd_viz.simulate.scenery import SENTENCE
from amusd_viz.simulate.statistics import simulate_statistics
from amusd_viz.simulate.text import Iid, agreement, text_of
from amusd_viz.simulate.theory import tokens_per_window
from amusd_viz.simulate.timing import in_target_steps, with_jitter
from amusd_viz.trace import Trace
from amusd_viz.views.lab_settings import LabSettings

TOKENS = 36
"""Length of the runs in the theater."""
STEP_NS = 30_000_000
"""A target step in the theater: 30 ms."""
JITTER_TOKENS = 300
"""Tokens over which the effect of jitter is simulated."""
SEED = 1


@dataclass(frozen=True)
class Speed:
    """What one method comes to; shares are between 0 and 1."""

    method: str
    setting: str
    speedup: float
    target_waits: float
    draft_waits: float
    waste: float


@dataclass(frozen=True)
class Answer:
    """All that the lab says to one setting. Everything in it is simulated or computed."""

    synchronous: Speed
    amusd: Speed
    sentence: str

    @property
    def gain(self) -> float:
        return self.amusd.speedup / self.synchronous.speedup


def answer(settings: LabSettings) -> Answer:
    """What to expect of both methods, and the sentence that says so."""
    sync, amusd = _synchronous(settings), _amusd(settings)
    return Answer(sync, amusd, sentence(settings, sync, amusd))


def runs(settings: LabSettings) -> list[Trace]:
    """A synchronous run and an AMUSD run of one text, for the theater."""
    text = text_of(agreement(Iid(settings.acceptance), TOKENS, SEED), SENTENCE, seed=SEED)
    notes = {name: f"{value:g}" for name, value in settings.values().items()}
    shared = {"max_new_tokens": TOKENS, "rows": 257, "notes": notes}
    timings = [_timing(settings, method, STEP_NS) for method in ("synchronous", "amusd")]
    turns, together = (with_jitter(timing, settings.jitter, SEED) for timing in timings)
    return [
        simulate(
            text,
            turns,
            method="synchronous",
            lookahead=lookahead_of(settings),
            shared=settings.tensor_parallel == 1,
            **shared,
        ),
        simulate(
            text, together, policy=policy_of(settings), run_ahead=settings.run_ahead, **shared
        ),
    ]


def policy_of(settings: LabSettings) -> str:
    return f"fixed({settings.wait})" if settings.wait else "eager"


def lookahead_of(settings: LabSettings) -> int:
    """The lookahead that was set, or the best one."""
    best = best_synchronous(settings.acceptance, settings.ratio, settings.around)
    return settings.lookahead or best.setting


def _timing(settings: LabSettings, method: str, step_ns: int = 1_000_000):
    turns = method == "synchronous"
    return in_target_steps(
        settings.ratio,
        latency=0.0 if turns else settings.latency,
        slope=settings.slope,
        tensor_parallel=settings.tensor_parallel if turns else 1.0,
        step_ns=step_ns,
    )


def _synchronous(settings: LabSettings) -> Speed:
    lookahead = lookahead_of(settings)
    drafting = lookahead * settings.ratio
    verifying = (1 + lookahead * settings.slope) / settings.tensor_parallel
    tokens = tokens_per_window(settings.acceptance, lookahead)
    time = (drafting + verifying) * _jitter_factor(
        settings, method="synchronous", lookahead=lookahead
    )
    return Speed(
        method="synchronous",
        setting=f"lookahead {lookahead}",
        speedup=tokens / time,
        target_waits=drafting / (drafting + verifying),
        draft_waits=verifying / (drafting + verifying),
        waste=1 - (tokens - 1) / lookahead,
    )


def _amusd(settings: LabSettings) -> Speed:
    how = {"policy": policy_of(settings), "run_ahead": settings.run_ahead}
    found = expected(settings.acceptance, _timing(settings, "amusd"), **how)
    return Speed(
        method="amusd",
        setting=f"wait {settings.wait}",
        speedup=found.speedup / _jitter_factor(settings, method="amusd", **how),
        target_waits=max(0.0, 1 - found.target_busy),
        draft_waits=max(0.0, 1 - found.draft_busy),
        waste=found.waste,
    )


def _jitter_factor(settings: LabSettings, **how: object) -> float:
    """How much longer the same tokens take with jitter."""
    if not settings.jitter:
        return 1.0
    timing = _timing(settings, str(how["method"]))
    with_it = with_jitter(timing, settings.jitter, SEED)
    model = Iid(settings.acceptance)
    times = [
        simulate_statistics(model, t, tokens=JITTER_TOKENS, seed=SEED, **how).time
        for t in (with_it, timing)
    ]
    return times[0] / times[1]


# -- in words --------------------------------------------------------------------------------


def sentence(settings: LabSettings, sync: Speed, amusd: Speed) -> str:
    """Who wins, by how much, and which device waits for what."""
    return f"{_winner(settings, sync, amusd)} {_waits(sync, amusd)}"


def _winner(settings: LabSettings, sync: Speed, amusd: Speed) -> str:
    gain = amusd.speedup / sync.speedup
    how = "at its best" if not settings.lookahead else "as it is set"
    if settings.tensor_parallel > 1:
        how = "with its target on both devices"
    rival = f"synchronous decoding {how} ({sync.setting})"
    if max(gain, 1 / gain) < 1.01:
        verdict = (
            f"A tie: AMUSD and {rival} both reach {amusd.speedup:.2f} times the speed of plain "
            "decoding."
        )
    elif gain > 1:
        verdict = (
            f"AMUSD wins: {amusd.speedup:.2f} times the speed of plain decoding, {gain - 1:.0%} "
            f"faster than {rival}, which reaches {sync.speedup:.2f}."
        )
    else:
        verdict = (
            f"Synchronous decoding wins: {how} ({sync.setting}) it reaches {sync.speedup:.2f} times "
            f"the speed of plain decoding, {1 / gain - 1:.0%} faster than AMUSD, which reaches "
            f"{amusd.speedup:.2f}."
        )
    if max(sync.speedup, amusd.speedup) < 0.995:
        verdict += " Plain decoding is faster than both."
    return verdict


def _waits(sync: Speed, amusd: Speed) -> str:
    return (
        f"AMUSD's target waits for proposals {amusd.target_waits:.0%} of the time, its draft waits "
        f"{amusd.draft_waits:.0%}, and {amusd.waste:.0%} of what it drafts is in vain. In "
        f"synchronous decoding the target waits {sync.target_waits:.0%} and the draft "
        f"{sync.draft_waits:.0%} of the time."
    )
