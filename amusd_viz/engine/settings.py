"""What one run is asked to do, checked before anything is started."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from amusd_viz import events as ev
from amusd_viz import words
from amusd_viz.engine.mailbox import MAX_POSITIONS, SLOTS
from amusd_viz.errors import PromptError, SettingError
from amusd_viz.protocol import (
    AdaptiveRunAhead,
    AdaptiveWindow,
    Confidence,
    ConstantRunAhead,
    Fixed,
    RunAheadPolicy,
    TakeTurns,
    WindowPolicy,
    window_policy,
)

METHODS = tuple(words.METHODS)
TAKING_TURNS = ("synchronous", "speculator")
"""Methods in which whoever drafts and the target work by turns."""
MOST_RUN_AHEAD = SLOTS // 4
MOST_STOPS, LONGEST_STOP = 16, 200
_GREEDY = ev.Sampling()


@dataclass(frozen=True)
class RunSettings:
    """How to decode one prompt.

    Attributes:
        method: ``"autoregressive"`` (target alone), ``"synchronous"`` (draft and target take
            turns), ``"speculator"`` (heads on the target's own state propose, and no draft model
            runs), ``"amusd"`` (both run all the time) or ``"amusd+speculator"`` (AMUSD in which the
            heads step in where the target would wait for the draft).
        max_new_tokens: exact length limit of the output.
        sampling: how the target chooses; see :class:`~amusd_viz.events.Sampling`.
        policy: how many proposals the target waits for (both AMUSDs): ``"paper"``, ``"eager"``,
            ``"fixed(3)"``, ``"confidence(0.5)"`` or ``"adaptive"``, which sets the draft's
            run-ahead too, and lets a draft that does not pay take turns or rest. A speculator
            drafts before every pass; with ``"adaptive"`` it drafts as many tokens as pay, or none,
            and steps in for a draft only while that pays. What ``"adaptive"`` has measured serves the
            later runs of a session.
        lookahead: proposals a round (synchronous; of a speculator: how many heads speak).
        candidates: how many candidates of the speculator are judged at once; 1 is a chain, which is
            all that steps in beside a draft. With ``"adaptive"`` more than one is a tree that grows
            where it is likeliest to be right, as far as that pays.
        prompt_lookup: a speculator's heads are not asked where the text repeats itself; what followed
            there before is proposed instead, as far as a pass can judge (without a draft model only).
        run_ahead: how far past the last committed token the draft may go (both AMUSDs).
        unsure_below: proposals of lower probability carry the ``unsure`` flag; with
            ``"confidence(p)"`` it is p unless given.
        stop: the output is over when it holds one of these strings; its text ends before it.
        delays: seconds each side sleeps before a step, for tests of the schedule.
    """

    method: str = "amusd"
    max_new_tokens: int = 128
    sampling: ev.Sampling = _GREEDY
    policy: str = "paper"
    lookahead: int = 4
    candidates: int = 1
    prompt_lookup: bool = False
    run_ahead: int = 16
    unsure_below: float = 0.0
    stop: tuple[str, ...] = ()
    delays: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """(of the draft, of the target): step i sleeps for entry ``i % len``."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingError(
                f"method {self.method!r} is unknown; use one of {', '.join(METHODS)}"
            )
        _whole("max_new_tokens", self.max_new_tokens, 1, MAX_POSITIONS - 1)
        _whole("lookahead", self.lookahead, 1, MOST_RUN_AHEAD)
        _whole("candidates", self.candidates, 1, 64)
        _whole("run_ahead", self.run_ahead, 1, MOST_RUN_AHEAD)
        _number("unsure_below", self.unsure_below, 0, 1)
        _number("temperature", self.sampling.temperature, 0, 100)
        _number("top_p", self.sampling.top_p, 0, 1)
        if self.sampling.top_p == 0:
            raise SettingError("top_p is 0, which keeps no token; use a value above 0, up to 1")
        _whole("top_k", self.sampling.top_k, 0, 1 << 31)
        _number("min_p", self.sampling.min_p, 0, 1)
        _number("repetition_penalty", self.sampling.repetition_penalty, 0.01, 100)
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        _whole("seed", self.sampling.seed, 0, (1 << 63) - 1)
        try:
            policy = window_policy(self.policy)
        except ValueError as error:
            raise SettingError(str(error)) from None
        if self.steps_in and self.candidates != 1:
            raise SettingError(
                f"candidates is {self.candidates}, but beside a draft a speculator proposes a single "
                "chain; leave it at 1, or use the method 'speculator'"
            )
        if self.prompt_lookup and not self.drafts_alone:
            raise SettingError(
                "prompt_lookup stands in for the heads of a speculator where no draft model runs; use "
                f"it with the method 'speculator', not with {self.method!r}"
            )
        if isinstance(policy, Confidence) and not self.unsure_below and self.runs_free:
            object.__setattr__(self, "unsure_below", policy.probability)

    def check_rows(self, rows: int) -> None:
        """Refuses a lookahead whose window would not fit one pass of ``rows`` rows."""
        if self.method in TAKING_TURNS and self.lookahead > rows - 1:
            raise SettingError(
                f"lookahead {self.lookahead} needs passes of {self.lookahead + 1} rows, this session "
                f"has {rows}; use a lookahead up to {rows - 1}, or open Session(rows=...) with more"
            )

    def window_policy(self) -> WindowPolicy:
        """The target's policy; a fresh one, since policies may keep statistics."""
        if self.method == "autoregressive":
            return Fixed(0, "none")
        if self.method == "synchronous":
            return Fixed(self.lookahead, f"lookahead({self.lookahead})")
        if self.method == "speculator":
            adaptive = self.policy == "adaptive"
            tree = "tree" if adaptive else f"tree({self.candidates})"
            name = tree if self.candidates > 1 else "chain"
            name += ", prompt lookup" * self.prompt_lookup
            name += ", adaptive" * adaptive
            return Fixed(0, name)
        return window_policy(self.policy)

    def run_ahead_policy(self) -> RunAheadPolicy:
        """The draft's policy; a fresh one."""
        if self.method in TAKING_TURNS:
            return TakeTurns(self.lookahead)
        if isinstance(self.window_policy(), AdaptiveWindow):
            return AdaptiveRunAhead(self.run_ahead)
        return ConstantRunAhead(self.run_ahead)

    @property
    def uses_draft(self) -> bool:
        """Whether a draft model takes part, in a process of its own."""
        return self.method not in ("autoregressive", "speculator")

    @property
    def runs_free(self) -> bool:
        """Whether draft and target run all the time."""
        return self.uses_draft and self.method not in TAKING_TURNS

    @property
    def uses_speculator(self) -> bool:
        """Whether heads inside the target's process take part."""
        return self.drafts_alone or self.steps_in

    @property
    def drafts_alone(self) -> bool:
        """Whether those heads are the only drafter."""
        return self.method == "speculator"

    @property
    def steps_in(self) -> bool:
        """Whether they step in where the target would wait for the draft model."""
        return self.method == "amusd+speculator"


def check_fits(prompt_tokens: int, max_new_tokens: int, context: int) -> None:
    """Refuses a prompt that leaves no room for the output.

    Raises:
        PromptError: prompt and output together exceed the models' context.
    """
    context = min(context, MAX_POSITIONS)
    if prompt_tokens + max_new_tokens > context:
        room = context - prompt_tokens
        fewer = f", or ask for at most {room} new tokens" if room > 0 else ""
        raise PromptError(
            f"the prompt has {prompt_tokens} tokens and max_new_tokens is {max_new_tokens}; together "
            f"they exceed the context of {context} tokens. Shorten the prompt{fewer}"
        )


def _stop_strings(stop: Any) -> tuple[str, ...]:
    """One string or several; a list of a thousand would be tried at every token."""
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if not all(isinstance(one, str) for one in stops):
        raise SettingError(f"stop must be a string or a list of strings, not {stop!r:.60}")
    if not all(stops):
        raise SettingError("a stop string is empty, which would end every output at once; drop it")
    if len(stops) > MOST_STOPS or any(len(one) > LONGEST_STOP for one in stops):
        raise SettingError(
            f"stop holds {len(stops)} strings of up to {max(map(len, stops))} characters; "
            f"at most {MOST_STOPS} of {LONGEST_STOP} are allowed"
        )
    return stops


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingError(f"{name} must be a whole number, not {value!r}")
    if not low <= value <= high:
        raise SettingError(f"{name} is {value}; it must lie between {low} and {high}")


def _number(name: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SettingError(f"{name} must be a number, not {value!r}")
    if not low <= value <= high:
        raise SettingError(f"{name} is {value}; it must lie between {low} and {high}")
