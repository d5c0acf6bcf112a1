"""Only the statistics of a simulated run, fast.

The protocol has no clock and no memory but its state: what one more verification leads to depends
only on the situation (how far each side is relative to the other, what is under way and when it
arrives) and on how many of the coming tokens agree. With steady times the same few situations come
again and again. Each is played once, by the simulation itself, and looked up from then on.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from amusd_viz.errors import SettingError
from amusd_viz.protocol import Fixed, WindowPolicy
from amusd_viz.simulate.checks import whole
from amusd_viz.simulate.driver import MOST_TOKENS, Simulation, inside_target, sides
from amusd_viz.simulate.logs import Counter, Counts
from amusd_viz.simulate.text import NEVER, Acceptance, Text
from amusd_viz.simulate.timing import Timing

ENDLESS = 10**12
"""Length limit of the protocol's sides where a run ends by its count of tokens."""
MOST_SITUATIONS = 4000
"""Where more than these come up the rest of a run is played directly, slower but the same."""


@dataclass(frozen=True)
class Statistics:
    """What a run came to, from its first token on; times in ns."""

    counts: Counts
    time: int
    plain_time: int
    """What autoregressive decoding takes for the same tokens on the same target."""

    @property
    def speedup(self) -> float:
        """Over autoregressive decoding on the same target."""
        return self.plain_time / self.time

    @property
    def tokens_per_verification(self) -> float:
        return self.counts.tokens / self.counts.verifications

    @property
    def busy(self) -> dict[str, float]:
        """Share of the time that each side worked."""
        counts = self.counts
        return {"draft": counts.draft_busy / self.time, "target": counts.target_busy / self.time}

    @property
    def waste(self) -> float:
        """Share of the proposals that were drafted on a dead branch or killed it."""
        right = self.counts.accepted + self.counts.confirmed
        return 1 - right / self.counts.proposals if self.counts.proposals else 0.0


def simulate_statistics(
    acceptance: Acceptance,
    timing: Timing,
    *,
    method: str = "amusd",
    tokens: int,
    policy: str | WindowPolicy = "paper",
    lookahead: int = 4,
    run_ahead: int = 256,
    rows: int = 257,
    seed: int = 0,
    preemptible: bool = False,
    shared: bool = False,
    plain_step: int | None = None,
) -> Statistics:
    """Simulates at least ``tokens`` tokens behind the first one and returns what they came to.

    Args:
        acceptance: where the draft agrees.
        timing: how long steps and messages take.
        method: ``"amusd"``, ``"synchronous"``, ``"speculator"`` or ``"autoregressive"``.
        tokens: the run ends with the verification that commits the last of them.
        policy: how many proposals the target waits for (AMUSD only).
        lookahead: proposals a round (synchronous, speculator).
        run_ahead: how far ahead the draft may run (AMUSD only).
        rows: most tokens one target pass takes.
        seed: of the acceptance.
        preemptible: the draft drops the step it is in when its branch dies.
        shared: both models on one device.
        plain_step: a step of the plain decoding that ``speedup`` compares with (ns); by default
            the target's without proposals.

    Raises:
        SettingError: a number or name that makes no sense.
    """
    whole("tokens", tokens, 1, MOST_TOKENS)
    if method == "amusd+speculator":
        raise SettingError(
            "two drafters with an acceptance each have no statistics here; use simulate() with a "
            "Text that says what both propose, and measure its trace"
        )
    target, draft = sides(
        method,
        max_new_tokens=ENDLESS,
        policy=policy,
        lookahead=lookahead,
        run_ahead=run_ahead,
        rows=rows,
    )
    heads = method == "speculator"
    if heads:
        timing, shared = inside_target(timing), True
    simulation = Simulation(
        one_mismatch(),
        timing,
        target,
        draft,
        Counter(),
        preemptible=preemptible,
        shared=shared,
        heads=heads,
    )
    coming = _Coming(acceptance, seed)
    simulation.text.target.mismatch = coming.ahead
    simulation.prefill()
    coming.commit(1)
    counts = [0] * len(Counts._fields)
    time = 0
    if timing.steady and isinstance(target.policy, Fixed):
        simulation, time = _by_situations(simulation, coming, tokens, counts)
    time += _directly(simulation, coming, tokens - counts[0], counts)
    total = Counts(*counts)
    return Statistics(total, time, total.tokens * (plain_step or timing.target(0)))


def mean_decode_time(
    acceptance: Acceptance,
    timing: Timing,
    *,
    tokens: int,
    runs: int,
    method: str = "amusd",
    policy: str | WindowPolicy = "paper",
    lookahead: int = 4,
    run_ahead: int = 256,
    rows: int = 257,
) -> float:
    """From the first commit to the last of a run of exactly ``tokens`` tokens, on average (ns).

    Short runs are slower than the long run of :func:`simulate_statistics`: at the end proposals are
    still to be judged while nothing more is drafted, and at the start the draft may still be reading
    the prompt.

    Args:
        acceptance, timing, method, policy, lookahead, run_ahead, rows: as there.
        tokens: of each run, its first one included; at least 2.
        runs: how many are played, each with an acceptance of its own.

    Raises:
        SettingError: a number or name that makes no sense.
    """
    whole("tokens", tokens, 2, MOST_TOKENS)
    total = 0
    for seed in range(whole("runs", runs, 1, MOST_TOKENS)):
        target, draft = sides(
            method,
            max_new_tokens=tokens,
            policy=policy,
            lookahead=lookahead,
            run_ahead=run_ahead,
            rows=rows,
        )
        simulation = Simulation(one_mismatch(), timing, target, draft, Counter())
        coming = _Coming(acceptance, seed)
        simulation.text.target.mismatch = coming.ahead
        simulation.prefill()
        coming.commit(1)
        total += _directly(simulation, coming, tokens - 1, [0] * len(Counts._fields))
    return total / runs


class _Coming:
    """How many of the coming tokens agree before the next mismatch: ``ahead``."""

    def __init__(self, acceptance: Acceptance, seed: int) -> None:
        self._runs = acceptance.runs(seed)
        self.ahead = next(self._runs)

    def commit(self, tokens: int) -> None:
        self.ahead -= tokens
        while self.ahead < 0:
            self.ahead += 1 + next(self._runs)


def _by_situations(
    simulation: Simulation, coming: _Coming, tokens: int, counts: list[int]
) -> tuple[Simulation, int]:
    """Plays by looking up; returns the simulation to go on with and the time that passed (ns)."""
    atlas = _Atlas(simulation)
    here = atlas.start
    done = 0
    while done < tokens and len(atlas.known) < MOST_SITUATIONS:
        horizon = here.horizon or atlas.explore(here)
        agree = min(coming.ahead, horizon)
        passage = here.passages[agree] or atlas.play(here, agree)
        passage.times += 1
        done += passage.tokens
        coming.commit(passage.tokens)
        here = passage.to
    return _fork(here.simulation), atlas.add_up(counts)


def _directly(simulation: Simulation, coming: _Coming, tokens: int, counts: list[int]) -> int:
    """Plays verification by verification; returns the time that passed (ns)."""
    start, script, log, done = simulation.now, simulation.text.target, Counter(), 0
    simulation.log = log
    while done < tokens:
        script.mismatch = len(simulation.target.committed) + coming.ahead
        committed = len(simulation.next_verdict().tokens)
        coming.commit(committed)
        done += committed
    counts[:] = [a + b for a, b in zip(counts, log.counts(), strict=True)]
    return simulation.now - start


# -- situations ------------------------------------------------------------------------------


@dataclass(eq=False)
class _Passage:
    """One verification from a situation to the next one, played once and taken ``times`` times."""

    to: _Situation
    tokens: int
    time: int
    counts: Counts
    times: int = 0


@dataclass(eq=False)
class _Situation:
    """Where both sides stand at a verdict.

    ``passages[i]`` is taken when i of the coming tokens agree; the last one when all that the next
    verification commits do, and those are ``horizon``.
    """

    simulation: Simulation
    horizon: int = 0
    passages: list[_Passage | None] = field(default_factory=list)


class _Atlas:
    """The situations of one setting that have come up so far."""

    def __init__(self, simulation: Simulation) -> None:
        self.known: dict[Hashable, _Situation] = {}
        self.start = self._situation(simulation)

    def explore(self, here: _Situation) -> int:
        """Finds out how many tokens matter to the next verification."""
        passage = self._played(here, NEVER)
        here.horizon = passage.tokens
        here.passages = [None] * here.horizon + [passage]
        return here.horizon

    def play(self, here: _Situation, ahead: int) -> _Passage:
        here.passages[ahead] = passage = self._played(here, ahead)
        return passage

    def _played(self, here: _Situation, ahead: int) -> _Passage:
        simulation = _fork(here.simulation)
        simulation.text.target.mismatch = len(simulation.target.committed) + ahead
        start = simulation.now
        verdict = simulation.next_verdict()
        return _Passage(
            self._situation(simulation),
            len(verdict.tokens),
            simulation.now - start,
            simulation.log.counts(),
        )

    def _situation(self, simulation: Simulation) -> _Situation:
        return self.known.setdefault(_relative_state(simulation), _Situation(simulation))

    def add_up(self, counts: list[int]) -> int:
        """Adds what all passages came to to ``counts`` and returns the time they took (ns)."""
        time = 0
        for situation in self.known.values():
            for passage in situation.passages:
                if passage and passage.times:
                    time += passage.times * passage.time
                    for index, count in enumerate(passage.counts):
                        counts[index] += passage.times * count
        return time


def _fork(simulation: Simulation) -> Simulation:
    """A copy that can be played on without changing the original, with counts at zero."""
    fork = copy.copy(simulation)
    fork.log = Counter()
    fork.text = one_mismatch()
    fork.proposals, fork.commits = deque(simulation.proposals), deque(simulation.commits)
    fork.target = copy.copy(simulation.target)
    fork.target.committed = list(simulation.target.committed)
    fork.target.pending = deque(simulation.target.pending)
    if simulation.draft:
        fork.draft = copy.copy(simulation.draft)
        fork.draft.tokens = list(simulation.draft.tokens)
    return fork


def _relative_state(simulation: Simulation) -> Hashable:
    """All that the future can depend on, relative to now and to what is committed."""
    target, draft, now = simulation.target, simulation.draft, simulation.now
    if draft is None:
        return None
    committed, length = target.committed, len(target.committed)
    step = simulation.step
    return (
        len(target.pending),
        target.branch - draft.branch,
        target.dead_branch >= target.branch,
        len(draft.tokens) - length,
        draft.known - length,
        # What the draft has not heard of yet; its own tokens are ones.
        tuple(committed[draft.known :]),
        (step[0] - now, step[1] - now) if step else None,
        simulation.lacked,
        None if step or simulation.paused else simulation.draft_free - now,
        tuple((t - now, c.position - length, len(c.tokens)) for t, c in simulation.commits),
        tuple(
            (
                t - now,
                p.branch - draft.branch,
                p.position - length,
                p.position < length and p.token == committed[p.position],
            )
            for t, p in simulation.proposals
        ),
    )


def one_mismatch() -> Text:
    """A text without end that agrees but for at most one position, ``text.target.mismatch``."""
    return Text(_Target(), _Draft())


class _Draft:
    """The draft's tokens: ones."""

    def __getitem__(self, position: int) -> int:
        return 1


class _Target:
    """The target's tokens: ones, but a zero where the draft will be wrong next."""

    def __init__(self) -> None:
        self.mismatch = NEVER

    def __getitem__(self, positions: slice) -> list[int]:
        tokens = [1] * (positions.stop - positions.start)
        if positions.start <= self.mismatch < positions.stop:
            tokens[self.mismatch - positions.start] = 0
        return tokens
