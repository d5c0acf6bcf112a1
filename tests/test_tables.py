"""Tables are deterministic as text, escaped as HTML, and honest about equal output."""

from __future__ import annotations

import msgspec

from amusd_viz import events as ev
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace
from amusd_viz.views.tables import first_divergence, same_text, summary_table

MS = 1_000_000
TARGET = [5, 6, 7, 8, 9, 10, 11, 12]
HOSTILE = "<img src=x onerror=alert(1)>\n\x1b[31m\u202ered"


def run(method: str = "amusd", target: list[int] = TARGET, **header) -> Trace:
    timing = Timing(draft=5 * MS, target=lambda k: 20 * MS, target_prefill=9 * MS)
    words = {token: f" w{token}" for token in range(20)}
    text = Text(target + [0] * 20, [*target[:3], 1, *target[4:], *[0] * 20], words)
    trace = simulate(text, timing, method=method, max_new_tokens=len(target))
    return Trace(msgspec.structs.replace(trace.header, **header), trace.events)


def numerics(rows: int = 8) -> ev.Numerics:
    return ev.Numerics(
        dtype="bf16", kernel="eager", rows=rows, cache_length=512, threads=1, device="cpu"
    )


def test_summary_is_the_same_text_every_time():
    traces = [run("autoregressive"), run("synchronous"), run("amusd")]
    text = repr(summary_table(*traces))
    assert text == repr(summary_table(*traces))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["autoregressive", "synchronous", "AMUSD"]
    assert len({len(line) for line in lines[:5]}) == 1, "columns are aligned"
    assert lines[5] == "Token ids: identical, all 8 of them, in all 3 runs."


def test_summary_shows_undefined_figures_as_a_dash():
    cells = repr(summary_table(run("autoregressive"))).splitlines()[2].split()
    assert cells == ["autoregressive", "simulated", "8", "50.0", "–", "1.00", "0", "–", "0%"]


def test_runs_of_one_method_are_told_apart():
    text = repr(summary_table(run(policy="paper"), run(policy="eager"), run(policy="eager")))
    names = [line.split("  ")[0] for line in text.splitlines()[2:5]]
    assert names == [
        "AMUSD, paper, constant(16)",
        "AMUSD, eager, constant(16) #1",
        "AMUSD, eager, constant(16) #2",
    ]


def test_hostile_header_is_text_in_both_forms():
    table = summary_table(
        run(), Trace(msgspec.structs.replace(run().header, method=HOSTILE), run().events)
    )
    html = table._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html
    text = repr(table)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "⟨U+202E⟩" in text
    assert len(text.splitlines()) == 5


def test_identical_is_claimed_only_for_one_numerics_key():
    one, same = run(numerics=numerics()), run("synchronous", numerics=numerics())
    other = run("synchronous", numerics=numerics(rows=16))
    assert "identical" in same_text(one, same)
    assert "identical" not in same_text(one, other)
    assert same_text(one, other).startswith("Token ids: equal in these 2 runs")


def test_divergence_is_reported_with_position_and_tokens():
    changed = [*TARGET[:4], 13, *TARGET[5:]]
    one, other = run(numerics=numerics()), run("synchronous", changed, numerics=numerics(rows=16))
    assert first_divergence(one, other) == 4
    line = same_text(one, other)
    assert 'position 4, " w9" (9) in AMUSD and " w13" (13) in synchronous' in line
    assert "may happen" in line
    broken = run("synchronous", changed, numerics=numerics())
    assert "must not happen" in same_text(one, broken)


def test_shorter_run_is_named():
    line = same_text(run(), run("synchronous", TARGET[:5]))
    assert line == "Token ids: equal for 5 tokens; there synchronous ends and AMUSD goes on."


def test_runs_of_different_prompts_are_not_compared():
    line = same_text(run(prompt="a", prompt_ids=(1,)), run("synchronous", prompt="b"))
    assert line == "Not comparable: AMUSD and synchronous differ in prompt tokens and prompt."
