"""Presses the buttons as a policy would: the device whose clock is behind acts next.

At equal times the target goes first, so that a draft that starts a step has heard what was committed
by then: the order of the simulator and of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from amusd_viz.by_hand.run import ByHand
from amusd_viz.by_hand.state import State
from amusd_viz.errors import SettingError
from amusd_viz.protocol import ConstantRunAhead, Step, TakeTurns
from amusd_viz.simulate.driver import window_policy_of

LOOKAHEAD = 4


@dataclass(frozen=True)
class Score:
    """How one way of scheduling did on the same text; times in ns.

    Attributes:
        name: of the policy, or of the person.
        duration: from the first token to the last.
        tokens: output tokens.
        wasted: time the draft spent on what does not stand in the output.
        waited: time the target did nothing.
    """

    name: str
    duration: int
    tokens: int
    wasted: int
    waited: int

    @property
    def per_token(self) -> float:
        """ns a token, the first one not counted."""
        return self.duration / max(1, self.tokens - 1)


def finish_by(run: ByHand, policy: str = "paper") -> ByHand:
    """Plays the rest as a policy would, as one press that can be taken back.

    Raises:
        SettingError: an unknown policy, or nothing is left to play.
    """
    if run.state.done:
        raise SettingError("the text is complete; undo a press first")
    state = run.state.copied()
    state.target.policy = window_policy_of(policy)
    play(run, state)
    state.sentence = f"“{policy}” played the rest. {_outcome(run, state)}"
    run.leap(state, f"finish by {policy}")
    return run


def play(run: ByHand, state: State, *, drafting: bool = True) -> State:
    """Carries a state to its end, in place."""
    while not state.done:
        _next_act(run, state, drafting)
    return state


def _next_act(run: ByHand, state: State, drafting: bool) -> None:
    if drafting and not _target_is_next(state):
        _draft_acts(run, state)
    elif state.verifying:
        run.act("finish", state)
    elif state.proposals and state.proposals[0][0] <= state.target_clock:
        run.act("receive", state)
    elif state.target.next_step() is Step.VERIFY or not drafting:
        run.act("start", state)
    else:
        # The draft cannot act before the target does, or it would have been its turn.
        run.act("receive", state)


def _target_is_next(state: State) -> bool:
    """Whether nothing the draft can do begins before the target's next act."""
    waits = state.target.next_step() is Step.WAIT and not state.verifying
    if waits and not _has_arrived(state):
        target = state.proposals[0][0] if state.proposals else None
    else:
        target = state.verifying[1] if state.verifying else state.target_clock
    if state.draft.pause() is None:
        draft: int | None = state.draft_clock
    else:
        draft = max(state.draft_clock, state.commits[0][0]) if state.commits else None
    assert target is not None or draft is not None, "each side waits for the other"
    return draft is None or (target is not None and target <= draft)


def _has_arrived(state: State) -> bool:
    return bool(state.proposals) and state.proposals[0][0] <= state.target_clock


def _draft_acts(run: ByHand, state: State) -> None:
    heard = state.commits and state.commits[0][0] <= state.draft_clock
    if heard or state.draft.pause() is not None:
        run.act("read", state)
    else:
        run.act("draft", state)


# -- the scoreboard ----------------------------------------------------------------------------


def scoreboard(run: ByHand, policies: tuple[str, ...] = ("paper", "eager")) -> list[Score]:
    """The run by hand, if it is over, and the same text by other schedules; the fastest first."""
    scores = [score(run, "you", run.state)] if run.state.done else []
    ahead = ConstantRunAhead(run.run_ahead)
    for name in policies:
        state = play(run, run.opened(window_policy_of(name), ahead))
        scores.append(score(run, f"AMUSD, {name}", state))
    turns = min(LOOKAHEAD, run.run_ahead)
    taking_turns = run.opened(window_policy_of(f"fixed({turns})"), TakeTurns(turns))
    scores.append(score(run, f"synchronous, lookahead {turns}", play(run, taking_turns)))
    alone = run.opened(window_policy_of("eager"), ahead)
    alone.target.lose_draft()
    scores.append(score(run, "autoregressive", play(run, alone, drafting=False)))
    return sorted(scores, key=lambda s: s.duration)


def score(run: ByHand, name: str, state: State) -> Score:
    """What a finished state came to."""
    figures = run.trace_of(state, name, "").metrics
    waits = figures.target.idle + figures.target.other if figures.target else 0.0
    return Score(
        name,
        duration=state.target_clock,
        tokens=len(state.target.committed),
        wasted=round(figures.doomed_seconds * 1e9),
        waited=round(waits * state.target_clock),
    )


def _outcome(run: ByHand, state: State) -> str:
    return f"{len(state.target.committed)} tokens by {state.target_clock / 1e6:.0f} ms."
