"""Training a speculator: rows that are aligned, losses, a course that can be interrupted, the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from tiny_speculator import generate_tiny_text, save_tiny_target, train_tiny_speculator

from amusd_viz.errors import ModelError, PromptError, SettingError
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.compact_speculator import (
    card_of,
    compact_config,
    export_full,
    load_compact,
    with_more_words,
)
from amusd_viz.models.loading import load_model
from amusd_viz.models.pairs import ModelSource
from amusd_viz.models.speculator import Speculator, SpeculatorConfig
from amusd_viz.models.speculator_check import check_speculator
from amusd_viz.models.speculator_files import load_speculator
from amusd_viz.models.states import norm_before
from amusd_viz.models.tokens import Tokens
from amusd_viz.training import speculator as command
from amusd_viz.training.generate import held_out_folder, text_folder
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.read_text import read_text
from amusd_viz.training.shards import Text, shard_files, stored_taps, write_texts
from amusd_viz.training.shared_rows import keep_sums, share_rows, sums_made_once
from amusd_viz.training.speculator_course import Course, Plan
from amusd_viz.training.speculator_loss import HeadLosses
from amusd_viz.training.speculator_rows import NOTHING, Rows, disagreement, with_layer_state
from amusd_viz.training.speculator_scores import (
    head_accuracy,
    ngram_scores,
    score,
)
from amusd_viz.training.speculator_start import Finished

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelSource]:
    """A tiny target whose text lies in a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMUSD_VIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        made = save_tiny_target(tmp_path_factory.mktemp("models"))
        generate_tiny_text(made)
        yield made


@pytest.fixture(scope="module")
def trained(target: ModelSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tiny_speculator(target, tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def model(target: ModelSource) -> torch.nn.Module:
    return load_model(target, "cpu", "fp32")


def text(*tokens: int, first: int = 0) -> Text:
    """An answer whose states say which token was chosen from them."""
    ids = torch.tensor(tokens)
    return Text(
        index=first,
        temperature=0.0,
        prompt=torch.tensor([1, 2]),
        tokens=ids,
        top_ids=torch.stack([ids, ids + 1], dim=-1),
        top_logprobs=torch.tensor([[0.75, 0.25]] * len(ids)).log(),
        final=ids[:, None].float().expand(-1, 3),
    )


# -- rows ----------------------------------------------------------------------------------------


def test_every_row_holds_a_state_the_tokens_since_and_what_heads_are_to_predict() -> None:
    rows = Rows([text(10, 11, 12, 13), text(20, 21)])
    assert rows.usable().tolist() == [0, 1, 2, 4]
    batch = rows.batch(torch.tensor([0, 2, 4]), 3)
    assert batch.states[:, 0].tolist() == [10, 12, 20]
    assert batch.given[:, 0].tolist() == [10, 12, 20]
    assert batch.given[0].tolist() == [10, 11, 12]
    assert batch.labels.tolist() == [[11, 12, 13], [13, NOTHING, NOTHING], [21, NOTHING, NOTHING]]
    assert batch.top_ids[0, :, 0].tolist() == [11, 12, 13]
    # 11 came once and was the second best once; 10 came, and was never second.
    assert rows.frequent_tokens(3, always=[99]) == (11, 12, 99)
    assert len(rows.frequent_tokens(99)) == 8


def test_the_state_of_every_row_is_the_one_its_token_was_chosen_from(
    target: ModelSource, model: torch.nn.Module
) -> None:
    head = model.get_output_embeddings().weight
    for folder in (text_folder(target.name), held_out_folder(target.name)):
        texts = command.texts_in(folder)
        rows = Rows(texts)
        everywhere = torch.arange(len(rows))
        assert disagreement(rows, head, everywhere) <= len(rows) // 200
        greedy = Rows([t for t in texts if t.temperature == 0])
        best = (greedy.states.float() @ head.T).argmax(-1)
        assert (best == greedy.tokens).float().mean() > 0.995
        # Off by one, nearly everything would differ: the check has something to see.
        rows.states = rows.states.roll(1, 0)
        with pytest.raises(ModelError, match="generate them anew"):
            command.check_alignment(rows, head)


def test_what_a_layer_read_lies_behind_the_state_of_the_same_pass(
    target: ModelSource, model: torch.nn.Module
) -> None:
    folder = text_folder(target.name)
    norm = norm_before(model, 2)
    text = with_layer_state(command.texts_in(folder, tap=2)[3], norm)
    lm = CausalLM(model, 128, state_layer=2)
    lm.logits_after(text.prompt.tolist(), text.tokens[:-1].tolist())
    assert text.final.shape == (len(text.tokens), 128)
    torch.testing.assert_close(text.final.float(), lm.hidden, rtol=2e-3, atol=2e-3)
    assert stored_taps(shard_files(folder)) == {2}


def test_a_layer_whose_states_were_not_kept_is_named(target: ModelSource, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds states after 2 layers, not after 1"):
        train_tiny_speculator(target, tmp_path, "--state-layer", "1")
    with pytest.raises(ModelError, match="layer 3 of the target reads, and the target's 3 layers"):
        train_tiny_speculator(target, tmp_path, "--state-layer", "3")


def test_a_speculator_may_learn_from_the_last_state_alone(
    target: ModelSource, trained: Path, tmp_path: Path
) -> None:
    train_tiny_speculator(target, tmp_path, "--last-state-only", "--passes", "2")
    alone, both = compact_config(tmp_path), compact_config(trained)
    assert (alone.state_layer, alone.emb_dim) == (None, 64)
    assert (both.state_layer, both.emb_dim, both.inner_dim) == (2, 128, 64)


# -- losses --------------------------------------------------------------------------------------


def speculator_of(words: tuple[int, ...] | None) -> Speculator:
    config = SpeculatorConfig(
        emb_dim=3, inner_dim=3, vocab_size=30, n_predict=2, tie_weights=True, short_list=words
    )
    return Speculator(config).initialise(torch.Generator().manual_seed(0))


def test_hard_labels_are_cross_entropy_over_what_is_there() -> None:
    rows = Rows([text(10, 11, 12)])
    batch = rows.batch(torch.tensor([0, 1]), 2)
    logits = torch.randn(2, 30)
    loss = HeadLosses(speculator_of(None))
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([11, 12]))
    torch.testing.assert_close(loss(0, logits, batch), expected)
    expected = torch.nn.functional.cross_entropy(logits[:1], torch.tensor([12]))
    torch.testing.assert_close(loss(1, logits, batch), expected)


def test_soft_labels_are_the_targets_probabilities() -> None:
    batch = Rows([text(10, 11, 12)]).batch(torch.tensor([0, 1]), 1)
    logits = torch.randn(2, 30)
    logprobs = logits.log_softmax(-1)
    wanted = [(11, 12), (12, 13)]
    expected = (
        -sum(0.75 * logprobs[i, a] + 0.25 * logprobs[i, b] for i, (a, b) in enumerate(wanted)) / 2
    )
    torch.testing.assert_close(
        HeadLosses(speculator_of(None), soft=1.0)(0, logits, batch), expected
    )


def test_a_label_outside_the_short_list_teaches_nothing() -> None:
    batch = Rows([text(10, 11, 12)]).batch(torch.tensor([0, 1]), 1)
    logits = torch.randn(2, 3)
    loss = HeadLosses(speculator_of((5, 11, 13)))
    torch.testing.assert_close(loss(0, logits, batch), -logits[0].log_softmax(-1)[1])
    soft = HeadLosses(speculator_of((5, 11, 13)), soft=1.0)(0, logits, batch)
    logprobs = logits.log_softmax(-1)
    torch.testing.assert_close(soft, -(0.75 * logprobs[0, 1] + 0.25 * logprobs[1, 2]) / 2)


@pytest.mark.parametrize("fade", [0.0, 1.0])
def test_a_faded_head_learns_less(fade: float) -> None:
    config = SpeculatorConfig(emb_dim=3, vocab_size=30, n_predict=2)
    speculator = Speculator(config).initialise(torch.Generator().manual_seed(0))
    before = [head.weight.detach().clone() for head in speculator.head]
    plan = Plan(heads=2, stage_1=1, stage_2=0, batch=8, weight_decay=0.0, fade=fade)
    Course(speculator, (Rows([text(*range(2, 20))]), None), None, plan).run()
    assert not torch.equal(speculator.head[0].weight, before[0])
    assert torch.equal(speculator.head[1].weight, before[1]) == (fade == 0)


# -- the course ----------------------------------------------------------------------------------


def test_the_schedule_of_the_paper() -> None:
    plan = Plan(stage_1=1000, stage_2=400, learning_rate=1.0)
    rates = [plan.rate(step) for step in range(1400)]
    assert rates[24] == pytest.approx(1 - 0.5**2)
    assert rates[49] == pytest.approx(1.0)
    assert rates[999] == pytest.approx(0.1, abs=1e-4)
    assert max(rates[1000:]) == pytest.approx(0.1)
    assert rates[1399] == pytest.approx(0.01, abs=1e-4)
    assert all(rate > 0 for rate in rates)


def test_a_pass_reads_every_position_once() -> None:
    rows = Rows([text(*range(2, 25)), text(5, 6, 7)])
    plan = Plan(heads=2, stage_1=8, stage_2=0, batch=6)
    course = Course(speculator_of(None), (rows, None), None, plan)
    seen = []
    for course.step in range(4):
        seen += course._positions(1, rows).tolist()
    assert sorted(seen) == rows.usable().tolist()


def test_training_helps(target: ModelSource, trained: Path, model: torch.nn.Module) -> None:
    card = card_of(trained)
    assert card["held_out"]["heads"][0] > 0.25
    assert card["held_out"]["tree"] > card["held_out"]["chain"] > 1.25
    first, last = card["curve"][0], card["curve"][-1]
    assert sum(last["loss"]) < 0.8 * sum(first["loss"])
    assert card["held_out"]["ngram_table"]["right"] > 0.2


def test_it_is_judged_by_answers_it_did_not_learn_from(target: ModelSource, trained: Path) -> None:
    card = card_of(trained)
    made = command.texts_in(text_folder(target.name))
    aside = [text for text in made if text.index % 37 == 0]
    assert card["texts"] == len(made) - len(aside)
    assert card["positions"] == sum(len(t.tokens) for t in made if t.index % 37)
    greedy = [text for text in aside if not text.temperature]
    assert 0 < card["set_aside"]["texts"] == len(greedy) < len(aside)
    assert card["set_aside"]["positions"] == sum(len(text.tokens) - 1 for text in greedy)
    assert card["set_aside"]["ngram_table"]["chain"] > 1


def test_an_answer_set_aside_does_not_count_where_its_prompt_was_asked_again() -> None:
    asked = ((37, 8, 0.0), (74, 9, 0.0), (111, 6, 0.8), (5, 8, 0.0))
    made = [
        replace(text(3, 4, first=at), prompt=torch.tensor([7, word]), temperature=heat)
        for at, word, heat in asked
    ]
    assert [t.index for t in command.unseen(made, made[3:])] == [74]
    assert command.unseen(made, made[3:], earlier=[[7, 9]]) == []


def test_a_training_goes_on_from_a_finished_speculator(
    target: ModelSource, trained: Path, tmp_path: Path
) -> None:
    start = ("--from", str(trained), "--passes", "1", "--learning-rate", "1e-4")
    train_tiny_speculator(target, tmp_path / "on", *start)
    before, after = card_of(trained), card_of(tmp_path / "on")
    assert compact_config(tmp_path / "on") == compact_config(trained)
    told = after["begun_from"]
    assert told["positions"] == before["positions"]
    assert told["plan"] == before["plan"]
    assert told["held_out"] == {
        key: value for key, value in before["held_out"].items() if key != "ngram_table"
    }
    # A short training at a low rate keeps what was learnt; a fresh one would know nothing yet.
    assert after["curve"][0]["accuracy"][0] > before["curve"][0]["accuracy"][0]
    assert after["held_out"]["heads"][0] > 0.9 * before["held_out"]["heads"][0]
    assert after["plan"]["begun_from"] == Finished(trained).digest
    with pytest.raises(ModelError, match="no finished speculator"):
        train_tiny_speculator(target, tmp_path / "on", "--from", str(tmp_path))
    with pytest.raises(SettingError, match="another plan"):
        train_tiny_speculator(target, tmp_path / "on", "--from", str(tmp_path / "on"))


def test_a_finished_speculator_learns_more_words(
    target: ModelSource, trained: Path, tmp_path: Path
) -> None:
    start = ("--from", str(trained), "--passes", "2", "--learning-rate", "1e-3")
    train_tiny_speculator(target, tmp_path / "more", *start, "--words", "240", "--shared")
    known = compact_config(trained).short_list
    learnt = compact_config(tmp_path / "more").short_list
    assert known is not None
    assert learnt is not None
    assert len(learnt) == 240
    assert set(learnt) > set(known)
    before, after = card_of(trained), card_of(tmp_path / "more")
    assert after["plan"]["shared"]
    assert after["held_out"]["heads"][0] >= before["held_out"]["heads"][0]
    with pytest.raises(SettingError, match="fewer than the 200"):
        train_tiny_speculator(target, tmp_path / "less", *start, "--words", "100")


@torch.no_grad()
def test_more_words_leave_what_is_said_of_the_known_ones(
    target: ModelSource, trained: Path
) -> None:
    embedding = load_model(target, "cpu", "fp32").get_input_embeddings().weight.detach()
    known = load_compact(trained, embedding)
    before = known.config.short_list
    assert before is not None
    listed = tuple(sorted({*before, *range(240)}))
    more = with_more_words(known, listed, embedding)
    states = torch.randn(12, known.config.emb_dim, generator=torch.Generator().manual_seed(3))
    given = torch.arange(48).view(12, 4) * 6
    kept = torch.isin(torch.tensor(listed), torch.tensor(before))
    torch.testing.assert_close(
        more(states, given)[..., kept], known(states, given), atol=1e-5, rtol=1e-5
    )


def test_rows_learn_together_and_keep_their_sums(target: ModelSource, trained: Path) -> None:
    embedding = load_model(target, "cpu", "fp32").get_input_embeddings().weight.detach()
    speculator = load_compact(trained, embedding).requires_grad_(True)
    states = torch.randn(12, speculator.config.emb_dim, generator=torch.Generator().manual_seed(3))
    given = torch.arange(48).view(12, 4) * 6
    before = speculator(states, given)
    names = [name for name, _ in speculator.named_parameters()]
    share_rows(speculator, embedding)
    assert torch.equal(speculator(states, given), before)
    with sums_made_once():
        speculator(states, given).square().mean().backward()
    changes = [p for n, p in speculator.named_parameters() if n.endswith("matrix")]
    assert len(changes) == 2
    assert all(p.grad.abs().sum() > 0 for p in changes)
    with torch.no_grad():
        for parameter in changes:
            parameter -= 0.1 * parameter.grad / parameter.grad.norm()
        shared = speculator(states, given)
        assert not torch.allclose(shared, before)
        keep_sums(speculator)
        torch.testing.assert_close(speculator(states, given), shared)
    assert [name for name, _ in speculator.named_parameters()] == names


def test_an_interruption_changes_nothing(
    target: ModelSource, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Course.run

    def interrupted(course: Course) -> None:
        run(course, until_step=50)

    with monkeypatch.context() as patch:
        patch.setattr(Course, "run", interrupted)
        train_tiny_speculator(target, tmp_path)
    assert not (tmp_path / "speculator.json").exists()
    # Text that was generated meanwhile waits for the next training.
    more = text_folder(target.name) / "zz-later.safetensors"
    write_texts(more, command.texts_in(text_folder(target.name))[:3])
    train_tiny_speculator(target, tmp_path)
    more.unlink()
    assert card_of(tmp_path)["curve"] == card_of(trained)["curve"]
    weights = [(f / "speculator.safetensors").read_bytes() for f in (tmp_path, trained)]
    assert weights[0] == weights[1]
    with pytest.raises(SettingError, match="another plan"):
        train_tiny_speculator(target, tmp_path, "--heads", "3")


def test_text_of_people_serves_as_stage_1(
    target: ModelSource, model: torch.nn.Module, tmp_path: Path
) -> None:
    file = tmp_path / "text.jsonl"
    lines = [" ".join(f"w{(7 * i + j) % 290}" for j in range(40)) for i in range(12)]
    file.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    texts = Tokens(target.folder)
    rows = Rows(read_text(file, CausalLM(model, 300), texts, 200))
    assert 200 <= len(rows) < 240
    assert rows.tokens[:39].tolist() == texts.encode(lines[0], chat=False)[1:]
    assert disagreement(rows, model.get_output_embeddings().weight, torch.arange(len(rows))) <= 2
    train_tiny_speculator(target, tmp_path / "out", "--text", str(file), "--passes", "3")
    assert card_of(tmp_path / "out")["stage_1_text"] == "a file of the user's"
    file.write_text('{"txt": 1}\n')
    with pytest.raises(PromptError, match="line 1"):
        list(read_text(file, CausalLM(model, 300), texts, 200))


# -- the result ----------------------------------------------------------------------------------


def test_scores_are_those_of_the_replayed_text(
    target: ModelSource, trained: Path, model: torch.nn.Module
) -> None:
    norm = norm_before(model, 2)
    texts = command.texts_in(held_out_folder(target.name), tap=2)[:6]
    texts = [with_layer_state(text, norm) for text in texts]
    speculator = load_compact(trained, model.get_input_embeddings().weight)
    rows = Rows(texts)
    found = score(speculator, texts)
    assert found.heads == pytest.approx(head_accuracy(speculator, rows, 4), abs=1e-4)
    assert 1 < found.chain <= found.tree <= 5
    # A table of the very texts it is asked about is nearly always right.
    assert ngram_scores(NgramTable(texts), texts, 4).right > 0.9


def test_a_chain_with_prompt_lookup_is_right_where_a_text_goes_in_circles() -> None:
    speculator = speculator_of(None).requires_grad_(False)
    circle, straight = text(*[5, 6, 7] * 6), text(*range(3, 20))
    for told in (circle, straight):
        assert score(speculator, [told]).chain == 1.0
    assert score(speculator, [straight]).chain_with_lookup == 1.0
    # Four steps until two tokens come again; then 13 tokens: 3, 6 (five agree) and the last 4.
    found = score(speculator, [circle])
    assert found.chain_with_lookup == found.tree_with_lookup == round(17 / 7, 3)
    assert score(speculator, [circle, straight]).chain_with_lookup == round(33 / 23, 3)


def test_exported_in_the_published_layout(
    trained: Path, model: torch.nn.Module, tmp_path: Path
) -> None:
    compact = load_compact(trained, model.get_input_embeddings().weight)
    export_full(compact, tmp_path, "fp32")
    full = load_speculator(tmp_path)
    states, tokens = torch.randn(20, 128), torch.randint(300, (20, 4))
    torch.testing.assert_close(full(states, tokens), compact(states, tokens), rtol=1e-5, atol=1e-5)
    assert full.config.short_list == compact.config.short_list


def test_a_speculator_of_another_target_is_recognised(
    trained: Path, model: torch.nn.Module
) -> None:
    speculator = load_compact(trained, model.get_input_embeddings().weight)
    lm = CausalLM(model, 128, state_layer=2)
    card = card_of(trained)
    check_speculator(speculator, lm, card, "trained")
    speculator.proj[0].weight.data = speculator.proj[0].weight.roll(1, 0)
    speculator.head[0].weight.data = speculator.head[0].weight.roll(1, 0)
    with pytest.raises(ModelError, match="another target, or damaged"):
        check_speculator(speculator, lm, card, "trained")
    with pytest.raises(ModelError, match="was made for"):
        load_compact(trained, torch.zeros(299, 64))
