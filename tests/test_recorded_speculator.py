"""The recorded runs of the speculator: small, sound, and the same text as every other recording."""

from __future__ import annotations

import pytest

from amusd_viz import events as ev
from amusd_viz.errors import SettingError
from amusd_viz.paths import assets, recording, recordings

NAMES = recordings("speculator")


def test_there_is_a_chain_a_tree_and_one_beside_a_draft_model() -> None:
    methods = {name: recording(name).header.method for name in NAMES}
    assert methods == {
        "speculator/sky-amusd": "amusd+speculator",
        "speculator/sky-chain": "speculator",
        "speculator/sky-tree": "speculator",
    }
    assert not set(NAMES) & set(recordings()), "a pair's runs are those of its draft model"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_measured_run_of_the_same_text(name: str) -> None:
    trace = recording(name).check()
    assert trace.header.source == "measured"
    assert trace.tokens == recording("sky-autoregressive").tokens
    assert any(step.head is not None for step in trace.of(ev.Proposed))
    (file,) = assets("traces").glob(f"{name}.jsonl*")
    assert file.stat().st_size < 200_000


def test_the_tree_has_branches_and_the_chain_has_none() -> None:
    candidates = {
        name: {step.candidate for step in recording(name).of(ev.Proposed)} for name in NAMES
    }
    assert candidates["speculator/sky-chain"] == {0}
    assert candidates["speculator/sky-tree"] > {0, 1}


def test_a_name_that_is_none_lists_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"sky-amusd.*speculator/sky-tree"):
        recording("speculator/sky")
