"""Making a draft: text from the target, a distillation that helps and can be interrupted, the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

import torch
from tiny_models import WORDS, save_tiny_pair
from transformers import AutoModelForCausalLM

from amusd_viz.errors import ModelError, SettingError
from amusd_viz.models.agreement import PROMPTS
from amusd_viz.models.borrowing import assembled_draft, read_draft, write_draft
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.draft_card import rate, read_card
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.training import distill, generate, report
from amusd_viz.training.batch_decoder import BatchDecoder
from amusd_viz.training.bridge import fit_bridge
from amusd_viz.training.course import Plan
from amusd_viz.training.distill import distil, write_result
from amusd_viz.training.generate import (
    Generation,
    generate_missing,
    held_out_folder,
    text_folder,
)
from amusd_viz.training.held_out import HELD_OUT, forbidden
from amusd_viz.training.judge import agreement_by_kind, kind_of, tail_guess
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.prompts import KINDS, prompt
from amusd_viz.training.shards import Text, count_tokens, finished_prompts, read_shard, shard_files
from amusd_viz.training.soft_labels import SoftLabelLoss
from amusd_viz.training.tail import Shape, Tail, last_layers

LAYERS = 4
BORROWED = 2
TEXTS = 160
PLAN = Plan(borrowed=BORROWED, trained=1, passes=10, batch_tokens=400, learning_rate=2e-3)


def asked(numbers: range, *, first: int = 0) -> list[tuple[int, list[int], float]]:
    """Prompts of three words; every third answer is greedy."""
    rng = torch.Generator().manual_seed(first)
    words = torch.randint(2, WORDS, (len(numbers), 3), generator=rng).tolist()
    return [(n, ids, 0.0 if n % 3 == 0 else 0.8) for n, ids in zip(numbers, words, strict=True)]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> ModelSource:
    _, folder = save_tiny_pair(tmp_path_factory.mktemp("models"), layers=LAYERS)
    return ModelSource("tiny", folder)


@pytest.fixture(scope="module")
def text(target: ModelSource, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Generated text, in the folder ``text``, and greedy held-out text beside it."""
    folder = tmp_path_factory.mktemp("generated")
    with torch.random.fork_rng():
        for name, numbers, first in (("text", range(TEXTS), 1), ("held-out", range(24), 2)):
            generation = Generation(target, folder / name, slots=16, max_new_tokens=32)
            prompts = asked(numbers, first=first)
            if name == "held-out":
                prompts = [(n, ids, 0.0) for n, ids, _ in prompts]
            generation.run(iter(prompts), "part")
    return folder


def all_texts(folder: Path, tap: int | None = BORROWED) -> list[Text]:
    return [text for file in shard_files(folder) for text in read_shard(file, tap)]


# -- prompts -------------------------------------------------------------------------------------


def test_prompts_are_many_and_none_is_measured_anywhere() -> None:
    prompts = [prompt(i) for i in range(4000)]
    assert len({p.text for p in prompts}) > 3000
    assert {p.kind for p in prompts} == {kind for kind, _ in KINDS}
    shared = json.loads((Path(__file__).parent / "prompts.json").read_text(encoding="utf-8"))
    assert not {p.text for p in prompts} & (forbidden() | set(shared))
    assert forbidden() > set(PROMPTS)
    greedy = sum(p.temperature == 0 for p in prompts) / len(prompts)
    assert 0.45 < greedy < 0.55


def test_a_prompt_depends_on_its_number_alone() -> None:
    assert prompt(1234) == prompt(1234)
    assert prompt(1234) != prompt(1244)


def test_held_out_prompts_have_a_kind_each() -> None:
    kinds = [kind_of(i) for i in range(sum(map(len, HELD_OUT.values())))]
    assert len(kinds) >= 60
    assert {k: kinds.count(k) for k in HELD_OUT} == {k: len(p) for k, p in HELD_OUT.items()}


# -- generating ----------------------------------------------------------------------------------


def test_texts_side_by_side_are_those_decoded_alone(target: ModelSource, text: Path) -> None:
    alone = CausalLM(load_model(target, "cpu", "fp32"), cache_length=128)
    for made in all_texts(text / "held-out")[:6]:
        ids = made.prompt.tolist()
        expected = [int(alone.prefill(ids).argmax())]
        while len(expected) < len(made.tokens):
            expected.append(int(alone.logits_after([*ids, *expected])[0].argmax()))
        assert made.tokens.tolist() == expected


def test_what_prompts_share_is_read_once_and_changes_nothing(
    target: ModelSource, tmp_path: Path
) -> None:
    prompts = [[5, 6, 7, 8, 9], [5, 6, 7, 3, 4, 2], [5, 6, 7, 3], [5, 6, 7, 3], [9, 8]]
    asked = [(number, ids, 0.0) for number, ids in enumerate(prompts)]
    how = {"slots": 8, "max_new_tokens": 8}
    Generation(target, tmp_path / "together", **how).run(iter(asked), "part")
    for one in asked:
        Generation(target, tmp_path / "alone", **how).run(iter([one]), f"part{one[0]}")
    together, alone = all_texts(tmp_path / "together"), all_texts(tmp_path / "alone")
    for one, other in zip(sorted(together, key=lambda t: t.index), alone, strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        torch.testing.assert_close(one.tap, other.tap, atol=0.01, rtol=0.01)
        torch.testing.assert_close(one.final, other.final, atol=0.01, rtol=0.01)


def test_what_is_kept_of_a_text_is_what_the_model_computes(target: ModelSource, text: Path) -> None:
    model = load_model(target, "cpu", "fp32")
    head = model.get_output_embeddings()
    for made in all_texts(text / "text")[:12]:
        ids = torch.cat([made.prompt, made.tokens]).long()[None]
        with torch.inference_mode():
            out = model(ids, output_hidden_states=True)
        first = len(made.prompt) - 1
        assert made.tap.shape == (ids.shape[1] - 1, 64)
        torch.testing.assert_close(
            made.tap.float(), out.hidden_states[BORROWED][0, :-1], atol=0.05, rtol=0.01
        )
        torch.testing.assert_close(
            made.final.float(), out.hidden_states[-1][0, first:-1], atol=0.01, rtol=0.01
        )
        logprobs = out.logits[0, first:-1].log_softmax(-1)
        torch.testing.assert_close(
            made.top_logprobs.float(),
            logprobs.gather(1, made.top_ids.long()),
            atol=0.02,
            rtol=0.01,
        )
        if made.temperature == 0:
            assert (head(made.final.float()).argmax(-1) == made.tokens).float().mean() > 0.9
            assert (made.top_ids[:, 0] == made.tokens).all()


def test_text_made_in_halves_is_the_targets_within_their_precision(
    target: ModelSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "multiplies_halves", lambda: True)
    prompts = asked(range(12))
    made = {}
    for name, halved in (("exact", False), ("halved", True)):
        how = {"slots": 8, "max_new_tokens": 16, "halved": halved}
        Generation(target, tmp_path / name, **how).run(iter(prompts), "part")
        made[name] = sorted(all_texts(tmp_path / name), key=lambda text: text.index)
    head = load_model(target, "cpu", "fp32").get_output_embeddings()
    differ = False
    for exact, halved in zip(made["exact"], made["halved"], strict=True):
        # The prompt's states are of the same tokens; answers may part where two words are close.
        read = len(exact.prompt)
        torch.testing.assert_close(halved.tap[:read], exact.tap[:read], atol=0.1, rtol=0.05)
        differ |= not torch.equal(halved.tap[:read], exact.tap[:read])
        best = head(halved.final.float()).topk(2)
        clear = best.values[:, 0] - best.values[:, 1] > 0.01
        assert (best.indices[clear, 0] == halved.top_ids[clear, 0]).all()
    assert differ


def test_generating_goes_on_where_it_stopped(target: ModelSource, tmp_path: Path) -> None:
    generation = Generation(target, tmp_path, slots=8, max_new_tokens=16)
    made = generation.run(iter(asked(range(40))), "part", tokens=200)
    done = finished_prompts(tmp_path)
    assert 200 <= made == count_tokens(tmp_path)
    assert 0 < len(done) < 40
    again = Generation(target, tmp_path, slots=8, max_new_tokens=16)
    again.run((a for a in asked(range(40)) if a[0] not in done), "part")
    assert sorted(t.index for t in all_texts(tmp_path, None)) == list(range(40))


def test_a_text_is_drawn_by_its_own_seed(target: ModelSource) -> None:
    def drawn(slots: int) -> dict[int, list[int]]:
        decoder = BatchDecoder(
            load_model(target, "cpu", "fp32"),
            slots=slots,
            longest=64,
            end_tokens=frozenset({0}),
            max_new_tokens=12,
        )
        return {a.index: a.tokens for a in decoder.answers(asked(range(12)))}

    assert drawn(3) == drawn(8)


def test_a_missing_tap_is_named(text: Path) -> None:
    with pytest.raises(ModelError, match="not after 3"):
        list(read_shard(shard_files(text / "text")[0], 3))


# -- distilling ----------------------------------------------------------------------------------


def test_distilling_improves_the_draft_and_an_interruption_changes_nothing(
    target: ModelSource, text: Path, tmp_path: Path
) -> None:
    where = {"text": text / "text", "held_out": text / "held-out"}
    course = distil(target, tmp_path / "at once", PLAN, **where)
    assert course.done
    whole = load_model(target, "cpu", "fp32")
    head = whole.get_output_embeddings().weight
    untrained = Tail(whole, last_layers(whole, BORROWED, 1, bridge=True))
    fit_bridge(untrained, whole, [t.tap for t in all_texts(text / "text")])
    held_out = all_texts(text / "held-out")
    before = agreement_by_kind(held_out, lambda t: tail_guess(untrained, head, t))["all"]
    after = course.curve[-1].agreed["all"]
    assert before[1] == after[1]
    assert after[0] > before[0] + 0.1 * before[1]

    interrupted = tmp_path / "interrupted"
    first = distil(target, interrupted, PLAN, **where, until_step=course.steps // 3)
    assert not first.done
    second = distil(target, interrupted, PLAN, **where)
    assert second.done
    assert second.curve == course.curve
    for name, weight in course.tail.state_dict().items():
        assert torch.equal(weight, second.tail.state_dict()[name]), name


def test_what_is_learnt_in_4_bits_runs_as_it_was_judged(
    target: ModelSource, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    where = {"text": text / "text", "held_out": text / "held-out"}
    plan = msgspec.structs.replace(PLAN, passes=3, four_bits_from=0.5)
    course = distil(target, tmp_path / "at once", plan, **where)
    distil(target, tmp_path / "in parts", plan, **where, until_step=course.steps * 2 // 3)
    resumed = distil(target, tmp_path / "in parts", plan, **where)
    assert resumed.curve == course.curve
    for name, weight in course.tail.state_dict().items():
        assert torch.equal(weight, resumed.tail.state_dict()[name]), name

    weights, about = read_draft(write_result(course, target, tmp_path, "mine"))
    assert about["bits"] == "4"
    with course.weights():
        for name, weight in course.tail.decoder.state_dict().items():
            torch.testing.assert_close(weights[name], weight, rtol=1e-2, atol=1e-3)


def test_a_shortened_distillation_ends_with_a_low_rate_also_after_an_interruption(
    target: ModelSource, text: Path, tmp_path: Path
) -> None:
    where = {"text": text / "text", "held_out": text / "held-out"}
    for name in ("at once", "in parts"):
        distil(target, tmp_path / name, PLAN, **where, until_step=4)
    short = distil(target, tmp_path / "at once", PLAN, **where, end_after=6)
    assert short.done
    assert short.step == 10
    assert short.rate == pytest.approx(PLAN.learning_rate / 20, rel=0.2)
    distil(target, tmp_path / "in parts", PLAN, **where, end_after=6, until_step=7)
    resumed = distil(target, tmp_path / "in parts", PLAN, **where)
    assert resumed.step == 10
    for name, weight in short.tail.state_dict().items():
        assert torch.equal(weight, resumed.tail.state_dict()[name]), name


def test_a_distillation_under_way_keeps_its_plan(
    target: ModelSource, text: Path, tmp_path: Path
) -> None:
    where = {"text": text / "text", "held_out": text / "held-out", "until_step": 1}
    distil(target, tmp_path, PLAN, **where)
    other = Plan(borrowed=1, trained=1)
    with pytest.raises(ModelError, match="other settings"):
        distil(target, tmp_path, other, **where)
    with pytest.raises(ModelError, match="no text"):
        distil(target, tmp_path / "new", PLAN, text=tmp_path / "nowhere")


def test_texts_end_to_end_are_read_as_the_target_reads_each(
    target: ModelSource, text: Path
) -> None:
    whole = load_model(target, "cpu", "fp32")
    tail = Tail(whole, Shape(BORROWED, tuple(range(BORROWED, LAYERS))))
    some = all_texts(text / "text")[:3]
    assert len({len(t.tap) for t in some}) > 1
    with torch.no_grad():
        for read, one in zip(tail([t.tap for t in some]), some, strict=True):
            ids = torch.cat([one.prompt, one.tokens]).long()[None, :-1]
            alone = whole.model(ids).last_hidden_state[0]
            torch.testing.assert_close(read, alone, atol=0.05, rtol=0.01)


# -- the bridge ----------------------------------------------------------------------------------


def test_the_bridge_is_what_a_ridge_regression_finds(target: ModelSource, text: Path) -> None:
    whole = load_model(target, "cpu", "fp32")
    states = [t.tap.float() for t in all_texts(text / "text")]
    tail = Tail(whole, last_layers(whole, BORROWED, 1, bridge=True))
    fit_bridge(tail, whole, states)
    bridge, left_out = tail.decoder.layers[0], whole.model.layers[BORROWED]
    position = whole.model.rotary_emb(states[0], torch.arange(200)[None])
    before, after, wanted = [], [], []
    with torch.no_grad():
        for own in states:
            length = len(own)
            angles = tuple(part[:, :length] for part in position)
            mask = torch.full((length, length), float("-inf")).triu(1)[None, None]
            how = {"position_embeddings": angles, "attention_mask": mask, "lengths": [length]}
            read = left_out.self_attn(left_out.input_layernorm(own[None]), **how)[0]
            before.append(own + read[0])
            after.append(bridge(own[None], **how).view(length, -1))
            wanted.append(left_out(own[None], **how).view(length, -1))
    before, after, wanted = (torch.cat(rows) for rows in (before, after, wanted))
    normed = before / before.square().mean(dim=1, keepdim=True).sqrt()
    square = normed.T @ normed + 30 * torch.eye(64)
    line = before + normed @ torch.linalg.solve(square, normed.T @ (wanted - before))
    missed = (after - wanted).square().sum()
    assert missed < 0.8 * (before - wanted).square().sum()
    assert missed < 1.1 * (line - wanted).square().sum()


def test_a_bridge_agrees_more_often_before_any_training(target: ModelSource, text: Path) -> None:
    whole = load_model(target, "cpu", "fp32")
    head = whole.get_output_embeddings().weight
    right = {}
    for bridge in (False, True):
        tail = Tail(whole, last_layers(whole, BORROWED, 1, bridge=bridge))
        if bridge:
            fit_bridge(tail, whole, [t.tap for t in all_texts(text / "text")])
        guess = partial(tail_guess, tail, head)
        right[bridge] = agreement_by_kind(all_texts(text / "held-out"), guess)["all"][0]
    assert right[True] > 1.1 * right[False]


def test_a_bridge_needs_a_wide_gated_mlp(target: ModelSource) -> None:
    whole = load_model(target, "cpu", "fp32")
    tail = Tail(whole, last_layers(whole, BORROWED, 1, bridge=True))
    tail.decoder.layers[0].mlp.gate_proj = torch.nn.Linear(64, 32)
    with pytest.raises(SettingError, match="at least 64 inner units; these have 32"):
        fit_bridge(tail, whole, [torch.randn(4, 64)])


def test_shapes_that_are_no_draft_are_refused(target: ModelSource) -> None:
    whole = load_model(target, "cpu", "fp32")
    for borrowed, trained in ((0, 1), (1, 0), (2, 2), (1, 9)):
        with pytest.raises(SettingError, match=f"a target with {LAYERS}"):
            last_layers(whole, borrowed, trained)


def test_the_loss_is_least_where_the_states_are_the_targets() -> None:
    torch.manual_seed(0)
    head, wanted = torch.randn(50, 8), torch.randn(6, 8)
    top = (wanted @ head.T).log_softmax(-1).topk(4)
    loss = SoftLabelLoss(head, torch.arange(20), state_weight=1.0)
    least = loss(wanted, wanted, top.indices, top.values)
    for _ in range(20):
        off = wanted + 0.3 * torch.randn_like(wanted)
        assert loss(off, wanted, top.indices, top.values) > least


def test_the_table_of_what_followed_repeats_what_it_has_seen(text: Path) -> None:
    texts = [t for t in all_texts(text / "text", None) if t.temperature == 0]
    table = NgramTable(texts)
    seen = sum(int((table.guess(t) == t.tokens).sum()) for t in texts)
    assert seen > 0.6 * sum(len(t.tokens) for t in texts)
    assert len(table.guess(all_texts(text / "held-out", None)[0])) > 0


# -- the commands --------------------------------------------------------------------------------


def test_one_command_generates_distils_and_names_the_result(
    target: ModelSource,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(distill, "generate_missing", partial(generate_missing, max_new_tokens=8))
    command = ["distill", "--target", str(target.folder), "--name", "mine", "--tokens", "400"]
    shape = ["--borrowed", "2", "--trained", "1", "--passes", "1"]
    monkeypatch.setattr("sys.argv", [*command, *shape])
    distill.main()
    file = capsys.readouterr().out.split("--draft")[-1].strip()
    pair = resolve_pair(draft=file, target=str(target.folder))
    assert (pair.draft.bits, pair.draft.last_in_8_bits) == (4, 2)
    assert load_model(pair.draft, "cpu", "fp32").config.num_hidden_layers == 3 + 1
    name = target.folder.name
    assert count_tokens(text_folder(name)) >= 400
    assert finished_prompts(held_out_folder(name)) == set(range(64))

    monkeypatch.setattr("sys.argv", ["report", "mine", "--target", str(target.folder)])
    report.main()
    said = capsys.readouterr().out
    card = read_card(report.result_file(name, "mine"))
    assert f"agrees {rate(card.agreed):.1%}" in said
    assert set(card.agreed) == {"all", *HELD_OUT}
    assert card.curve[-1].tokens == card.generated >= 400
    assert card.bridge
    assert card.candidates[0].bridge
    assert 0 <= rate(card.floor) <= 1
    monkeypatch.setattr("sys.argv", ["report", "theirs", "--target", str(target.folder)])
    with pytest.raises(ModelError, match="no finished draft 'theirs'"):
        report.main()


# -- the file ------------------------------------------------------------------------------------


def test_the_assembled_draft_computes_what_was_trained(
    target: ModelSource, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    where = {"text": text / "text", "held_out": text / "held-out"}
    course = distil(target, tmp_path, PLAN, **where, until_step=4)
    file = write_result(course, target, tmp_path, "mine")
    folder = assembled_draft(file, target.folder, "tiny")
    assert assembled_draft(file, target.folder, "tiny") == folder
    draft = AutoModelForCausalLM.from_pretrained(folder).eval()
    assert draft.config.num_hidden_layers == BORROWED + 2
    for made in all_texts(text / "held-out")[:4]:
        fed = torch.cat([made.prompt, made.tokens]).long()[None, :-1]
        with torch.inference_mode():
            whole = draft(fed).logits[0]
            (tail,) = course.tail([made.tap])
        trained = tail @ course.head.T
        assert (whole.argmax(-1) == trained.argmax(-1)).float().mean() > 0.9
        torch.testing.assert_close(whole, trained, atol=0.15 * float(trained.std()), rtol=0)


def test_a_draft_of_another_target_or_a_damaged_file_is_refused(
    target: ModelSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "cache"))
    weights = {"norm.weight": torch.ones(4), "layers.0.x.weight": torch.randn(4, 4)}
    file = write_draft(tmp_path / "d.safetensors", weights, target="other", borrowed=1, layers=1)
    back, about = read_draft(file)
    torch.testing.assert_close(
        back["layers.0.x.weight"], weights["layers.0.x.weight"], atol=0.02, rtol=0
    )
    assert about["target"] == "other"
    with pytest.raises(ModelError, match="cannot draft for tiny"):
        assembled_draft(file, target.folder, "tiny")
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ModelError, match="cannot be read"):
        assembled_draft(file, target.folder, "tiny")
