"""The simulator against what the published AMUSD implementation measured on two GPUs.

Means over one recorded prompt each (Llama 3.1 8B with Llama 3.2 1B as draft), the first sample of
every series left out as warm-up. Acceptance is taken from the synchronous run: accepted proposals
over those judged on a right prefix.

What the published numbers contain, and where it went: the clock of the synchronous run starts behind
both prefills, the asynchronous one's before them, so both are compared by their decode alone. The
synchronous draft drafts a fully accepted round's bonus token anew (``catching_up``). Verification
times of the asynchronous run contain its waits, so the synchronous run's are used. A real draft
finishes its step before it hears of a rejection.
"""

import pytest

from amusd_viz.simulate.expected import expected
from amusd_viz.simulate.statistics import simulate_statistics
from amusd_viz.simulate.text import Iid
from amusd_viz.simulate.timing import Constant, Timing

HUMANEVAL = {
    "acceptance": 0.95166,
    "synchronous": {"draft": 11.676, "target": 26.135, "measured": 17.875},
    "amusd": {"draft": 12.163, "target": 26.135, "measured": 13.787},
}
REFACTORCHAT = {
    "acceptance": 0.962,
    "synchronous": {"draft": 11.49, "target": 31.17, "measured": 18.3},
    "amusd": {"draft": 11.77, "target": 31.17, "measured": 13.07},
}


def timing(times):
    draft = round(times["draft"] * 1e6)
    return Timing(draft, Constant(round(times["target"] * 1e6)), catching_up=draft)


@pytest.mark.parametrize("run", [HUMANEVAL, REFACTORCHAT], ids=["HumanEval", "RefactorChat"])
@pytest.mark.parametrize(
    ("method", "settings"),
    [("synchronous", {"lookahead": 5}), ("amusd", {"policy": "paper"})],
)
def test_predicts_ms_per_token(run, method, settings):
    times = run[method]
    found = simulate_statistics(
        Iid(run["acceptance"]), timing(times), method=method, tokens=100_000, **settings
    )
    ms_per_token = found.time / found.counts.tokens / 1e6
    assert ms_per_token == pytest.approx(times["measured"], rel=0.05)


def test_a_correct_synchronous_loop_would_have_been_faster():
    times = HUMANEVAL["synchronous"]
    correct = Timing(round(times["draft"] * 1e6), Constant(round(times["target"] * 1e6)))
    found = expected(HUMANEVAL["acceptance"], correct, method="synchronous", lookahead=5)
    assert found.ns_per_token / 1e6 < 0.92 * times["measured"]
