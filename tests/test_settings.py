"""Absurd requests are refused before anything is started."""

from __future__ import annotations

import math

import pytest

from amusd_viz.engine.settings import RunSettings, check_fits
from amusd_viz.errors import PromptError, SettingError
from amusd_viz.events import Sampling


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"method": "magic"}, "autoregressive, synchronous, speculator, amusd"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": -5}, "max_new_tokens is -5"),
        ({"max_new_tokens": 1 << 40}, "between"),
        ({"max_new_tokens": 2.5}, "whole number"),
        ({"max_new_tokens": True}, "whole number"),
        ({"policy": "clever"}, "'paper'"),
        ({"policy": "fixed(-1)"}, "unknown window policy"),
        ({"policy": "fixed(2); import os"}, "unknown window policy"),
        ({"policy": "confidence(0)"}, "use a probability above 0"),
        ({"policy": "confidence(-1)"}, "unknown window policy"),
        ({"lookahead": 0}, "lookahead is 0"),
        ({"run_ahead": 0}, "run_ahead is 0"),
        ({"run_ahead": 10**9}, "between"),
        ({"sampling": Sampling(temperature=-1)}, "temperature is -1"),
        ({"sampling": Sampling(temperature=math.nan)}, "must be a number"),
        ({"sampling": Sampling(temperature=math.inf)}, "must be a number"),
        ({"sampling": Sampling(top_p=0)}, "keeps no token"),
        ({"sampling": Sampling(top_p=1.5)}, "top_p is 1.5"),
        ({"sampling": Sampling(top_k=-2)}, "top_k is -2"),
        ({"sampling": Sampling(min_p=1.5)}, "min_p is 1.5"),
        ({"sampling": Sampling(repetition_penalty=0)}, "repetition_penalty is 0"),
        ({"sampling": Sampling(repetition_penalty=math.nan)}, "must be a number"),
        ({"stop": ""}, "stop string is empty"),
        ({"stop": ["a", ""]}, "stop string is empty"),
        ({"stop": [1]}, "list of strings"),
        ({"stop": ["x"] * 1000}, "at most 16"),
        ({"stop": "x" * 1000}, "at most 16"),
        ({"sampling": Sampling(seed=-1)}, "seed is -1"),
    ],
)
def test_refused(wrong: dict, says: str) -> None:
    with pytest.raises(SettingError) as caught:
        RunSettings(**wrong)
    assert says in str(caught.value)


def test_under_confidence_the_draft_flags_what_the_policy_looks_at() -> None:
    assert RunSettings(policy="confidence(0.4)").unsure_below == 0.4
    assert RunSettings(policy="confidence(0.4)", unsure_below=0.2).unsure_below == 0.2
    assert RunSettings(policy="confidence(0.4)", method="synchronous").unsure_below == 0


def test_adaptive_is_for_both_sides() -> None:
    settings = RunSettings(policy="adaptive", run_ahead=9)
    assert settings.window_policy().name == "adaptive"
    assert settings.run_ahead_policy().name == "adaptive(9)"
    taking_turns = RunSettings(policy="adaptive", method="synchronous")
    assert taking_turns.run_ahead_policy().name == "lookahead(4)"


def test_a_lookahead_must_fit_the_rows() -> None:
    RunSettings(method="synchronous", lookahead=7).check_rows(8)
    with pytest.raises(SettingError, match="lookahead up to 7"):
        RunSettings(method="synchronous", lookahead=8).check_rows(8)


def test_prompt_and_output_must_fit_the_context() -> None:
    check_fits(90, 10, 100)
    with pytest.raises(PromptError, match="at most 9 new tokens"):
        check_fits(91, 10, 100)
