"""Whatever is pressed, the text is the target's own; undo is exact; the autopilot is the simulator."""

from __future__ import annotations

import msgspec
import pytest
from hand_pair import MS, MadeUpPair, recording_of
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz.by_hand import ByHand, RecordedPair, finish_by, recorded_pair, scoreboard
from amusd_viz.by_hand.pair import PairRecording
from amusd_viz.by_hand.run import ACTIONS
from amusd_viz.errors import NewerTraceError, NotATraceError, SettingError
from amusd_viz.protocol.messages import Fate
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.views.stepper_view import view

PRESSES = st.lists(st.sampled_from((*ACTIONS, "draft", "undo")), max_size=70)


def push(run: ByHand, presses: list[str]) -> None:
    """Presses what can be pressed, as a person would."""
    for action in presses:
        if action == "undo":
            run.undo()
        elif not run.why_not(action):
            run.press(action)


def seen(run: ByHand) -> bytes:
    """Everything a person can see."""
    return msgspec.json.encode([view(run), run.trace.dumps(), run.tokens])


@settings(max_examples=150, deadline=None)
@given(
    presses=PRESSES,
    salt=st.integers(0, 10_000),
    agrees=st.sampled_from((0, 40, 80, 100)),
    ends=st.sampled_from(((), (1, 2, 3))),
    policy=st.sampled_from(("paper", "eager", "fixed(5)")),
)
def test_nothing_that_is_pressed_changes_the_text(presses, salt, agrees, ends, policy):
    pair = MadeUpPair(salt, agrees, ends)
    run = ByHand(pair, max_new_tokens=10, run_ahead=5)
    alone = pair.alone(10)
    for action in presses:
        before = run.tokens
        push(run, [action])
        assert list(run.tokens) == alone[: len(run.tokens)]
        if action != "undo":
            assert run.tokens[: len(before)] == before, "committed text never moves"
    run.trace.check()
    if not run.state.done:
        finish_by(run, policy)
    assert list(run.tokens) == alone
    run.trace.check()


@settings(max_examples=80, deadline=None)
@given(presses=PRESSES, more=PRESSES, salt=st.integers(0, 10_000))
def test_undo_is_exact(presses, more, salt):
    run = ByHand(MadeUpPair(salt, 60), max_new_tokens=9, run_ahead=4)
    push(run, [p for p in presses if p != "undo"])
    before, count = seen(run), len(run.presses)
    push(run, [p for p in more if p != "undo"])
    if not run.state.done:
        finish_by(run)
    while len(run.presses) > count:
        run.undo()
    assert seen(run) == before


@settings(max_examples=80, deadline=None)
@given(presses=PRESSES, salt=st.integers(0, 10_000), start=st.integers(0, 6))
def test_the_recording_answers_as_the_models_do(presses, salt, start):
    pair = MadeUpPair(salt, 60)
    recorded = RecordedPair(recording_of(pair, 30), start)
    live = AfterStart(pair, recorded.recording.target[:start])
    runs = [ByHand(each, max_new_tokens=12, run_ahead=16) for each in (recorded, live)]
    for run in runs:
        push(run, presses)
    assert runs[0].state.events == runs[1].state.events
    assert runs[0].state.sentence == runs[1].state.sentence


class AfterStart(MadeUpPair):
    """The made-up models with some output read already."""

    def __init__(self, pair: MadeUpPair, read) -> None:
        super().__init__(pair.salt, pair.agrees)
        self.read = tuple(word.token for word in read)
        self.prompt_ids = (*MadeUpPair.prompt_ids, *self.read)

    def target_token(self, output):
        return super().target_token((*self.read, *output)) if len(output) else self._first()

    def _first(self):
        return MadeUpPair.target_token(self, self.read)

    def draft_token(self, output):
        return MadeUpPair(self.salt, self.agrees).draft_token((*self.read, *output))


@pytest.mark.parametrize("policy", ["paper", "eager", "fixed(4)"])
@pytest.mark.parametrize("draft_ms", [7, 14, 34, 50])
@pytest.mark.parametrize("salt", range(4))
def test_the_autopilot_schedules_as_the_simulator_does(policy, draft_ms, salt):
    pair = MadeUpPair(salt, 70, draft_ms=draft_ms)
    run = finish_by(ByHand(pair, max_new_tokens=30, run_ahead=8), policy)
    alone = pair.alone(30)
    drafted = [pair.draft_token(tuple(alone[:p])) for p in range(30)]
    simulated = simulate(
        Text(alone, drafted, astray=[WRONG] * 30),
        Timing(draft=draft_ms * MS, target=lambda k: 34 * MS, draft_prefill=0),
        max_new_tokens=30,
        policy=policy,
        run_ahead=8,
    )

    def passes(trace):
        return [(v.start, v.end, v.proposals, v.accepted) for v in trace.of(ev.Verified)]

    assert passes(run.trace) == passes(simulated)
    rollbacks = [[r.t for r in t.of(ev.RolledBack)] for t in (run.trace, simulated)]
    assert rollbacks[0] == rollbacks[1]


WRONG = 10**6


# -- the recorded moment ---------------------------------------------------------------------


def test_the_sunlight_rollback_by_hand():
    run = ByHand(recorded_pair(start=90), max_new_tokens=12)
    for action in ("draft", "draft", "receive", "start", "draft", "draft", "draft", "finish"):
        run.press(action)
    assert "does not know it yet" in run.state.sentence
    assert run.state.dead_from == 2
    believed = run.text(run.state.draft.tokens[2:])
    assert believed.startswith(" light encounters these")
    run.press("draft")
    assert "You spent" in run.state.sentence
    assert "already rejected" in run.state.sentence
    assert run.state.wasted == run.pair.recording.draft_ns
    run.press("read")
    assert "rolls back" in run.state.sentence
    assert "did not move" in run.state.sentence
    assert run.tokens == tuple(w.token for w in run.pair.recording.target[90:93])
    finish_by(run)
    assert run.text() == "".join(w.text for w in run.pair.recording.target[90:102])
    fates = run.trace.fates
    assert fates[0, 2] is Fate.CONTRADICTED
    assert [s.name for s in scoreboard(run)].count("you") == 1


def test_a_person_can_beat_the_policies_on_the_scoreboard_only_in_time():
    run = finish_by(ByHand(recorded_pair(start=90), max_new_tokens=12), "paper")
    scores = {s.name: s for s in scoreboard(run, ("paper", "eager"))}
    assert scores["you"].duration == scores["AMUSD, paper"].duration
    assert len({s.tokens for s in scores.values()}) == 1
    assert scores["autoregressive"].wasted == 0
    recording = run.pair.recording
    assert scores["autoregressive"].duration == 11 * recording.target_ns


# -- greyed buttons and senseless numbers ----------------------------------------------------


def test_greyed_buttons_say_why():
    run = ByHand(MadeUpPair(agrees=100), max_new_tokens=8, run_ahead=2)
    assert run.why_not("read").startswith("Nothing has been sent")
    assert run.why_not("finish") == "No verification is running."
    run.press("draft").press("draft")
    assert "as far ahead" in run.why_not("draft")
    run.press("start")
    assert "finish it first" in run.why_not("start")
    assert "verifying" in run.why_not("receive")
    with pytest.raises(SettingError, match="cannot be done now: A verification"):
        run.press("start")
    with pytest.raises(SettingError, match="no action 'jump'"):
        run.press("jump")
    finish_by(run)
    assert {b.why_not for b in run.buttons()} == {"The text is complete."}
    with pytest.raises(SettingError, match="complete"):
        finish_by(run)
    labels = [b.label for b in ByHand(MadeUpPair()).press("draft").buttons()]
    assert "Wait 14 ms for a proposal" in labels


def test_a_verification_cannot_start_before_its_proposals_have_arrived():
    run = ByHand(MadeUpPair(agrees=100), max_new_tokens=8).press("draft").press("draft")
    assert "without proposals" in {b.action: b.label for b in run.buttons()}["start"]
    run.press("receive").press("receive")
    assert run.state.target_clock == 28 * MS
    waits = [(w.start, w.end) for w in run.trace.of(ev.Waited)]
    assert waits == [(0, 14 * MS), (14 * MS, 28 * MS)]
    run.press("start").press("finish")
    assert run.trace.of(ev.Verified)[-1].proposals == 2


@pytest.mark.parametrize(
    "wrong", [{"max_new_tokens": 0}, {"max_new_tokens": 31}, {"run_ahead": 17}, {"rows": 0}]
)
def test_senseless_numbers_are_refused(wrong):
    pair = RecordedPair(recording_of(MadeUpPair(), 30))
    with pytest.raises(SettingError):
        ByHand(pair, **wrong)
    with pytest.raises(SettingError, match="start is 30"):
        RecordedPair(pair.recording, 30)


def test_files(tmp_path):
    recording = recording_of(MadeUpPair(), 20)
    path = recording.save(tmp_path / "new" / "pair.json")
    assert PairRecording.load(path) == recording
    path.write_text(path.read_text().replace('"schema":1', '"schema":2'))
    with pytest.raises(NewerTraceError, match="schema 2"):
        PairRecording.load(path)
    path.write_text('{"kind":"header"}')
    with pytest.raises(NotATraceError):
        PairRecording.load(path)
    with pytest.raises(SettingError, match="no recorded pair named 'moon'"):
        recorded_pair("moon")
