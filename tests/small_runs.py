"""A run of some tokens in virtual time, whose draft is wrong at every fourth position."""

from __future__ import annotations

import msgspec

from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

MS = 1_000_000


def small_run(
    method: str = "amusd",
    *,
    words: dict[int, str] | None = None,
    tokens: int = 30,
    prompt: str = "",
) -> Trace:
    """Token ids are 0 to 11; ``words`` gives some of them a text. Heads are wrong at every third."""
    target = [i * 7 % 11 for i in range(tokens + 20)]
    draft = [t if i % 4 else t + 1 for i, t in enumerate(target)]
    timing = Timing(
        draft=5 * MS,
        target=lambda k: (20 + k) * MS,
        latency_to_target=MS // 10,
        latency_to_draft=MS // 10,
        target_prefill=12 * MS,
        draft_prefill=4 * MS,
        head=MS,
    )
    heads = [t if i % 3 else t + 1 for i, t in enumerate(target)]
    text = Text(target, draft, words or {}, heads=heads)
    trace = simulate(text, timing, method=method, max_new_tokens=tokens)
    return Trace(msgspec.structs.replace(trace.header, prompt=prompt), trace.events)
