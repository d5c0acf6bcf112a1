"""The speculator that comes with the package: its size, its card, and its work beside the default target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amusd_viz.models.default_target import NAME
from amusd_viz.paths import assets

FOLDER = assets("speculator", NAME)
PROMPTS = json.loads((Path(__file__).parent / "prompts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def card() -> dict:
    return json.loads((FOLDER / "speculator.json").read_text(encoding="utf-8"))["card"]


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 25e6


def test_its_card_says_how_good_it_is_and_beats_the_table(card: dict) -> None:
    for found in (card["held_out"], card["set_aside"]):
        table = found["ngram_table"]
        assert found["heads"][0] > table["right"] + 0.1
        assert found["tree"] > found["chain"] > table["chain"] > 1
        assert found["positions"] > 5000
    assert {"target", "trained", "positions", "texts", "plan", "curve"} <= card.keys()


@pytest.mark.engine
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_output_beside_the_default_target(dtype: str) -> None:
    pytest.importorskip("torch")
    from amusd_viz import events as ev
    from amusd_viz.engine import Session
    from amusd_viz.metrics import measure

    ways = ({}, {"candidates": 4, "lookahead": 3})
    accepted = 0
    with Session(dtype=dtype, rows=16, sides=(ev.Side.TARGET,)) as session:
        for number, sampling in enumerate(({}, {"temperature": 0.8, "seed": 5})):
            same = {"max_new_tokens": 24, "chat": number == 0, **sampling}
            plain = session.decode(PROMPTS[number], "autoregressive", **same).wait()
            for how in ways:
                run = session.decode(PROMPTS[number], "speculator", **how, **same).wait()
                run.trace.check()
                assert run.header.numerics == plain.header.numerics
                # A tree's rows stand elsewhere in the cache; only llama.c's do not mind.
                if run.header.numerics.kernel == "native" or not how or dtype == "fp32":
                    assert run.token_ids == plain.token_ids, (how, sampling)
                accepted += measure(run.trace).accepted
    assert accepted > 0
