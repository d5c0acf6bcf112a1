"""Whether drafting pays: rounds with it against rounds without, by what both were seen to cost.

For a drafter inside the target's process, which may simply be left unasked. Times are given, so that
this is as pure as the rest.
"""

from __future__ import annotations

from amusd_viz.protocol.rates import Ratio

FORGETS = 0.9
"""Weight of the past against the newest observation."""
TRIAL = 8
"""Rounds after which a judgement is made, at first and after every pause."""
LOOK_AGAIN = 256
"""Rounds with drafting after which plain steps are looked at anew: the text and the machine change."""
FIRST_PAUSE, LONGEST_PAUSE = 16, 256
"""Plain steps before drafting is tried again; twice as many after every trial that failed."""


class Payoff:
    """Answers :meth:`worth_drafting` before every pass, and is told what the pass came to.

    Args:
        trial: rounds after which drafting is judged.
        look: rounds without it that are seen first; more where they differ much.
    """

    def __init__(self, trial: int = TRIAL, look: int = 1) -> None:
        self._trial = trial
        self._look = look
        self._drafted = Ratio(FORGETS)
        self._plain = Ratio(FORGETS)
        self._rounds = 0
        self._since_look = 0
        """Rounds with drafting since plain steps were last seen."""
        self._pause = 0
        self._next_pause = FIRST_PAUSE

    def worth_drafting(self) -> bool:
        """Whether the next pass should have proposals.

        A look at plain steps comes after the first trial: without it nothing could be compared.
        """
        return self._pause == 0

    def passed(self, *, tokens: int, ns: int, proposals: int) -> None:
        """A pass committed ``tokens`` and took ``ns``, drafting included."""
        if proposals:
            self._drafted.add(tokens, ns)
            self._rounds += 1
            self._since_look += 1
            if self._rounds >= self._trial:
                self._judge()
        else:
            self._plain.add(tokens, ns)
            self._since_look = 0
            if self._pause:
                self._pause -= 1
                if not self._pause:
                    self._rounds = 0

    def _judge(self) -> None:
        if not self._plain.count or self._since_look >= LOOK_AGAIN:
            self._plain = Ratio(FORGETS)
            self._pause = self._look
        elif self._drafted.value < self._plain.value:
            self._pause, self._next_pause = (
                self._next_pause,
                min(2 * self._next_pause, LONGEST_PAUSE),
            )
            self._drafted = Ratio(FORGETS)
        else:
            self._next_pause = FIRST_PAUSE
