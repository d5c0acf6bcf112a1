"""The commands that simulate and calibrate."""

import json

import pytest
from typer.testing import CliRunner

from amusd_viz import Trace
from amusd_viz.cli import app
from amusd_viz.errors import AmusdVizError
from amusd_viz.simulate import theory


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, AmusdVizError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def simulate(*arguments):
    return json.loads(run("simulate", "--acceptance", 0.8, "--ratio", 0.1, "--json", *arguments))


def test_prints_what_amusd_comes_to():
    found = simulate("--policy", "fixed(3)", "--preemptible")
    assert found["speedup_theory"] == pytest.approx(2.8427, abs=1e-3)
    assert found["speedup"] == pytest.approx(2.8427, rel=0.01)
    assert found["tokens_per_verification"] == pytest.approx(3.42, rel=0.01)
    assert found["busy"]["draft"] == pytest.approx(1)
    assert 0 < found["waste"] < 1
    assert found["simulated"] is True


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--method", "autoregressive"), 1.0),
        (("--method", "synchronous", "--lookahead", 5), 2.4595),
        (("--latency", 0.2, "--policy", "fixed(3)", "--preemptible"), 2.5525),
        (("--policy", "eager", "--preemptible"), theory.amusd(0.8, 0, 0.1)),
    ],
)
def test_methods_agree_with_their_closed_forms(arguments, expected):
    found = simulate(*arguments)
    assert found["speedup_theory"] == pytest.approx(expected, abs=1e-3)
    assert found["speedup"] == pytest.approx(expected, rel=0.01)


def test_the_same_seed_gives_the_same_run():
    assert simulate("--seed", 4, "--tokens", 500) == simulate("--seed", 4, "--tokens", 500)
    assert simulate("--seed", 4, "--tokens", 500) != simulate("--seed", 5, "--tokens", 500)


def test_writes_a_trace_that_says_it_is_simulated(tmp_path):
    file = tmp_path / "run.jsonl"
    simulate("--trace", file, "--tokens", 40)
    trace = Trace.load(file)
    assert (trace.header.source, len(trace.tokens)) == ("simulated", 40)


def test_speaks_to_people_too(tmp_path):
    words = run("simulate", "--acceptance", 0.8, "--ratio", 0.1, "--tokens", 1000)
    assert "times the speed of plain decoding" in words


def test_calibrates_from_recordings(tmp_path):
    traces = []
    for method in ("amusd", "synchronous", "autoregressive"):
        traces.append(tmp_path / f"{method}.jsonl")
        simulate("--method", method, "--trace", traces[-1], "--tokens", 200)
    saved = tmp_path / "pair.json"
    found = json.loads(run("calibrate", *traces, "--json", "--output", saved))
    assert found["calibration"]["source"] == "simulated"
    assert json.loads(saved.read_text()) == found["calibration"]
    speeds = {(p["method"], p["setting"]): p["speedup"] for p in found["predictions"]}
    assert speeds["autoregressive", ""] == 1
    assert speeds["amusd", "fixed(3)"] > 2
    assert "tokens/s" in run("calibrate", *traces)


def test_what_is_kept_must_be_found_first(tmp_path):
    result = CliRunner().invoke(app, ["calibrate", "--keep", str(tmp_path / "kept.json")])
    assert result.exit_code == 2
    assert "--verify" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--acceptance", 1.5, "--ratio", 0.1),
        ("--acceptance", "nan", "--ratio", 0.1),
        ("--acceptance", 0.8, "--ratio", 0),
        ("--acceptance", 0.8, "--ratio", 1e300),
        ("--acceptance", 0.8, "--ratio", 0.1, "--latency", -1),
        ("--acceptance", 0.8, "--ratio", 0.1, "--latency", "inf"),
        ("--acceptance", 0.8, "--ratio", 0.1, "--tokens", 0),
        ("--acceptance", 0.8, "--ratio", 0.1, "--tokens", 10**15),
        ("--acceptance", 0.8, "--ratio", 0.1, "--method", "magic"),
        ("--acceptance", 0.8, "--ratio", 0.1, "--policy", "fixed(-1)"),
        ("--acceptance", 0.8, "--ratio", 0.1, "--tokens", 10**6, "--trace", "x.jsonl"),
        ("--acceptance", 0.8, "--ratio", 0.1, "--trace", "/nowhere/x.jsonl"),
    ],
)
def test_bad_input_gets_a_sentence(arguments):
    with pytest.raises(AmusdVizError) as error:
        run("simulate", *arguments)
    assert "\n" not in str(error.value)
