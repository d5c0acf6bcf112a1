"""What followed when the last tokens stood in the text before: proposals that cost nothing.

Known as prompt lookup, or n-gram speculation. A text that copies from its prompt, or goes in circles, is
foretold without any model. A speculator's heads are blind there: what is copied stands far back, and the
target looks it up only when it comes to that token.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 2
"""So many last tokens must agree. On the default target's answers what followed a single one is right
less often than a head is, and what followed two more often."""
MOST = 16
"""No more are compared."""


def look_up(tokens: Sequence[int], most: int) -> tuple[int, ...]:
    """The tokens that followed the longest earlier occurrence of the last tokens.

    Of equally long ones the latest. What is copied may run into the end of the text: it then goes on
    from its own beginning, as a text in a circle does.

    Args:
        tokens: prompt and output so far.
        most: how many may be proposed.

    Returns:
        As many tokens as agree, and at most ``most``: the longer the past is the same, the longer the
        future is. None where fewer than :data:`LEAST` agree.
    """
    seen = list(tokens)
    last = len(seen) - 1
    longest, follows = 0, 0
    for place in reversed(range(last)):
        if seen[place] != seen[last]:
            continue
        agree = 1
        while agree < min(MOST, place + 1) and seen[place - agree] == seen[last - agree]:
            agree += 1
        if agree > longest:
            longest, follows = agree, place + 1
        if longest == MOST:
            break
    if longest < LEAST:
        return ()
    for place in range(follows, follows + min(longest, most)):
        seen.append(seen[place])
    return tuple(seen[last + 1 :])
