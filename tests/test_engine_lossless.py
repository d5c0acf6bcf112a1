"""The output never depends on the method, the policy, the draft or the schedule."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny_models import save_tiny_pair

from amusd_viz import events as ev
from amusd_viz import recording
from amusd_viz.decode_report import committed_text
from amusd_viz.engine import Run, Session
from amusd_viz.metrics import measure

pytestmark = pytest.mark.engine

PROMPTS = json.loads((Path(__file__).parent / "prompts.json").read_text(encoding="utf-8"))
SAMPLINGS = {
    "greedy": {},
    "T 0.7": {"temperature": 0.7, "seed": 7},
    "T 1.0, top-p 0.9": {"temperature": 1.0, "top_p": 0.9, "seed": 11},
}
TINY_SAMPLINGS = SAMPLINGS | {
    "greedy, penalty 1.3": {"repetition_penalty": 1.3},
    "T 0.8, all filters": {
        "temperature": 0.8,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.02,
        "repetition_penalty": 1.2,
        "seed": 5,
    },
}
WAYS: list[tuple[str, dict]] = [
    ("synchronous", {"lookahead": 3}),
    ("amusd", {"policy": "paper"}),
    ("amusd", {"policy": "eager"}),
    ("amusd", {"policy": "fixed(3)"}),
]
ALL_WAYS = [*WAYS, ("amusd", {"policy": "adaptive"}), ("amusd", {"policy": "confidence(0.5)"})]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    draft, target = save_tiny_pair(tmp_path_factory.mktemp("tiny"))
    with Session(draft=str(draft), target=str(target), dtype="fp32") as session:
        yield session


def finished(run: Run) -> Run:
    """Waits for a run and checks its trace; the events of every run must hold together."""
    run.wait().trace.check()
    return run


@pytest.mark.parametrize("sampling", TINY_SAMPLINGS.values(), ids=TINY_SAMPLINGS)
def test_tiny_pair_under_every_method(tiny: Session, sampling: dict) -> None:
    for number in range(4):
        prompt = f"w{number} w{number + 50} w7"
        plain = finished(tiny.decode(prompt, "autoregressive", max_new_tokens=60, **sampling))
        for method, how in ALL_WAYS:
            run = finished(tiny.decode(prompt, method, max_new_tokens=60, **how, **sampling))
            assert run.token_ids == plain.token_ids, (method, how)
            assert run.trace.finish.reason == plain.trace.finish.reason
            assert run.text == plain.text


def test_tiny_pair_rolls_back(tiny: Session) -> None:
    """The other tests of this file would prove little if the draft were always right."""
    run = finished(tiny.decode("w1 w2 w3", max_new_tokens=120, temperature=1.0, seed=3))
    metrics = measure(run.trace)
    assert metrics.rollbacks >= 5
    assert metrics.accepted >= 5


@pytest.mark.parametrize("seed", range(4))
def test_injected_delays_change_the_schedule_and_not_the_text(tiny: Session, seed: int) -> None:
    chance = random.Random(seed)

    def pauses() -> tuple[float, ...]:
        return tuple(chance.choice([0, 0, 0.001, 0.004, 0.01]) for _ in range(17))

    sampling = {"temperature": 1.0, "seed": seed}
    plain = finished(tiny.decode("w5 w6", "autoregressive", max_new_tokens=50, **sampling))
    for method, how in ALL_WAYS:
        run = tiny.decode(
            "w5 w6", method, max_new_tokens=50, delays=(pauses(), pauses()), **how, **sampling
        )
        assert finished(run).token_ids == plain.token_ids


def test_the_same_seed_gives_the_same_text_and_another_seed_another(tiny: Session) -> None:
    texts = [
        finished(tiny.decode("w9", max_new_tokens=40, temperature=1.0, seed=seed)).token_ids
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_exact_length(tiny: Session, length: int) -> None:
    plain = finished(tiny.decode("w4", "autoregressive", max_new_tokens=length))
    for method, how in WAYS:
        run = finished(tiny.decode("w4", method, max_new_tokens=length, **how))
        assert run.token_ids == plain.token_ids
        assert len(run.token_ids) == length or run.trace.finish.reason == "end_token"


def test_the_end_token_is_counted_and_not_shown(tiny: Session) -> None:
    """Seeds are tried until one ends early; among 300 words that happens soon."""
    for seed in range(60):
        run = finished(tiny.decode("w8", max_new_tokens=200, temperature=1.5, seed=seed))
        if run.trace.finish.reason == "end_token":
            break
    else:
        pytest.fail("no run ended by its end token")
    assert run.token_ids[-1] == 0
    assert 0 not in run.token_ids[:-1]
    assert "<end>" not in run.text
    plain = finished(
        tiny.decode("w8", "autoregressive", max_new_tokens=200, temperature=1.5, seed=seed)
    )
    assert plain.token_ids == run.token_ids


def test_a_stop_string_ends_the_output_and_is_not_part_of_its_text(tiny: Session) -> None:
    """The tiny tokenizer writes words without spaces, so a stop string may begin inside of one."""
    sampling = {"temperature": 1.0, "seed": 2, "max_new_tokens": 40}
    whole = finished(tiny.decode("w1 w2", "autoregressive", **sampling))
    stop = whole.text[30:36]
    before = whole.text[: whole.text.index(stop)]
    for method, how in [("autoregressive", {}), *ALL_WAYS]:
        run = finished(tiny.decode("w1 w2", method, stop=stop, **sampling, **how))
        assert run.text == before, (method, how)
        assert run.trace.finish.reason == "stop_condition"
        assert run.token_ids == whole.token_ids[: len(run.token_ids)]
        assert run.header.stop == (stop,)
        assert "".join(committed_text(run)) == before


def test_a_stopped_run_is_a_prefix(tiny: Session) -> None:
    plain = finished(tiny.decode("w3 w2", "autoregressive", max_new_tokens=200))
    slow = (0.002,) * 3
    run = tiny.decode("w3 w2", max_new_tokens=200, delays=(slow, slow))
    for event in run:
        if isinstance(event, ev.Verified) and event.position > 10:
            run.stop()
            break
    finished(run)
    assert run.trace.finish.reason == "stop_request"
    assert 10 < len(run.token_ids) < 200
    assert run.token_ids == plain.token_ids[: len(run.token_ids)]


def test_events_can_be_followed_while_the_run_goes_on(tiny: Session) -> None:
    run = tiny.decode("w1", max_new_tokens=60, delays=((0.002,), (0.004,)))
    seen = []
    open_when_first_seen = None
    for event in run:
        if open_when_first_seen is None:
            open_when_first_seen = not run.done
        seen.append(event)
    assert open_when_first_seen
    assert sorted(map(repr, seen)) == sorted(map(repr, run.trace.events))


def test_both_devices_work_at_the_same_time(tiny: Session) -> None:
    """Computed from the events of a run now, and of the recorded one of the default pair."""
    slow = {"policy": "eager", "delays": ((0.01,), (0.02,))}
    run = finished(tiny.decode("w2 w5", max_new_tokens=60, **slow))
    for trace in (run.trace, recording("sky-amusd")):
        assert measure(trace).overlap > 0.5
        for side in ev.Side:
            spans = trace.spans(side)
            assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert measure(recording("sky-synchronous")).overlap < 0.05


def test_many_runs_on_one_session_stay_apart(tiny: Session) -> None:
    """A late message of one run never enters the next: stops, lengths and prompts alternate."""
    expected = {}
    for number in range(30):
        prompt = f"w{number % 5 + 1}"
        length = (1, 7, 30)[number % 3]
        run = tiny.decode(prompt, max_new_tokens=length, temperature=0.9, seed=number % 5)
        if number % 4 == 3:
            run.stop()
        ids = finished(run).token_ids
        known = expected.setdefault((prompt, number % 5), ids)
        shorter = min(len(known), len(ids))
        assert ids[:shorter] == known[:shorter]
        if len(ids) > len(known):
            expected[prompt, number % 5] = ids


def default_pair_matrix(
    dtype: str,
    rows: int,
    prompts: list[str],
    samplings: dict[str, dict],
    tokens: int,
    chat: bool,
    done: Iterable[tuple[str, str]] = (),
) -> Iterator[dict]:
    """Decodes every prompt in every way and says, for each, whether all tokens agreed.

    Pairs of sampling and prompt in ``done`` are left out.
    """
    same = {"max_new_tokens": tokens, "chat": chat}
    with Session(dtype=dtype, rows=rows) as session:
        for (name, sampling), prompt in itertools.product(samplings.items(), prompts):
            if (name, prompt) in done:
                continue
            plain = finished(session.decode(prompt, "autoregressive", **same, **sampling))
            for method, how in WAYS:
                run = finished(session.decode(prompt, method, **same, **how, **sampling))
                assert run.header.numerics == plain.header.numerics
                metrics = measure(run.trace)
                yield {
                    "dtype": dtype,
                    "sampling": name,
                    "prompt": prompt,
                    "method": method,
                    "policy": run.header.policy,
                    "tokens": len(plain.token_ids),
                    "identical": run.token_ids == plain.token_ids,
                    "proposed": metrics.proposed,
                    "accepted": metrics.accepted,
                    "rollbacks": metrics.rollbacks,
                }


@pytest.mark.parametrize(("dtype", "rows", "prompts"), [("bf16", 4, 6), ("fp32", 8, 2)])
def test_default_pair(dtype: str, rows: int, prompts: int) -> None:
    """The real models in CI; slow on processors that only emulate bf16."""
    samplings = {"greedy": {}} if dtype == "bf16" else {"T 1.0": SAMPLINGS["T 1.0, top-p 0.9"]}
    results = list(
        default_pair_matrix(dtype, rows, PROMPTS[:prompts], samplings, tokens=32, chat=False)
    )
    assert len(results) == prompts * len(WAYS)
    assert [r for r in results if not r["identical"]] == []


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize(("dtype", "rows"), [("bf16", 4), ("fp32", 4)])
def test_default_pair_full_matrix(dtype: str, rows: int) -> None:
    """40 prompts, three samplings, every method; the result is kept in assets/lossless/.

    Plain continuations, since every chat prompt begins with the same 30 tokens.
    AMUSD_VIZ_MATRIX_RESUME=1 goes on where an interrupted run ended.
    """
    tokens = int(os.environ.get("AMUSD_VIZ_MATRIX_TOKENS", "32"))
    file = Path(__file__).parent.parent / "assets" / "lossless" / f"matrix-{dtype}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    if os.environ.get("AMUSD_VIZ_MATRIX_RESUME") != "1":
        file.write_text("")
    results = whole_groups(file)
    done = {(r["sampling"], r["prompt"]) for r in results}
    with file.open("w", encoding="utf-8") as kept:
        kept.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in results)
        for result in default_pair_matrix(dtype, rows, PROMPTS, SAMPLINGS, tokens, False, done):
            results.append(result)
            print(json.dumps(result, ensure_ascii=False), file=kept, flush=True)
    assert len(results) == 40 * len(SAMPLINGS) * len(WAYS)
    assert [r for r in results if not r["identical"]] == []


def whole_groups(file: Path) -> list[dict]:
    """The results of a file, less those of a prompt whose methods were not all run."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    results = [json.loads(line) for line in lines]
    return results[: len(results) // len(WAYS) * len(WAYS)]
