"""Files that are cut, corrupt, foreign or hostile: one named error and one sentence, never another."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amusd_viz import trace_file
from amusd_viz.errors import (
    BrokenTraceError,
    CutTraceError,
    NewerTraceError,
    NotATraceError,
    TraceError,
)
from amusd_viz.simulate.driver import Text, Timing, simulate
from amusd_viz.trace import Trace


def small_trace() -> Trace:
    timing = Timing(draft=2, target=lambda k: 5, latency_to_target=1, latency_to_draft=1)
    return simulate(
        Text([1, 2, 3, 4] * 3, [1, 9, 3, 4] * 3, {1: "ä", 2: "\n"}), timing, max_new_tokens=4
    )


SMALL = small_trace()
DATA = SMALL.dumps()
HEADER, *EVENTS = DATA.splitlines()


def loaded_or_named_error(data: bytes, *, partial: bool) -> Trace | None:
    """A usable trace, or ``None`` after an error with a sentence; any other exception fails the test."""
    try:
        trace = Trace.loads(data, partial=partial)
    except TraceError as error:
        sentence = str(error)
    else:
        assert_usable(trace)
        return trace
    assert 10 < len(sentence) < 1000
    return None


def assert_usable(trace: Trace) -> None:
    assert len(trace.tokens) == len(trace.committed_at)
    assert trace.duration >= 0
    assert repr(trace)
    assert all(trace.fates.values())
    assert Trace.loads(trace.dumps(), partial=True) == trace


# -- cut -----------------------------------------------------------------------------------------


def test_a_file_cut_at_any_byte_opens_partially_or_says_that_it_is_cut() -> None:
    whole = len(DATA.rstrip(b"\n"))
    tokens: list[int] = []
    for length in range(len(DATA)):
        cut = DATA[:length]
        if length >= whole:
            assert Trace.loads(cut) == SMALL
            continue
        with pytest.raises(CutTraceError if length >= 16 else NotATraceError):
            Trace.loads(cut)
        partial = loaded_or_named_error(cut, partial=True)
        if partial is None:
            assert length < len(HEADER), "a cut behind the header leaves something to show"
            continue
        assert partial.tokens == SMALL.tokens[: len(partial.tokens)]
        assert partial.events == SMALL.events[: len(partial.events)]
        tokens.append(len(partial.tokens))
    assert tokens == sorted(tokens)
    assert tokens[-1] == 4


def test_a_gzipped_file_cut_at_any_byte_opens_partially_or_says_that_it_is_cut(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl.gz"
    data = SMALL.save(path).read_bytes()
    most = 0
    for length in range(2, len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(CutTraceError, match="the compressed file ends early"):
            Trace.load(path)
        try:
            most = max(most, len(Trace.load(path, partial=True).events))
        except TraceError:
            assert most == 0, "a longer file shows no less"
    assert most == len(SMALL.events)


def test_a_missing_end_is_told_with_what_to_do() -> None:
    text = b"\n".join([HEADER, *EVENTS[:5]])
    with pytest.raises(CutTraceError, match=r"no 'finished' event.*partial=True"):
        Trace.loads(text)


# -- corrupt -------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(DATA) * 8 - 1), st.booleans())
def test_a_flipped_bit_is_harmless_or_named(bit: int, partial: bool) -> None:
    data = bytearray(DATA)
    data[bit // 8] ^= 1 << bit % 8
    loaded_or_named_error(bytes(data), partial=partial)


def test_many_damaged_bytes_are_harmless_or_named() -> None:
    rng = random.Random(1)
    for _ in range(1000):
        data = bytearray(DATA)
        for _ in range(rng.choice((1, 1, 3, 20))):
            at = rng.randrange(len(data))
            piece = rng.choice(
                (b"\0", b"}", b'"', b"[", b"-", b"9" * 30, b"\xff", b"\n", b"e9", b"")
            )
            data[at : at + rng.choice((0, 1, 5))] = piece
        loaded_or_named_error(bytes(data), partial=rng.random() < 0.5)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_are_no_trace(data: bytes, partial: bool) -> None:
    with pytest.raises((NotATraceError, CutTraceError)):
        Trace.loads(data, partial=partial)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_shuffled_lines_are_harmless_or_named(data: st.DataObject) -> None:
    lines = data.draw(st.permutations(EVENTS))
    keep = data.draw(st.integers(0, len(lines)))
    loaded_or_named_error(b"\n".join([HEADER, *lines[:keep]]), partial=True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.data(), json_values)
def test_another_value_in_any_field_is_harmless_or_named(
    data: st.DataObject, value: object
) -> None:
    lines = [json.loads(line) for line in DATA.splitlines()]
    line = data.draw(st.sampled_from(lines))
    line[data.draw(st.sampled_from(sorted(line)))] = value
    text = b"\n".join(json.dumps(line).encode() for line in lines)
    loaded_or_named_error(text, partial=False)


PROPOSED = b'{"kind":"proposed","start":0,"end":1,"branch":0,"position":0,'
BAD_EVENTS = {
    "numbers as strings": b'{"kind":"carried_on","t":"5","known":0}',
    "numbers with a fraction": b'{"kind":"carried_on","t":5.5,"known":0}',
    "whole numbers written as fractions": b'{"kind":"carried_on","t":5.0,"known":0}',
    "negative times": b'{"kind":"carried_on","t":-5,"known":0}',
    "times no browser can hold": b'{"kind":"carried_on","t":9007199254740993,"known":0}',
    "huge numbers": b'{"kind":"carried_on","t":%s,"known":0}' % (b"9" * 4000),
    "huge exponents": b'{"kind":"carried_on","t":1e999999999,"known":0}',
    "true for a number": b'{"kind":"carried_on","t":true,"known":0}',
    "null for a number": b'{"kind":"carried_on","t":null,"known":0}',
    "no time": b'{"kind":"carried_on","known":0}',
    "negative tokens": PROPOSED + b'"token":-1}',
    "tokens beyond any vocabulary": PROPOSED + b'"token":4294967296}',
    "a probability above 1": PROPOSED + b'"token":1,"probability":1.5}',
    "a negative probability": PROPOSED + b'"token":1,"probability":-0.1}',
    "an infinite probability": PROPOSED + b'"token":1,"probability":1e999}',
    "a candidate that is no token": PROPOSED + b'"token":1,"alternatives":[[1,"a",2.0]]}',
    "an unknown fate": b'{"kind":"dropped","t":0,"branch":0,"position":0,"fate":"eaten"}',
    "an unknown side": b'{"kind":"failed","t":0,"side":"kernel","what":""}',
    "a list": b"[1,2]",
    "a number": b"17",
    "no kind": b'{"t":5}',
    "a kind that is no word": b'{"kind":7}',
    "a second header": HEADER,
    "NUL bytes": b"\0\0\0",
    "no UTF-8": b'{"kind":"failed","t":0,"side":"draft","what":"\xff\xfe"}',
    "half a surrogate": b'{"kind":"failed","t":0,"side":"draft","what":"\\ud800"}',
    "NaN": b'{"kind":"carried_on","t":NaN,"known":0}',
    "nested without end": b'{"kind":"x","a":' + b"[" * 200_000,
    "nested very deep": b'{"kind":"x","a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
}


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_a_line_that_is_no_event_is_named_with_its_number(name: str) -> None:
    text = b"\n".join([HEADER, EVENTS[0], BAD_EVENTS[name], *EVENTS[1:]])
    for partial in (False, True):
        with pytest.raises(BrokenTraceError, match=r"^line 3: is no event: ") as error:
            Trace.loads(text, partial=partial)
        assert error.value.line == 3
        assert len(str(error.value)) < 300


NO_TRACES = {
    "nothing": b"",
    "blank lines": b"\n\n\n",
    "a notebook": b'{"cells": [], "metadata": {}, "nbformat": 4}',
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "text": b"Es war einmal\n",
    "UTF-16": "kind".encode("utf-16"),
    "an event without a header": EVENTS[0],
    "a list": b"[]",
    "null": b"null",
    "NUL bytes": b"\0" * 1000,
    "nested without end": b"[" * 500_000,
    "a header of wrong types": b'{"kind":"header","schema":1,"source":"measured","method":7}',
    "a header without a model": b'{"kind":"header","schema":1,"source":"measured","method":"amusd"}',
    "another source": HEADER.replace(b'"simulated"', b'"imagined"'),
    "no schema number": HEADER.replace(b'"schema":1', b'"schema":"1"'),
    "schema 0": HEADER.replace(b'"schema":1', b'"schema":0'),
    "no output": HEADER.replace(b'"max_new_tokens":4', b'"max_new_tokens":0'),
    "negative prompt ids": HEADER.replace(b'"prompt_ids":[]', b'"prompt_ids":[-1]'),
    "a kind of 10 million letters": b'{"kind":"' + b"x" * 10_000_000 + b'"}',
}


@pytest.mark.parametrize("name", NO_TRACES)
def test_what_is_no_trace_is_named(name: str) -> None:
    for partial in (False, True):
        with pytest.raises(NotATraceError) as error:
            Trace.loads(NO_TRACES[name], partial=partial)
        assert "trace" in str(error.value)
        assert len(str(error.value)) < 300


def test_a_newer_schema_is_told_before_anything_else_is_looked_at() -> None:
    for line in (
        HEADER.replace(b'"schema":1', b'"schema":2'),
        b'{"kind":"header","schema":2}',
        b'{"schema":99999999999999999999,"kind":"header","method":{}}',
    ):
        with pytest.raises(NewerTraceError, match=r"reads up to 1; upgrade amusd-viz"):
            Trace.loads(line)


def test_half_surrogates_in_a_str_are_no_trace() -> None:
    with pytest.raises(NotATraceError):
        Trace.loads("\ud800")


# -- files ---------------------------------------------------------------------------------------


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(NotATraceError, match="is a folder"):
        Trace.load(tmp_path)


@pytest.mark.parametrize("name", ["missing.jsonl", "a\0b", "x" * 5000, "no/such/folder/run.jsonl"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotATraceError, match="cannot be read"):
        Trace.load(f"{tmp_path}/{name}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotATraceError, match="no ordinary file"):
        Trace.load(tmp_path / "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no endless device here")
def test_an_endless_device_is_not_read() -> None:
    with pytest.raises(NotATraceError, match="no ordinary file"):
        Trace.load("/dev/zero")


def test_damaged_gzip_is_harmless_or_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    data = SMALL.save(path).read_bytes()
    rng = random.Random(2)
    for _ in range(300):
        damaged = bytearray(data)
        damaged[rng.randrange(2, len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with contextlib.suppress(TraceError):
            assert_usable(Trace.load(path, partial=rng.random() < 0.5))


def test_bytes_behind_a_gzip_member_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(DATA) + b"garbage")
    with pytest.raises(NotATraceError, match="cannot be read"):
        Trace.load(path)
    path.write_bytes(gzip.compress(DATA) + b"\0" * 512)
    assert Trace.load(path) == SMALL, "tapes and disks pad with zeros"


def test_a_gzip_bomb_is_stopped_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_file, "MOST_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    for bomb in (gzip.compress(b" " * (1 << 24)), gzip.compress(b" " * (1 << 19)) * 5):
        assert len(bomb) < 1 << 16
        path.write_bytes(bomb)
        for partial in (False, True):
            with pytest.raises(NotATraceError, match="holds more than 1 MiB, too much for a trace"):
                Trace.load(path, partial=partial)


def test_a_plain_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SMALL.save(tmp_path / "run.jsonl")
    monkeypatch.setattr(trace_file, "MOST_BYTES", len(DATA))
    assert Trace.load(path) == SMALL
    monkeypatch.setattr(trace_file, "MOST_BYTES", len(DATA) - 1)
    with pytest.raises(NotATraceError, match="too much for a trace"):
        Trace.load(path)
