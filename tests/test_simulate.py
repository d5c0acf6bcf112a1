"""The simulator: the protocol in virtual time, against closed forms and against itself."""

import signal
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.protocol import Fate
from amusd_viz.simulate import statistics, theory
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.simulate.statistics import simulate_statistics
from amusd_viz.simulate.text import Iid, PerHead, Profile, Recorded, agreement, text_of
from amusd_viz.simulate.timing import (
    Constant,
    Linear,
    Table,
    in_target_steps,
    replayed,
    with_jitter,
)

SENTENCE = ["the", "sky", "is", "blue", "because", "short", "waves", "scatter", "more"]


def stats(acceptance, ratio, *, tokens=300_000, latency=0.0, preemptible=True, **settings):
    return simulate_statistics(
        Iid(acceptance),
        in_target_steps(ratio, latency=latency),
        tokens=tokens,
        preemptible=preemptible,
        **settings,
    )


def words(agrees, seed=0):
    return text_of(agrees, SENTENCE, seed=seed)


# -- against the closed forms ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("acceptance", "lookahead", "ratio"),
    [(0.8, 5, 0.1), (0.8, 4, 0.2), (0.9, 5, 0.5), (0.5, 3, 0.1), (1, 5, 0.1)],
)
def test_synchronous_agrees_with_its_formula(acceptance, lookahead, ratio):
    found = stats(acceptance, ratio, method="synchronous", lookahead=lookahead)
    expected = theory.synchronous(acceptance, lookahead, ratio)
    assert found.speedup == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("acceptance", "wait", "ratio"),
    [
        (0.8, 3, 0.1),
        (0.8, 0, 0.1),
        (0.8, 2, 0.1),
        (0.9, 2, 0.2),
        (0.9, 2, 0.5),
        (0.95, 5, 0.05),
        (1, 2, 0.1),
        (1, 2, 0.5),
        (0, 0, 0.1),
    ],
)
def test_amusd_agrees_with_its_formula(acceptance, wait, ratio):
    found = stats(acceptance, ratio, policy=f"fixed({wait})")
    expected = theory.amusd(acceptance, wait, ratio)
    assert found.speedup == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("latency", [0.05, 0.2, 0.5])
def test_amusd_with_latency_agrees_with_its_formula(latency):
    found = stats(0.8, 0.1, policy="fixed(3)", latency=latency)
    assert found.speedup == pytest.approx(theory.amusd(0.8, 3, 0.1, latency), rel=0.01)


@pytest.mark.parametrize(
    ("acceptance", "wait", "ratio", "tokens"),
    [(0.8, 3, 0.1, 3.42), (0.9, 2, 0.2, 3.59), (0.95, 5, 0.05, 9.35)],
)
def test_tokens_per_verification(acceptance, wait, ratio, tokens):
    found = stats(acceptance, ratio, policy=f"fixed({wait})")
    assert found.tokens_per_verification == pytest.approx(tokens, rel=0.01)


def test_plain_decoding_is_the_unit():
    found = stats(0.5, 0.1, method="autoregressive", tokens=1000)
    assert (found.speedup, found.tokens_per_verification, found.counts.proposals) == (1, 1, 0)
    assert found.busy == {"draft": 0, "target": 1}


def test_a_real_draft_can_lose_where_a_preemptible_one_wins():
    real = stats(0.5, 0.45, policy="fixed(1)", preemptible=False)
    ideal = stats(0.5, 0.45, policy="fixed(1)", preemptible=True)
    plain_synchronous = theory.synchronous(0.5, 1, 0.45)
    assert real.speedup < plain_synchronous < ideal.speedup
    assert stats(0.91, 0.46, policy="fixed(1)", preemptible=False).speedup == pytest.approx(
        theory.amusd(0.91, 1, 0.46) / 1.066, rel=0.01
    )


def test_on_a_shared_device_asynchrony_gains_nothing():
    shared = stats(0.8, 0.2, shared=True, policy="fixed(4)")
    turns = stats(0.8, 0.2, method="synchronous", lookahead=4)
    own = stats(0.8, 0.2, policy="fixed(4)")
    assert shared.speedup == pytest.approx(turns.speedup, rel=0.01)
    assert shared.speedup < 0.9 * own.speedup
    assert sum(shared.busy.values()) == pytest.approx(1, abs=1e-3)


def test_a_tensor_parallel_target_can_win():
    timing = in_target_steps(0.1, tensor_parallel=1.6)
    rival = simulate_statistics(
        Iid(0.8),
        timing,
        method="synchronous",
        lookahead=5,
        tokens=100_000,
        plain_step=round(timing.target(0) * 1.6),
    )
    expected = theory.synchronous(0.8, 5, 0.1, tensor_parallel=1.6)
    assert rival.speedup == pytest.approx(expected, rel=0.01)
    assert rival.speedup > theory.best_wait(0.8, 0.1).speedup


# -- the quick way and the direct way --------------------------------------------------------

timings = st.builds(
    Timing,
    draft=st.integers(1, 12).map(lambda n: n * 10),
    target=st.one_of(
        st.integers(1, 20).map(lambda n: Constant(n * 10)),
        st.builds(Linear, st.integers(1, 20).map(lambda n: n * 10), st.integers(0, 9)),
    ),
    latency_to_target=st.integers(0, 15).map(lambda n: n * 10),
    latency_to_draft=st.integers(0, 15).map(lambda n: n * 10),
)
acceptances = st.one_of(
    st.builds(Iid, st.floats(0, 1)),
    st.builds(Profile, st.lists(st.floats(0, 1), min_size=1, max_size=4).map(tuple)),
    st.builds(Recorded, st.lists(st.booleans(), min_size=1, max_size=30).map(tuple)),
)
setups = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["amusd", "amusd", "synchronous", "autoregressive"]),
        "policy": st.sampled_from(["eager", "fixed(1)", "paper", "fixed(5)"]),
        "lookahead": st.integers(1, 6),
        "run_ahead": st.integers(1, 20),
        "rows": st.integers(1, 12),
        "preemptible": st.booleans(),
        "shared": st.booleans(),
    }
)


@settings(max_examples=60, deadline=None)
@given(acceptances, timings, setups, st.integers(0, 9))
def test_looking_up_situations_equals_playing_them(acceptance, timing, setup, seed):
    looked_up = simulate_statistics(acceptance, timing, tokens=300, seed=seed, **setup)
    limit, statistics.MOST_SITUATIONS = statistics.MOST_SITUATIONS, 0
    try:
        played = simulate_statistics(acceptance, timing, tokens=300, seed=seed, **setup)
    finally:
        statistics.MOST_SITUATIONS = limit
    assert looked_up == played


@settings(max_examples=60, deadline=None)
@given(acceptances, timings, setups, st.integers(0, 9))
def test_statistics_equal_those_of_the_trace(acceptance, timing, setup, seed):
    counted = simulate_statistics(acceptance, timing, tokens=80, seed=seed, **setup)
    text = words(agreement(acceptance, 140, seed))
    trace = simulate(text, timing, max_new_tokens=140, **setup).check()
    assert list(trace.tokens) == list(text.target[:140])
    verdicts = trace.of(ev.Verified)[1 : counted.counts.verifications + 1]
    assert sum(len(v.committed) for v in verdicts) == counted.counts.tokens
    assert sum(v.accepted for v in verdicts) == counted.counts.accepted
    assert verdicts[-1].end == counted.time
    assert sum(v.end - v.start for v in verdicts) == counted.counts.target_busy


# -- properties of the pre-emptible simulation -----------------------------------------------

sixths = st.integers(1, 12).map(lambda n: n / 12)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 0.98), sixths, st.integers(0, 9))
def test_never_waiting_is_never_below_plain_decoding(acceptance, ratio, seed):
    found = stats(acceptance, ratio, policy="eager", tokens=2000, seed=seed)
    assert found.speedup >= 1 - 1e-9


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), sixths, st.integers(0, 6), st.floats(0, 2))
def test_the_draft_bounds_the_speedup(acceptance, ratio, wait, latency):
    found = stats(acceptance, ratio, policy=f"fixed({wait})", latency=latency, tokens=2000)
    assert found.speedup <= 1 / ratio * (1 + 1e-2)


def speed(acceptance, ratio, wait, latency=0.0, seed=0):
    found = stats(
        acceptance, ratio, policy=f"fixed({wait})", latency=latency, tokens=3000, seed=seed
    )
    return found.speedup


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 0.98), sixths, st.integers(1, 6), st.integers(0, 9))
def test_asynchronous_is_never_below_synchronous(acceptance, ratio, wait, seed):
    turns = stats(acceptance, ratio, method="synchronous", lookahead=wait, tokens=3000, seed=seed)
    assert speed(acceptance, ratio, wait, seed=seed) >= turns.speedup * (1 - 1e-3)


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 0.98), st.lists(sixths, min_size=2, max_size=2), st.integers(0, 6))
def test_a_faster_draft_is_never_worse(acceptance, pair, wait):
    fast, slow = sorted(pair)
    assert speed(acceptance, fast, wait) >= speed(acceptance, slow, wait) * (1 - 1e-3)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0, 0.98), sixths, st.integers(0, 6), st.lists(st.floats(0, 2), min_size=2, max_size=2)
)
def test_latency_never_helps(acceptance, ratio, wait, pair):
    short, long = sorted(pair)
    at = [speed(acceptance, ratio, wait, latency) for latency in (short, long)]
    assert at[0] >= at[1] * (1 - 1e-3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 0.98), min_size=2, max_size=2), sixths, st.integers(0, 6))
def test_a_better_draft_is_never_worse(pair, ratio, wait):
    low, high = sorted(pair)
    assert speed(high, ratio, wait) >= speed(low, ratio, wait) * (1 - 1e-2)


# -- texts and their fates -------------------------------------------------------------------


def test_a_token_that_is_right_by_chance_dies_behind_a_mismatch():
    agrees = [True] * 4 + [False] + [True] * 20
    target = list(range(25))
    draft = [t if yes else 99 for t, yes in zip(target, agrees, strict=True)]
    text = Text(target, draft, astray=target)
    trace = simulate(text, Timing(100, Constant(400)), max_new_tokens=25).check()
    lucky = [
        p
        for p in trace.of(ev.Proposed)
        if p.branch == 0 and p.position > 4 and p.token == target[p.position]
    ]
    assert lucky
    dead = {Fate.AFTER_MISMATCH, Fate.NEVER_JUDGED, Fate.TOO_LATE}
    assert {trace.fates[p.branch, p.position] for p in lucky} <= dead


def test_every_fate_shows_in_some_simulated_run():
    seen = set()
    for policy in ("eager", "paper", "fixed(5)"):
        for latency, tokens in ((0, 60), (90, 61), (90, 62), (90, 63)):
            timing = Timing(60, Constant(200), latency, latency)
            text = words(agreement(Iid(0.7), tokens, 3))
            trace = simulate(text, timing, max_new_tokens=tokens, policy=policy, rows=4)
            seen |= set(trace.check().fates.values())
    assert seen == set(Fate)


def test_the_trace_is_marked_simulated_and_ends_at_the_limit():
    trace = simulate(words([True] * 30), in_target_steps(0.2), max_new_tokens=30)
    assert trace.header.source == "simulated"
    assert (len(trace.tokens), trace.finish.reason) == (30, "length")


def test_a_profile_agrees_by_its_place_after_a_mismatch():
    flags = agreement(Profile((1.0, 1.0, 0.0)), 9, 0)
    assert flags == [True, True, False] * 3


def test_a_recorded_agreement_is_kept_and_repeats():
    recorded = (True, False, False, True, True)
    assert agreement(Recorded(recorded), 10, 0) == list(recorded * 2)
    assert agreement(Recorded((True,)), 3, 0) == [True] * 3


@given(st.floats(0, 1), st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_an_iid_agreement_has_its_rate(rate, seed):
    flags = agreement(Iid(rate), 20_000, seed)
    assert sum(flags) / len(flags) == pytest.approx(rate, abs=0.02)


# -- times -----------------------------------------------------------------------------------


def test_a_measured_table_interpolates_and_goes_on():
    cost = Table.of({1: 100, 4: 130, 8: 150})
    assert [cost(k) for k in (0, 1, 3, 5, 7, 11)] == [100, 110, 130, 140, 150, 170]


def test_jitter_is_seeded_and_keeps_the_mean():
    timing = in_target_steps(0.2)
    first, second = (with_jitter(timing, 0.3, 7) for _ in range(2))
    steps = [first.draft_step() for _ in range(5000)]
    assert steps == [second.draft_step() for _ in range(5000)]
    assert sum(steps) / len(steps) == pytest.approx(timing.draft, rel=0.02)
    assert with_jitter(timing, 0, 7) is timing


def test_recorded_durations_come_in_their_order():
    timing = replayed(in_target_steps(0.2), draft=[5, 6], target=[40, 50, 60])
    assert [timing.draft_step() for _ in range(3)] == [5, 6, 5]
    assert [timing.target(k) for k in range(3)] == [40, 50, 60]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Iid(1.5),
        lambda: Iid(float("nan")),
        lambda: Profile(()),
        lambda: Recorded(()),
        lambda: in_target_steps(0),
        lambda: in_target_steps(-0.1),
        lambda: in_target_steps(0.1, latency=float("nan")),
        lambda: with_jitter(in_target_steps(0.1), -1, 0),
        lambda: Timing(0, Constant(5)),
        lambda: Table.of({}),
        lambda: stats(0.5, 0.1, tokens=0),
        lambda: stats(0.5, 0.1, tokens=10**12),
        lambda: stats(0.5, 0.1, method="magic"),
        lambda: stats(0.5, 0.1, policy="fixed(-1)"),
        lambda: stats(0.5, 0.1, method="synchronous", lookahead=0),
        lambda: simulate(words([True] * 5), in_target_steps(0.1), max_new_tokens=9),
    ],
)
def test_senseless_settings_are_refused_in_a_sentence(call):
    with pytest.raises(SettingError, match=r"give|use"):
        call()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_long_simulation_can_be_interrupted():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            stats(0.8, 0.1, tokens=10**8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_speculator_takes_turns_within_the_targets_process() -> None:
    """Its latency is nothing, whatever that of messages; else it is synchronous decoding."""
    found = stats(0.7, 0.05, method="speculator", lookahead=4, latency=0.8)
    assert found.speedup == pytest.approx(theory.synchronous(0.7, 4, 0.05), rel=0.02)
    text = words(agreement(Iid(0.7), 60, seed=3))
    timing = in_target_steps(0.05, latency=0.8)
    trace = simulate(text, timing, method="speculator", max_new_tokens=60).check()
    assert trace.header.draft.name == "imaginary speculator"
    assert trace.metrics.overlap == 0
    assert [p.side for p in trace.of(ev.Prefill)] == [ev.Side.TARGET]


def test_each_head_has_an_acceptance_of_its_own() -> None:
    rates = (0.6, 0.5, 0.8)
    found = simulate_statistics(
        PerHead(rates),
        in_target_steps(0.05),
        method="speculator",
        lookahead=3,
        tokens=100_000,
    )
    tokens = 1 + 0.6 + 0.6 * 0.5 + 0.6 * 0.5 * 0.8
    assert found.tokens_per_verification == pytest.approx(tokens, rel=0.01)
    assert found.speedup == pytest.approx(tokens / 1.15, rel=0.01)
    assert theory.speculator(rates, 0.05) == pytest.approx(tokens / 1.15)
    assert theory.speculator((0.7,) * 4, 0.05) == pytest.approx(theory.synchronous(0.7, 4, 0.05))


def test_how_many_heads_should_speak_follows_from_what_a_window_costs() -> None:
    rates = (0.6, 0.5, 0.4)
    assert theory.best_heads(rates, 0.01).setting == 3
    assert theory.best_heads(rates, 0.01, (1, 1.05, 1.6, 2.2)).setting == 1
    assert theory.best_heads(rates, 0.01, (1, 1.7, 2.4, 3.1)) == (0, 1.0)
    with pytest.raises(SettingError, match="give 4: over 0 to 3 proposals"):
        theory.speculator(rates, 0.01, (1, 1))


def test_heads_step_in_where_the_target_would_wait() -> None:
    tokens = 80
    draft = agreement(Iid(0.8), tokens, seed=3)
    text = words(draft)
    heads = [t if i % 3 else t + 1 for i, t in enumerate(text.target)]
    timing = replace(in_target_steps(0.2), head=10_000)
    plain = simulate(text, timing, method="amusd", max_new_tokens=tokens).check()
    run = simulate(
        replace(text, heads=heads), timing, method="amusd+speculator", max_new_tokens=tokens
    ).check()
    assert run.tokens == plain.tokens
    assert plain.metrics.target.waits
    assert not run.metrics.target.waits
    own = [p for p in run.of(ev.Proposed) if p.branch < 0]
    assert {run.fates[p.key] for p in own} >= {Fate.ACCEPTED, Fate.REJECTED}
    assert sum(h.accepted for h in run.metrics.heads.values()) > 10
    assert run.metrics.heads[0].judged > 0
    models = [p for p in run.of(ev.Proposed) if p.branch >= 0]
    assert any(run.fates[p.key] is Fate.ACCEPTED for p in models)
    with pytest.raises(SettingError, match="heads that step in"):
        simulate(text, timing, method="amusd+speculator", max_new_tokens=tokens)
    with pytest.raises(SettingError, match="two drafters"):
        stats(0.7, 0.1, method="amusd+speculator")
