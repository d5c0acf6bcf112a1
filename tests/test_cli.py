"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from amusd_viz import cli, engine
from amusd_viz import events as ev
from amusd_viz.command import run_command
from amusd_viz.errors import SettingError
from amusd_viz.paths import assets
from amusd_viz.protocol import Fate
from amusd_viz.trace import Trace

Outcome = tuple[int, str, str]


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., Outcome]:
    """Runs ``amusd-viz`` in this process; gives exit code, stdout and stderr."""

    def command(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["amusd-viz", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return command


def is_one_sentence(err: str) -> bool:
    return err.startswith("amusd-viz: ") and err.count("\n") == 1


class FakeSession:
    """Stands in for the engine: notes what it was asked and plays a given trace."""

    trace: Trace
    interrupt_at: int | None = None
    error: Exception | None = None

    def __init__(self, **settings: object) -> None:
        type(self).made_with = settings

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *error: object) -> None:
        type(self).closed = True

    def decode(self, prompt: str, **settings: object) -> FakeRun:
        type(self).asked = {"prompt": prompt, **settings}
        if self.error:
            raise self.error
        return FakeRun(self.trace, self.interrupt_at)


class FakeRun:
    def __init__(self, trace: Trace, interrupt_at: int | None) -> None:
        self.trace = trace
        self.header = trace.header
        self.text = self.text_of(trace.tokens)
        self.stopped = self.waited = False
        self._interrupt_at = interrupt_at
        FakeSession.run = self

    def __iter__(self) -> Iterator[ev.Event]:
        for index, event in enumerate(self.trace.events):
            if index == self._interrupt_at:
                raise KeyboardInterrupt
            yield event

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(self.trace.texts[: len(ids)])

    def stop(self) -> None:
        self.stopped = True

    def wait(self) -> FakeRun:
        self.waited = True
        return self


def test_the_stand_ins_offer_nothing_that_the_engine_lacks(simulated_amusd):
    real = engine.Run(simulated_amusd.header, None, (), lambda: None)
    offered = {name for name in vars(FakeRun) if not name.startswith("_")}
    assert offered <= set(dir(real))
    assert hasattr(engine.Session, "decode")


@pytest.fixture
def session(monkeypatch, simulated_amusd) -> type[FakeSession]:
    made = type("Session", (FakeSession,), {"trace": simulated_amusd})
    monkeypatch.setattr(engine, "Session", made, raising=False)
    monkeypatch.setattr("amusd_viz.extras.need_engine", lambda: None)
    return made


def test_help_is_quick_because_it_imports_nothing_large():
    code = (
        "import sys; from amusd_viz.cli import main; sys.argv = ['amusd-viz', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "large = {'torch', 'transformers', 'numpy', 'plotly', 'ipywidgets', 'pandas'}\n"
        "sys.exit(', '.join(large & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("decode", "check", "export", "lab", "notebooks", "doctor"):
        assert command in done.stdout


def test_wrong_usage_is_exit_code_2(run):
    assert run("check")[0] == 2
    assert run("no-such-command")[0] == 2
    assert run("decode", "hello", "--max-new-tokens", "many")[0] == 2
    assert run("decode", "hello", "--pair", "twin", "--draft", "x")[0] == 2


# -- check -----------------------------------------------------------------------------------


def test_check_says_what_a_valid_trace_holds(run, simulated_amusd, tmp_path):
    code, out, err = run("check", simulated_amusd.save(tmp_path / "run.jsonl.gz"))
    assert (code, err) == (0, "")
    assert "valid trace, schema 1, simulated" in out
    assert "[amusd] 40 tokens" in out
    assert "8 rollbacks" in out


def damaged(trace: Trace) -> dict[str, bytes]:
    whole = trace.dumps()
    lines = whole.splitlines(keepends=True)
    verified = next(i for i, line in enumerate(lines) if b'"kind":"verified"' in line)
    return {
        "cut": b"".join(lines[: len(lines) // 2]),
        "cut in a line": whole[: len(whole) // 2],
        "twice": b"".join([*lines[: verified + 1], lines[verified], *lines[verified + 1 :]]),
        "newer": whole.replace(b'"schema":1', b'"schema":99'),
        "picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "empty": b"",
        "other json": b'{"kind": "notebook"}\n',
    }


@pytest.mark.parametrize(
    "damage", ["cut", "cut in a line", "twice", "newer", "picture", "empty", "other json"]
)
def test_check_refuses_a_damaged_trace_in_one_sentence(run, simulated_amusd, tmp_path, damage):
    file = tmp_path / "run.jsonl"
    file.write_bytes(damaged(simulated_amusd)[damage])
    code, out, err = run("check", file)
    assert (code, out) == (1, "")
    assert is_one_sentence(err), err


def test_check_opens_what_there_is_of_a_cut_trace(run, simulated_amusd, tmp_path):
    file = tmp_path / "run.jsonl"
    file.write_bytes(damaged(simulated_amusd)["cut"])
    assert run("check", file, "--partial")[0] == 0


def test_text_out_of_a_file_cannot_steer_the_terminal(run, simulated_amusd, tmp_path):
    file = tmp_path / "run.jsonl"
    whole = simulated_amusd.dumps().replace(b"imaginary target", rb"\u001b]0;owned\u0007\u009b2J")
    file.write_bytes(whole)
    code, out, _ = run("check", file)
    assert code == 0
    assert "owned" in out
    assert not any(c in out for c in "\x1b\x07\x9b")


# -- export ----------------------------------------------------------------------------------


def test_export_writes_the_file_and_says_so(run, simulated_amusd, tmp_path):
    trace = simulated_amusd.save(tmp_path / "run.jsonl.gz")
    code, out, err = run("export", trace, "--to", "csv", "--output", tmp_path / "run.csv")
    assert (code, err) == (0, "")
    assert out.startswith(str(tmp_path / "run.csv"))
    assert (tmp_path / "run.csv").read_text().startswith("kind,side,")


def test_export_refuses_what_it_cannot_do_in_one_sentence(run, simulated_amusd, tmp_path):
    trace = simulated_amusd.save(tmp_path / "run.jsonl")
    attempts = [
        ("--to", "pdf", "--output", tmp_path / "a"),
        ("--to", "csv", "--output", tmp_path / "missing" / "a"),
        ("--to", "svg", "--output", tmp_path / "a", "--at", "rollback 99"),
    ]
    for attempt in attempts:
        code, out, err = run("export", trace, *attempt)
        assert (code, out) == (1, "")
        assert is_one_sentence(err), err
    assert run("export", trace, "--to", "csv")[0] == 2


# -- decode ----------------------------------------------------------------------------------


def test_decode_streams_the_text_and_sums_up_on_stderr(run, session):
    code, out, err = run("decode", "Why?")
    assert code == 0
    assert out == "".join(session.trace.texts) + "\n"
    assert err.startswith("[amusd] 40 tokens")
    assert session.closed


def test_decode_passes_on_only_what_was_given(run, session):
    run("decode", "Why?")
    assert session.made_with == {}
    assert "policy" not in session.asked
    assert "chat" not in session.asked
    run(
        *("decode", "Why?", "--method", "synchronous", "--max-new-tokens", "9", "--temperature"),
        *("0.7", "--top-p", "0.9", "--top-k", "5", "--seed", "3", "--policy", "eager"),
        *("--lookahead", "4", "--run-ahead", "8", "--pair", "twin", "--no-chat"),
        *("--draft-device", "cpu:0", "--target-device", "cpu:1", "--min-p", "0.05"),
        *("--repetition-penalty", "1.2", "--stop", "END", "--stop", "\n\n"),
    )
    assert session.made_with == {
        "pair": "twin",
        "draft_device": "cpu:0",
        "target_device": "cpu:1",
    }
    assert session.asked == {
        "prompt": "Why?",
        "method": "synchronous",
        "max_new_tokens": 9,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "min_p": 0.05,
        "repetition_penalty": 1.2,
        "stop": ["END", "\n\n"],
        "seed": 3,
        "policy": "eager",
        "lookahead": 4,
        "run_ahead": 8,
        "chat": False,
    }


def test_decode_json_prints_one_object(run, session, tmp_path):
    file = tmp_path / "run.jsonl"
    code, out, err = run("decode", "Why?", "--json", "--trace", file)
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["text"] == "".join(session.trace.texts)
    assert answer["token_ids"] == list(session.trace.tokens)
    assert answer["new_tokens"] == 40
    assert answer["finish_reason"] == "length"
    assert answer["rollbacks"] == 8
    assert answer["accepted"] == list(session.trace.fates.values()).count(Fate.ACCEPTED)
    assert answer["accepted"] < answer["proposed"]
    assert 0 < answer["acceptance_rate"] < 1
    assert answer["seconds"] >= answer["decode_seconds"] + answer["prefill_seconds"]
    assert set(answer) >= {"method", "verifications", "devices", "numerics"}
    assert Trace.load(file) == session.trace


def test_decode_reads_the_prompt_from_stdin(run, session, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(read=lambda: "from a pipe"))
    run("decode", "-")
    assert session.asked["prompt"] == "from a pipe"


def test_an_interrupt_stops_the_run_and_keeps_what_there_is(run, session, tmp_path):
    session.interrupt_at = 30
    file = tmp_path / "run.jsonl"
    code, out, _ = run("decode", "Why?", "--trace", file)
    assert code == 130
    assert session.run.stopped
    assert session.run.waited
    assert "".join(session.trace.texts).startswith(out.rstrip("\n"))
    assert file.exists()


def test_a_named_error_of_the_engine_is_one_sentence(run, session):
    session.error = SettingError("max_new_tokens is -1;\n it must be\x1b[2J at least 1")
    code, out, err = run("decode", "Why?")
    assert code == 1
    assert out == ""
    assert is_one_sentence(err)
    assert "\x1b" not in err
    assert session.closed


def test_a_trace_that_cannot_be_written_is_refused_before_models_load(run, session, tmp_path):
    code, _, err = run("decode", "Why?", "--trace", tmp_path / "no" / "folder.jsonl")
    assert code == 1
    assert is_one_sentence(err)
    assert not hasattr(session, "made_with")


# -- the real engine -------------------------------------------------------------------------

KEYS = {
    *("text", "token_ids", "method", "new_tokens", "seconds", "decode_seconds", "prefill_seconds"),
    *("verifications", "proposed", "accepted", "acceptance_rate", "rollbacks", "finish_reason"),
    *("devices", "numerics"),
}


@pytest.mark.engine
def test_a_real_prompt_is_decoded_in_a_process_of_its_own(tmp_path):
    file = tmp_path / "run.jsonl.gz"
    command = [sys.executable, "-m", "amusd_viz.cli", "decode", "Name a colour.", "--json"]
    done = subprocess.run(
        [*command, "--max-new-tokens", "6", "--trace", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    trace = Trace.load(file)
    assert set(answer) >= KEYS
    assert answer["text"].strip()
    assert answer["token_ids"] == list(trace.tokens)
    assert answer["new_tokens"] == len(answer["token_ids"]) <= 6
    assert trace.header.source == "measured"
    assert answer["devices"]["draft"] != answer["devices"]["target"]


@pytest.mark.engine
@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-new-tokens", "-1"),
        ("--max-new-tokens", "99999999999999999999"),
        ("--temperature", "-0.5"),
        ("--temperature", "nan"),
        ("--top-p", "0"),
        ("--seed", "-3"),
        ("--method", "magic"),
        ("--policy", "fixed(-2)"),
        ("--lookahead", "0"),
        ("--run-ahead", "-1"),
        ("--pair", "no-such-pair"),
        ("--target", "/no/such/folder"),
        ("--draft-device", "cpu:9999"),
        ("--draft-device", "toaster"),
        ("--draft-device", "cpu:0", "--target-device", "cpu:0"),
        ("--draft-device", "cuda:77"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(run, arguments):
    code, out, err = run("decode", "Why?", *arguments)
    assert code == 1
    assert out == ""
    assert is_one_sentence(err), err


# -- notebooks and lab -----------------------------------------------------------------------


@pytest.fixture
def bundle(monkeypatch, tmp_path):
    """A small bundle instead of the real one: a notebook that shows one picture of two."""
    root = tmp_path / "bundle"
    (root / "notebooks").mkdir(parents=True)
    (root / "assets" / "pictures").mkdir(parents=True)
    (root / "assets" / "pictures" / "a.svg").write_text("<svg/>")
    (root / "assets" / "pictures" / "b.svg").write_text("<svg/>")
    cell = {"cell_type": "markdown", "source": ["![](../assets/pictures/a.svg)"]}
    (root / "notebooks" / "00_watch_it_decode.ipynb").write_text(json.dumps({"cells": [cell]}))
    for module in ("paths", "notebook_copy"):
        monkeypatch.setattr(f"amusd_viz.{module}.bundled", lambda *parts: root.joinpath(*parts))
    return root


def test_notebooks_are_copied_with_the_pictures_they_show(run, bundle, tmp_path):
    code, out, _ = run("notebooks", tmp_path / "mine")
    copied = {p.relative_to(tmp_path / "mine").as_posix() for p in tmp_path.glob("mine/**/*.*")}
    assert code == 0
    assert copied == {"notebooks/00_watch_it_decode.ipynb", "assets/pictures/a.svg"}
    assert out.startswith("2 files copied")
    assert "up to date" in run("notebooks", tmp_path / "mine")[1]


def test_changed_notebooks_are_not_overwritten_without_force(run, bundle, tmp_path):
    run("notebooks", tmp_path / "mine")
    changed = tmp_path / "mine" / "notebooks" / "00_watch_it_decode.ipynb"
    changed.write_text("my own work")
    (tmp_path / "mine" / "assets" / "pictures" / "a.svg").unlink()
    code, _, err = run("notebooks", tmp_path / "mine")
    assert code == 1
    assert is_one_sentence(err)
    assert changed.read_text() == "my own work"
    assert not (tmp_path / "mine" / "assets" / "pictures" / "a.svg").exists()
    assert run("notebooks", tmp_path / "mine", "--force")[0] == 0
    assert changed.read_text() != "my own work"


def test_notebooks_into_something_that_is_no_folder(run, bundle, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run("notebooks", tmp_path / "file")
    assert code == 1
    assert is_one_sentence(err)


@pytest.fixture
def replaced_by(monkeypatch) -> list[list[str]]:
    """The command lines that took the process over."""
    commands: list[list[str]] = []

    def take_over(program: str, command: list[str]) -> None:
        commands.append(command)
        raise SystemExit(0)

    monkeypatch.setattr("amusd_viz.jupyter_lab.os.execv", take_over)
    return commands


def test_lab_opens_the_first_notebook_and_passes_its_arguments_on(run, replaced_by):
    run("lab", "--no-browser", "--port=9999")
    (command,) = replaced_by
    root = next(word.split("=")[1] for word in command if "root_dir" in word)
    page = next(word.split("=/lab/tree/")[1] for word in command if "default_url" in word)
    assert (Path(root) / page).is_file()
    assert (Path(root) / "assets").is_dir()
    assert command[-2:] == ["--no-browser", "--port=9999"]


def test_an_installed_package_opens_a_copy(run, replaced_by, bundle, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("amusd_viz.jupyter_lab.in_checkout", lambda: False)
    run("lab")
    copy = tmp_path / "amusd-viz-course" / "notebooks" / "00_watch_it_decode.ipynb"
    copy.write_text("my own work")
    run("lab")
    assert copy.read_text() == "my own work"
    assert f"--ServerApp.root_dir={tmp_path / 'amusd-viz-course'}" in replaced_by[1]


def test_doctor_prints_a_few_lines(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert "amusd-viz" in out
    assert "mode: " in out
    assert len(out.splitlines()) < 25


def test_bench_refuses_nonsense_before_models_are_loaded(run):
    for wrong in (
        ("--methods", "magic"),
        ("--policy", "clever"),
        ("--max-new-tokens", "0"),
        ("--limit", "0"),
        ("--prompts", "missing.jsonl"),
        ("--dataset", "nonsense"),
    ):
        code, out, err = run("bench", *wrong)
        assert (code, out) == (1, ""), wrong
        assert is_one_sentence(err)
    assert run("bench", "--prompts", "a", "--dataset", "b")[0] == 2


def test_equality_refuses_nonsense_before_models_are_loaded(run):
    for wrong in (
        ("--methods", "magic"),
        ("--methods", "autoregressive"),
        ("--temperatures", "warm"),
        ("--limit", "0"),
    ):
        code, out, err = run("equality", *wrong)
        assert (code, out) == (1, ""), wrong
        assert is_one_sentence(err)


def test_check_can_say_where_the_time_went(run):
    code, out, _ = run("check", assets("traces", "sky-amusd.jsonl"), "--profile")
    assert code == 0
    assert "recording and messages" in out


def test_pairs_names_them_all_and_what_they_need(run):
    code, out, _ = run("pairs")
    assert code == 0
    for name in ("twin", "llama3", "qwen2.5", "smollm2"):
        assert f"\n{name} " in f"\n{out}"
    assert "meta-llama/Llama-3.1-8B-Instruct" in out


def test_a_named_error_of_any_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise SettingError("nothing\nto do; give 1\x1b[31m")

    with pytest.raises(SystemExit) as ended:
        run_command("distill", fail)
    assert ended.value.code == 1
    assert capsys.readouterr().err == "distill: nothing to do; give 1\ufffd[31m\n"


@pytest.mark.parametrize("module", ["distill", "generate", "report", "speculator"])
def test_training_commands_refuse_nonsense_without_a_traceback(module: str) -> None:
    pytest.importorskip("torch")
    nonsense = {
        "distill": ["--tokens", "0"],
        "generate": ["--part", "3/2"],
        "report": ["no such draft"],
        "speculator": ["--target", "/there/is/no/such/folder"],
    }
    ran = subprocess.run(
        [sys.executable, "-m", f"amusd_viz.training.{module}", *nonsense[module]],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{module}: ")
    assert len(ran.stderr.splitlines()) == 1


def test_a_pair_is_named_once_for_its_card(run) -> None:
    code, _, err = run("card", "twin", "--pair", "small")
    assert code == 2
    assert "name one" in err
