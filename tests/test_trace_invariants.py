"""Each contradiction that a trace may hold is refused, at the line where it shows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest

from amusd_viz.errors import BrokenTraceError
from amusd_viz.events import Verified
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace

Lines = list[dict]
Change = Callable[[Lines], int]
"""Breaks a trace and says at which line that must be noticed."""

MS = 1_000_000


def sound_lines() -> Lines:
    """A run in which everything happens: rollbacks, corrections, bonuses, late and dropped proposals."""
    target = [10 + i for i in range(12)]
    draft = [token if i % 4 else 9 for i, token in enumerate(target)]
    timing = Timing(
        draft=3 * MS,
        target=lambda k: (7 + k) * MS,
        latency_to_target=MS,
        latency_to_draft=2 * MS,
        draft_prefill=1_300_000,  # so that the two devices never end a step at once
        target_prefill=4 * MS,
    )
    trace = simulate(
        Text([*target, *target], [*draft, *draft]), timing, max_new_tokens=12, rows=4, run_ahead=5
    )
    return [json.loads(line) for line in trace.dumps().splitlines()]


def dumped(lines: Lines) -> bytes:
    return b"\n".join(json.dumps(line).encode() for line in lines)


def index_of(lines: Lines, kind: str, nth: int = 0, **fields: object) -> int:
    """Index of the nth event of a kind with the given fields; a negative nth counts from the end."""
    found = [
        i
        for i, line in enumerate(lines)
        if line["kind"] == kind and all(line.get(k) == v for k, v in fields.items())
    ]
    return found[nth]


def changed(of_kind: str, nth: int = 0, *, where: dict | None = None, **new: object) -> Change:
    """Changes fields of one event; a function gets the old value."""

    def change(lines: Lines) -> int:
        i = index_of(lines, of_kind, nth, **(where or {}))
        for name, value in new.items():
            lines[i][name] = value(lines[i].get(name)) if callable(value) else value
        return i + 1

    return change


def removed(kind: str, nth: int, noticed_at: str, noticed_nth: int = 0, **fields: object) -> Change:
    """Removes one event; the contradiction shows at another."""

    def change(lines: Lines) -> int:
        del lines[index_of(lines, kind, nth, **fields)]
        return index_of(lines, noticed_at, noticed_nth) + 1

    return change


def repeated(kind: str, nth: int = 0, **fields: object) -> Change:
    def change(lines: Lines) -> int:
        i = index_of(lines, kind, nth, **fields)
        lines.insert(i + 1, lines[i])
        return i + 2

    return change


def appended(**event: object) -> Change:
    def change(lines: Lines) -> int:
        end = max(line.get("t", line.get("end", 0)) for line in lines)
        lines.append({"t": end} | event)
        return len(lines)

    return change


def first(values: list) -> list:
    """Another first token."""
    return [values[0] + 50, *values[1:]]


def an_early_end_token(lines: Lines) -> int:
    lines[0]["end_tokens"] = [11]
    return next(i for i, x in enumerate(lines) if 12 in x.get("committed", ())) + 1


def a_lower_limit(lines: Lines) -> int:
    lines[0]["max_new_tokens"] = 11
    return index_of(lines, "verified", -1) + 1


def no_draft(lines: Lines) -> int:
    lines[0]["draft"] = None
    return index_of(lines, "prefill", side="draft") + 1


def heard_before_committed(lines: Lines) -> int:
    """Moved in the file and in time, so that neither clock notices."""
    i = index_of(lines, "received", side="draft")
    verified = index_of(lines, "verified")
    lines[i]["t"] = 2 * MS
    heard, outcome = lines.pop(i), lines.pop(i)
    lines.insert(verified, outcome)
    lines.insert(verified, heard)
    return verified + 1


BREAKS: dict[str, tuple[Change, str]] = {
    # time
    "time runs backwards": (
        changed("received", 3, where={"side": "target"}, t=0),
        "time runs backwards on the target device",
    ),
    "a span ends before it starts": (
        changed("verified", 2, start=lambda _: 90 * MS),
        "starts at 90000000 ns",
    ),
    "spans of one device overlap": (
        changed("proposed", 1, start=lambda start: start - 1),
        "two spans overlap on the draft device",
    ),
    "received before it was proposed": (
        changed("received", 3, where={"side": "target"}, t=12 * MS),
        "was received at 12000000 ns but proposed at 13300000 ns",
    ),
    "heard before it was committed": (heard_before_committed, "2 committed|1 committed"),
    # commits
    "a token is committed twice": (repeated("verified"), "position 0 is committed twice"),
    "a gap": (changed("verified", 1, position=lambda p: p + 1), "were never committed"),
    "committed after the end": (
        appended(kind="verify_started", branch=9, position=12, tokens=[]),
        "a verification after the run finished",
    ),
    "more than the limit": (a_lower_limit, "12 tokens were committed, the limit was 11"),
    "behind an end token": (an_early_end_token, "committed behind an end token"),
    "counts that do not add up": (
        changed("verified", 2, accepted=lambda a: a + 1),
        "proposals accepted and 1 token added",
    ),
    "a bonus after nothing": (changed("verified", 0, extra="bonus"), "a bonus token after 0"),
    "a correction that corrects nothing": (
        changed("verified", where={"extra": "bonus"}, extra="correction"),
        "a correction token after",
    ),
    "another number of texts": (changed("verified", 1, texts=["a"] * 7), "7 texts of"),
    "probabilities of what was not judged": (
        changed("verified", 1, probabilities=[0.5] * 9),
        "probabilities of 9 positions",
    ),
    # windows
    "two windows at once": (
        repeated("verify_started"),
        "starts before the one before it has ended",
    ),
    "a verification that never started": (
        removed("verify_started", 1, "verified", 2),
        "ends that never started",
    ),
    "a window of other tokens than proposed": (
        changed("verify_started", 1, tokens=first),
        "is judged at position",
    ),
    "an accepted token that differs from its proposal": (
        changed("verified", where={"extra": "bonus"}, committed=first),
        "was accepted at position",
    ),
    "a verdict on another window": (
        changed("verified", 1, branch=5),
        "a window of . proposals of branch 5 was judged",
    ),
    "a verdict before its window": (
        changed("verified", 1, start=lambda start: start + 1),
        "a window taken at 14300000 ns is judged from 14300001 ns on",
    ),
    "a correction that equals the rejected token": (
        changed("verified", where={"extra": "correction"}, committed=lambda c: [*c[:-1], 9]),
        "token 9 is its own correction",
    ),
    # fates
    "two fates": (repeated("dropped"), "has two fates: .* and then"),
    "a fate of what was never proposed": (
        changed("dropped", 0, position=77),
        "position 77, branch . was .* but never proposed",
    ),
    "dropped and accepted": (changed("dropped", 0, fate="accepted"), "dropped and yet accepted"),
    "rejected, but it is what was committed": (
        changed("dropped", where={"fate": "overtaken"}, fate="contradicted"),
        "was contradicted, but 1. is committed there",
    ),
    "judged without having been received": (
        removed("received", 2, "verify_started", 0, side="target"),
        "was judged but never received",
    ),
    "received twice": (repeated("received", 1, side="target"), "was received twice"),
    # the draft
    "proposed twice": (changed("proposed", 1, position=0), "proposed twice on one branch"),
    "the same span twice": (repeated("proposed"), "two spans overlap"),
    "proposed on another branch": (
        changed("proposed", 2, branch=7),
        "a proposal of branch 7 while the draft is on branch",
    ),
    "proposed with a gap": (
        changed("proposed", 1, position=lambda p: p + 1),
        "a proposal at position .*, but the draft has",
    ),
    "a proposal of a draft that the header does not name": (no_draft, "the header names no draft"),
    "heard with a gap": (
        changed("received", 1, where={"side": "draft"}, position=lambda p: p + 1),
        "the draft hears of position",
    ),
    "knows more than exists": (
        changed("received", 0, where={"side": "draft"}, count=9),
        "the draft knows 9 committed tokens",
    ),
    "hears on another branch": (
        changed("received", 0, where={"side": "draft"}, branch=4),
        "a commit is heard on branch 4",
    ),
    "rolls back without having heard": (
        removed("received", 0, "rolled_back", 0, side="draft"),
        "follows a commit that it has not heard",
    ),
    "a rollback that skips a branch": (
        changed("rolled_back", 0, branch=lambda b: b + 1),
        "branch 2 follows branch 0",
    ),
    "a rollback that does not fit its length": (
        changed("rolled_back", 0, length=lambda n: n + 1),
        "a rollback from length",
    ),
    "a rollback that discards nothing": (
        changed("rolled_back", 0, discarded=[], length=0),
        "discards 0 tokens",
    ),
    "a rollback of other tokens than the draft's": (
        changed("rolled_back", 0, discarded=first),
        "are not the draft's",
    ),
    "a rollback to other tokens than those committed": (
        changed("rolled_back", 0, adopted=first),
        "are not those committed there",
    ),
    "a rollback that is told as carrying on": (
        changed("rolled_back", 0, kind="carried_on", known=1),
        "does not follow the commit at position 0",
    ),
    "carries on with another length": (
        changed("carried_on", 0, known=lambda k: k + 1),
        "but it heard of",
    ),
    # the end
    "finishes twice": (repeated("finished"), "the run finishes twice"),
    "another number of tokens": (changed("finished", tokens=3), "finished with 3 tokens, but 12"),
    "an end token that is none": (
        changed("finished", reason="end_token"),
        "the last token is none of the header's",
    ),
}


# -- proposals of the target's own side --------------------------------------------------------


def lines_with_heads() -> Lines:
    """A run in which heads step in: alone, behind pending proposals, accepted and rejected."""
    target = [10 + i for i in range(24)]
    draft = [token if i % 5 else 9 for i, token in enumerate(target)]
    heads = [token if i % 3 else 8 for i, token in enumerate(target)]
    timing = Timing(
        draft=2 * MS,
        target=lambda k: (7 + k) * MS,
        latency_to_target=MS,
        latency_to_draft=MS,
        draft_prefill=1_300_000,
        target_prefill=4 * MS,
        head=300_000,
    )
    trace = simulate(
        Text(target * 2, draft * 2, heads=heads),
        timing,
        method="amusd+speculator",
        max_new_tokens=24,
        rows=8,
        policy="fixed(6)",
        lookahead=6,
    )
    return [json.loads(line) for line in trace.dumps().splitlines()]


def own(lines: Lines, nth: int = 0) -> dict:
    return [line for line in lines if line["kind"] == "proposed" and line["branch"] < 0][nth]


def window_with_own(lines: Lines, kind: str) -> dict:
    return next(line for line in lines if line["kind"] == kind and line.get("own", 0) > 1)


def number_of(lines: Lines, line: dict) -> int:
    return next(i for i, each in enumerate(lines) if each is line) + 1


def an_own_token_that_was_not_proposed(lines: Lines) -> int:
    started = window_with_own(lines, "verify_started")
    started["tokens"][-1] += 50
    return number_of(lines, started)


def an_own_proposal_that_is_missing(lines: Lines) -> int:
    started = window_with_own(lines, "verify_started")
    chain = [x for x in lines if x["kind"] == "proposed" and x["branch"] == started["chain"]]
    lines.remove(chain[-1])
    return number_of(lines, started)


def a_chain_number_that_skips_one(lines: Lines) -> int:
    first = own(lines)
    first["branch"] -= 1
    return number_of(lines, first)


def a_gap_in_a_chain(lines: Lines) -> int:
    second = next(
        line
        for before, line in itertools.pairwise(lines)
        if line["kind"] == before["kind"] == "proposed" and line["branch"] == before["branch"] < 0
    )
    second["position"] += 1
    return number_of(lines, second)


def an_own_proposal_where_it_is_committed(lines: Lines) -> int:
    last = own(lines, -1)
    first = next(x for x in lines if x.get("branch") == last["branch"])
    first["position"] = 0
    return number_of(lines, first)


def own_without_a_chain(lines: Lines) -> int:
    started = window_with_own(lines, "verify_started")
    started["chain"] = 0
    return number_of(lines, started)


def a_verdict_on_another_chain(lines: Lines) -> int:
    verified = window_with_own(lines, "verified")
    verified["chain"] -= 1
    return number_of(lines, verified)


OWN_BREAKS: dict[str, tuple[Change, str]] = {
    "judged but never proposed": (an_own_token_that_was_not_proposed, "is judged at position"),
    "a missing proposal": (an_own_proposal_that_is_missing, "never proposed"),
    "a chain that skips a number": (a_chain_number_that_skips_one, "follows chain 0"),
    "a gap": (a_gap_in_a_chain, "leaves a gap in its chain"),
    "committed already": (an_own_proposal_where_it_is_committed, "but it is committed"),
    "no chain": (own_without_a_chain, "are the target's own, of chain 0"),
    "another chain": (a_verdict_on_another_chain, "was judged, but"),
}


def test_the_run_with_heads_is_sound_and_shows_everything() -> None:
    lines = lines_with_heads()
    Trace.loads(dumped(lines))
    windows = [line for line in lines if line["kind"] == "verify_started" and line.get("own")]
    sizes = {(len(line["tokens"]) > line["own"]) for line in windows}
    assert sizes == {True, False}
    fates = {x["fate"] for x in lines if x["kind"] == "dropped" and x["branch"] < 0}
    assert fates >= {"rejected", "after_mismatch"}


@pytest.mark.parametrize("name", OWN_BREAKS)
def test_a_contradiction_of_the_targets_own_side_is_refused(name: str) -> None:
    change, sentence = OWN_BREAKS[name]
    lines = lines_with_heads()
    line = change(lines)
    with pytest.raises(BrokenTraceError, match=sentence) as error:
        Trace.loads(dumped(lines))
    assert error.value.line == line


def test_the_run_to_be_broken_is_sound_and_shows_everything() -> None:
    lines = sound_lines()
    trace = Trace.loads(dumped(lines))
    assert trace.tokens == tuple(range(10, 22))
    kinds = {line["kind"] for line in lines}
    assert kinds >= {"prefill", "proposed", "received", "dropped", "verify_started", "verified"}
    assert kinds >= {"rolled_back", "carried_on", "waited", "finished"}


@pytest.mark.parametrize("name", BREAKS)
def test_a_contradiction_is_refused_at_its_line(name: str) -> None:
    change, sentence = BREAKS[name]
    lines = sound_lines()
    line = change(lines)
    for partial in (False, True):
        with pytest.raises(BrokenTraceError, match=sentence) as error:
            Trace.loads(dumped(lines), partial=partial)
        assert error.value.line == line
        assert str(error.value).startswith(f"line {line}: ")


def test_blank_lines_do_not_shift_the_numbers() -> None:
    lines = sound_lines()
    line = repeated("verified")(lines)
    text = dumped(lines).replace(b"\n", b"\n\n\n")
    with pytest.raises(BrokenTraceError) as error:
        Trace.loads(text)
    assert error.value.line == 3 * (line - 1) + 1


def test_a_trace_of_ones_own_is_checked_by_the_same_rules() -> None:
    trace = Trace.loads(dumped(sound_lines()))
    assert trace.check() is trace
    last_commit = trace.of(Verified)[-1]
    with pytest.raises(BrokenTraceError, match="nothing is committed there"):
        Trace(trace.header, [e for e in trace.events if e is not last_commit]).check()


# -- a draft that died ---------------------------------------------------------------------------


def without_the_drafts_last_events(lines: Lines, failed: dict | None) -> Lines:
    """What a killed draft leaves: its events up to some moment, and all of the target's."""
    last = index_of(lines, "proposed", 4)
    end = lines[last]["end"]
    kept = [
        line
        for i, line in enumerate(lines)
        if i < last or not (line["kind"] in DRAFT_KINDS or line.get("side") == "draft")
    ]
    if failed:
        at = next(i for i, line in enumerate(kept) if line.get("end", line.get("t", 0)) > end)
        kept.insert(at, failed | {"t": end})
    return kept


DRAFT_KINDS = {"proposed", "rolled_back", "carried_on", "fast_forwarded"}


def test_events_of_a_dead_draft_may_be_missing_only_where_the_trace_says_that_it_died() -> None:
    lines = sound_lines()
    failed = {"kind": "failed", "side": "draft", "what": "killed by SIGKILL"}
    trace = Trace.loads(dumped(without_the_drafts_last_events(lines, failed)))
    assert trace.tokens == tuple(range(10, 22))
    with pytest.raises(BrokenTraceError, match="but never proposed"):
        Trace.loads(dumped(without_the_drafts_last_events(lines, None)))


def test_a_dead_draft_proposes_no_more() -> None:
    lines = sound_lines()
    i = index_of(lines, "proposed", 4)
    lines.insert(i, {"kind": "failed", "side": "draft", "what": "", "t": lines[i]["start"]})
    with pytest.raises(BrokenTraceError, match="a proposal after the draft failed") as error:
        Trace.loads(dumped(lines))
    assert error.value.line == i + 2


def test_a_huge_count_of_a_dead_draft_is_no_long_wait() -> None:
    lines = without_the_drafts_last_events(
        sound_lines(), {"kind": "failed", "side": "draft", "what": ""}
    )
    lines[index_of(lines, "received", -1, side="target")]["count"] = 2**31 - 1
    Trace.loads(dumped(lines))
