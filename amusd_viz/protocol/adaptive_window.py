"""A window policy that chooses its wait, its window and the draft's pace from what it measures.

The model behind it is that of AMUSD's closed form: from one mismatch to the next a cycle yields the
same number of tokens, 1/(1-α), whatever is waited for; so the best wait is the one whose cycle is
shortest. With a draft step c, a restart that is late by d, a pass over k proposals that takes v(k),
and acceptance α, a cycle lasts

    wait m >= 1:   d + m c + v(m) + T α^(m+1) / (1 - α^q),      T = max(v(q-1), (m+1) c),  q = T/c
    wait 0:        v(0) + α v(q-1) (1 + α^r / (1 - α^q)),       q = v/c,  r = (v-d)/c

(first the window after a restart, then windows in step with the draft, each needed if everything
before it agreed). Windows are cut where a further proposal costs more time than it yields.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from amusd_viz.protocol.messages import Proposal
from amusd_viz.protocol.pace import Pace, PaceChoice
from amusd_viz.protocol.policies import NO_LIMIT, WindowPolicy
from amusd_viz.protocol.rates import Duration, Rate

LONGEST_WAIT = 16
"""Proposals; waiting for more has never paid in theory with a draft worth having."""
LARGEST_WINDOW = 64
"""Proposals; larger ones are not told apart."""
HALF = 0.5
"""A draft hears of a mismatch halfway through a step, on average, and finishes it."""
WORTH_A_LOOK = 0.4
"""A draft whose step seems shorter than this share of a pass is waited for once, to measure it."""
SEEN_ENOUGH = 3
"""A size of window judged less often is taken to cost what the next smaller one does."""
ONE_LOOK = 0.005
"""Share of a pass: proposals taken in closer together than this had both been there already."""
FORGOTTEN_AFTER = 100
"""Passes after which the cost of a size that was not judged again is no longer believed."""
SURE = 0.995
"""No acceptance above this is believed, so that a cycle has an end."""


class AdaptiveWindow(WindowPolicy):
    """Never waits until it has measured the draft's step; then for what makes cycles shortest."""

    name = "adaptive"

    def __init__(self) -> None:
        self._agreement = Rate(successes=2.0, trials=3.0)
        self._step = Duration()
        """The draft's, as seen while the target waited."""
        self._rough_step = Duration()
        """The same from how many proposals came during a pass; too long where the draft paused."""
        self._late = Duration()
        self._passes: dict[int, Duration] = {}
        self._undisturbed: dict[int, Duration] = {}
        """Of passes beside a draft that takes turns: it works for one step of each."""
        self._seen: dict[int, int] = {}
        """The number of the last pass of each size."""
        self._number = 0
        self._wait = 0
        self._most = NO_LIMIT
        self._verdict_at = 0
        self._one_look = 0.0
        """Time within which proposals count as taken in together (ns)."""
        self._branch = 0
        self._last_arrival: int | None = None
        """Of the branch, if the target was idle, so that it is exact."""
        self._new_in_pass = 0
        """Proposals of a branch that began during the pass that is going on."""
        self._pace = PaceChoice()
        self._turn = 1
        """Proposals of a turn, where draft and target take turns."""

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        if self._pace.now is Pace.TURNS:
            return self._turn
        return 0 if self._pace.now is Pace.ALONE else self._wait

    def rests(self) -> bool:
        return self._pace.now is not Pace.FREE

    def most(self) -> int:
        return self._turn if self._pace.now is Pace.TURNS else self._most

    # -- what is observed --------------------------------------------------------------------

    def judged(self, *, proposed: int, accepted: int) -> None:
        self._agreement.count(accepted, min(proposed, accepted + 1))

    def compared(self, *, agreed: bool) -> None:
        self._agreement.count(int(agreed), 1)

    def arrived(self, proposal: Proposal, *, at: int, idle: bool) -> None:
        first = proposal.branch != self._branch
        self._branch = proposal.branch
        if not idle:
            self._last_arrival = None
            if first:
                self._new_in_pass = 0
            if first or self._new_in_pass:
                self._new_in_pass += 1
            return
        if first:
            since = at - self._verdict_at
            if self._step.value:
                self._late.add(since - self._step.value)
            else:
                self._step.add(since / (1 + HALF))
        elif self._last_arrival is not None and at - self._last_arrival > self._one_look:
            self._step.add(at - self._last_arrival)
        self._last_arrival = at

    def passed(self, *, proposals: int, tokens: int, start: int, end: int) -> None:
        since, free = self._verdict_at or start, self._pace.now is Pace.FREE
        if self._new_in_pass and self._verdict_at:
            # It was in a step when it heard, and is in one now: half a step each.
            self._rough_step.add((end - self._verdict_at) / (self._new_in_pass + 1))
        self._new_in_pass = 0
        self._verdict_at = end
        self._last_arrival = None
        if free:
            size = min(proposals, LARGEST_WINDOW)
            self._number += 1
            self._seen[size] = self._number
            self._passes.setdefault(size, Duration()).add(max(1, end - start))
            self._choose()
        elif proposals == self._turn:
            self._undisturbed.setdefault(proposals, Duration()).add(max(1, end - start))
        self._pace.passed(proposals=proposals, tokens=tokens, since=since, start=start, end=end)
        if self._passes:
            costs = self._costs()
            self._pace.choose(beside=costs[0], turns=self._expected_of_turns(costs))

    def learn_from(self, earlier: WindowPolicy) -> None:
        if not isinstance(earlier, AdaptiveWindow):
            return
        vars(self).update(vars(copy.deepcopy(earlier)))
        # What is left belongs to the earlier run, whose clock and branches were others.
        self._verdict_at = self._branch = self._new_in_pass = 0
        self._last_arrival = None

    # -- what follows ------------------------------------------------------------------------

    def _choose(self) -> None:
        costs = self._costs()
        self._one_look = ONE_LOOK * costs[0]
        acceptance = min(SURE, self._agreement.value)
        self._most = _best_window(costs, acceptance)
        step = self._step.value or self._rough_step.value
        if step is None:
            return
        late = self._late.value or step * HALF
        # A step at a time: all waits at once would cost the target more than the last step gains.
        nearby = range(max(0, self._wait - 1), min(LONGEST_WAIT, self._most, self._wait + 1) + 1)
        self._wait = min(
            nearby or (0,), key=lambda wait: _cycle(wait, costs, acceptance, step, late)
        )
        if not self._step.count and step < WORTH_A_LOOK * costs[0]:
            self._wait = min(1, self._most)

    def _expected_of_turns(self, costs: Sequence[float]) -> float | None:
        """Tokens per ns if the draft took turns with the target, in turns as long as pays."""
        alone, step = self._pace.alone, self._step.value or self._rough_step.value
        if alone is None or step is None:
            return None
        acceptance = min(SURE, self._agreement.value)
        tokens, rates = 1.0, {}
        for size in range(1, len(costs)):
            tokens += acceptance**size
            if (cost := self._cost_in_turns(size, costs, alone, step)) is not None:
                rates[size] = tokens / (size * step + cost)
        if not rates:
            return None
        self._turn = max(rates, key=rates.__getitem__)
        return rates[self._turn]

    def _cost_in_turns(
        self, size: int, costs: Sequence[float], alone: float, step: float
    ) -> float | None:
        """Time of a pass beside which the draft makes one step (ns); ``None`` where none was seen yet."""
        seen = self._undisturbed.get(size)
        if seen:
            return seen.value
        known = self._passes.get(size)
        if known is None or known.count < SEEN_ENOUGH:
            return None
        undisturbed = max(0.0, 1 - step / costs[size])
        return costs[size] - undisturbed * max(0.0, costs[0] - alone)

    def _costs(self) -> list[float]:
        """Time of a pass by the size of its window, never falling (ns); the last one goes on."""
        for size in [k for k, n in self._seen.items() if n < self._number - FORGOTTEN_AFTER]:
            del self._seen[size], self._passes[size]
        known = {k: d.value for k, d in self._passes.items() if d.count >= SEEN_ENOUGH}
        known = known or {k: d.value for k, d in self._passes.items()}
        costs: list[float] = []
        for size in range(max(known) + 1):
            before = costs[-1] if costs else 0.0
            costs.append(max(before, known.get(size) or before))
        if not costs[0]:
            first = next(cost for cost in costs if cost)
            costs = [cost or first for cost in costs]
        return costs


def _best_window(costs: Sequence[float], acceptance: float) -> int:
    """The window that yields most tokens in its time; no limit where larger ones cost no more."""
    best, best_rate, tokens, power = 0, 0.0, 0.0, 1.0
    for size, cost in enumerate(costs):
        tokens += power
        power *= acceptance
        if tokens / cost >= best_rate:
            best, best_rate = size, tokens / cost
    return NO_LIMIT if best == len(costs) - 1 else best


def _cycle(wait: int, costs: Sequence[float], acceptance: float, step: float, late: float) -> float:
    """Time from one mismatch to the next (ns)."""

    def cost(proposals: float) -> float:
        return costs[max(0, min(len(costs) - 1, round(proposals)))]

    pace = max(cost(wait), (wait + 1) * step)
    for _ in range(3):  # The pass depends on its window, which depends on the pass.
        pace = max(cost(pace / step - 1), (wait + 1) * step)
    taken = max(1.0, pace / step)
    in_step = pace / (1 - acceptance**taken)
    if wait:
        return late + wait * step + cost(wait) + acceptance ** (wait + 1) * in_step
    first = max(1.0, (cost(0) - late) / step)
    return cost(0) + acceptance * (cost(first - 1) + acceptance**first * in_step)
