"""The closed union of events: what is written can be read, and what makes no sense cannot."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amusd_viz import events as ev
from amusd_viz import protocol, stamp
from amusd_viz.protocol import Commit, ConstantRunAhead, DraftSide, Fate, Pause, Window

decode = msgspec.json.Decoder(ev.Event).decode
decode_packed = msgspec.msgpack.Decoder(ev.Event).decode

times = st.integers(0, 2**53 - 1)
small = st.integers(0, 2**31 - 1)
tokens = st.lists(small, max_size=4).map(tuple)
words = st.text(max_size=5)
probabilities = st.floats(0, 1)
candidates = st.lists(st.builds(ev.Candidate, small, words, probabilities), max_size=3).map(tuple)
sides = st.sampled_from(ev.Side)
span = {"start": times, "end": times}
place = {"branch": small, "position": small}

EVENTS = {
    ev.Prefill: st.builds(ev.Prefill, **span, side=sides, tokens=small),
    ev.Proposed: st.builds(
        ev.Proposed,
        **span,
        **place,
        token=small,
        text=words,
        probability=st.none() | probabilities,
        alternatives=candidates,
        unsure=st.booleans(),
        parent=st.none() | small,
    ),
    ev.Received: st.builds(ev.Received, t=times, side=sides, **place, count=small),
    ev.Dropped: st.builds(ev.Dropped, t=times, **place, fate=st.sampled_from(Fate)),
    ev.VerifyStarted: st.builds(ev.VerifyStarted, t=times, **place, tokens=tokens),
    ev.Verified: st.builds(
        ev.Verified,
        **span,
        **place,
        proposals=small,
        accepted=small,
        committed=tokens,
        texts=st.lists(words, max_size=3).map(tuple),
        extra=st.sampled_from(protocol.Extra),
        probabilities=st.lists(probabilities, max_size=3).map(tuple),
        alternatives=st.lists(candidates, max_size=2).map(tuple),
    ),
    ev.RolledBack: st.builds(
        ev.RolledBack, t=times, **place, length=small, adopted=tokens, discarded=tokens
    ),
    ev.CarriedOn: st.builds(ev.CarriedOn, t=times, known=small),
    ev.FastForwarded: st.builds(ev.FastForwarded, t=times, position=small, adopted=tokens),
    ev.Waited: st.builds(ev.Waited, **span, side=sides, reason=st.sampled_from(ev.Wait)),
    ev.Finished: st.builds(
        ev.Finished, t=times, reason=st.sampled_from(protocol.Finish), tokens=small
    ),
    ev.Failed: st.builds(ev.Failed, t=times, side=sides, what=words),
}


def test_every_event_of_the_union_is_tested_here() -> None:
    assert set(EVENTS) == set(ev.EVENT_TYPES)
    kinds = [t.__struct_config__.tag for t in ev.EVENT_TYPES]
    assert len(set(kinds)) == len(kinds)


@given(st.one_of(*EVENTS.values()))
def test_what_is_written_is_read(event: ev.Event) -> None:
    assert decode(msgspec.json.encode(event)) == event
    assert decode_packed(msgspec.msgpack.encode(event)) == event
    assert event.at == (event.end if isinstance(event, ev.Span) else event.t)
    assert event.side in ev.Side


@given(st.one_of(*EVENTS.values()))
def test_events_are_frozen(event: ev.Event) -> None:
    with pytest.raises(AttributeError):
        event.side = ev.Side.DRAFT  # type: ignore[misc]


def test_rounding_of_a_sum_of_probabilities_is_no_reason_to_refuse_a_trace() -> None:
    event = ev.Proposed(start=0, end=1, branch=0, position=0, token=1, probability=1.0000002)
    assert decode(msgspec.json.encode(event)) == event


def test_one_enumeration_serves_protocol_and_events() -> None:
    fates = {name for name, thing in vars(ev).items() if thing is Fate}
    assert fates == {"Fate"}
    reasons = {pause.value for pause in Pause} - {Pause.DONE.value}
    assert reasons == {wait.value for wait in ev.Wait} - {ev.Wait.PROPOSALS.value}
    assert {p: w.value for p, w in stamp.WAIT_OF_PAUSE.items()} == {
        p: p.value for p in Pause if p is not Pause.DONE
    }


def test_every_public_type_says_what_it_is() -> None:
    for name, thing in vars(ev).items():
        if inspect.isclass(thing) and thing.__module__ == ev.__name__ and not name.startswith("_"):
            assert thing.__doc__, name


# -- from outcomes of the protocol to events -----------------------------------------------------


def heard(*tokens: int, commit: tuple[int, ...]) -> list[ev.Event]:
    """The events of a draft with some tokens that hears one commit."""
    draft = DraftSide(run=1, max_new_tokens=9, end_tokens=(), run_ahead=ConstantRunAhead(9))
    for token in tokens:
        draft.propose(token)
    message = Commit(1, 0, commit)
    return stamp.commit_heard(5, message, draft.hear(message), draft, branch_before=0)


ARRIVAL: Callable[[int], ev.Received] = lambda count: ev.Received(  # noqa: E731
    t=5, side=ev.Side.DRAFT, branch=0, position=0, count=count
)


def test_a_commit_becomes_its_arrival_and_its_outcome() -> None:
    assert heard(1, 2, commit=(1,)) == [ARRIVAL(1), ev.CarriedOn(t=5, known=1)]
    assert heard(1, commit=(1, 2)) == [
        ARRIVAL(2),
        ev.FastForwarded(t=5, position=1, adopted=(2,)),
    ]
    assert heard(1, 2, 3, commit=(1, 7)) == [
        ARRIVAL(2),
        ev.RolledBack(t=5, branch=1, position=1, length=3, adopted=(7,), discarded=(2, 3)),
    ]


def test_a_window_becomes_the_start_of_a_verification() -> None:
    assert stamp.verify_started(4, Window(2, 7, (1, 5))) == ev.VerifyStarted(
        t=4, branch=2, position=7, tokens=(1, 5)
    )
