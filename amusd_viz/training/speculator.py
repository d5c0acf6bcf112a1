"""Trains a token/embedding speculator for a target, in one command.

    python -m amusd_viz.training.generate --tokens 300000
    python -m amusd_viz.training.generate --held-out
    python -m amusd_viz.training.speculator

It learns from the shards of the first command, is judged by those of the second and by a few of the
first that it sets aside, goes on where it was interrupted, and ends with a folder that
``Session(speculator=...)`` takes. ``--text`` names a JSONL whose texts serve as stage 1; without it the
target's own samples do. ``--from`` goes on from the weights of a finished speculator, with text it has
not seen; with a larger ``--words`` it learns words besides. ``--export`` writes the published layout besides.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import torch

from amusd_viz.command import run_command
from amusd_viz.errors import ModelError
from amusd_viz.models.causal_lm import CausalLM
from amusd_viz.models.compact_speculator import (
    card_of,
    export_full,
    save_compact,
)
from amusd_viz.models.loading import load_model
from amusd_viz.models.packed import multiplies_halves
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.models.speculator import Speculator
from amusd_viz.models.states import norm_before
from amusd_viz.models.tokens import Tokens
from amusd_viz.paths import cache
from amusd_viz.training.generate import held_out_folder, text_folder
from amusd_viz.training.ngram import NgramTable
from amusd_viz.training.prompts import OWN_FIRST, is_set_aside, prompt
from amusd_viz.training.read_text import PIECE, read_text
from amusd_viz.training.shards import Text, read_shard, shard_files, stored_taps
from amusd_viz.training.shared_rows import keep_sums, share_rows
from amusd_viz.training.speculator_card import (
    LONGEST,
    best_known,
    judged,
    put_tables,
    told_of,
)
from amusd_viz.training.speculator_course import STATE_FILE, Course, Plan, kept_plan
from amusd_viz.training.speculator_rows import Rows, disagreement, with_layer_state
from amusd_viz.training.speculator_start import Finished, fresh_speculator

WORDS = 4096
CURVE_TEXTS = 16
"""Held-out answers that the points of the curve are measured on; the result is, on all."""
MOST_DISAGREEMENT = 0.01
"""Ties of two words in 16 bits are far rarer than this."""


def training_folder(target: str) -> Path:
    """Where a target's training is kept."""
    return cache("training", target, "speculator")


def texts_in(
    folder: Path, files: Sequence[Path] | None = None, tap: int | None = None
) -> list[Text]:
    """The generated texts of a folder, or of some of its shards; ``tap`` as of :func:`read_shard`.

    Raises:
        ModelError: there are none, or none with that tap.
    """
    files = shard_files(folder) if files is None else files
    texts = [text for file in files for text in read_shard(file, tap)]
    if not texts:
        raise ModelError(
            f"{folder} holds no text; make some: python -m amusd_viz.training.generate"
        )
    return texts


def unseen(
    made: Sequence[Text], learnt: Sequence[Text], earlier: Iterable[Sequence[int]] = ()
) -> list[Text]:
    """Of the texts made, the greedy ones set aside whose prompt is asked nowhere in those learnt from.

    Prompts are put together at random, and some come twice.

    Args:
        earlier: prompts asked before, for a speculator that this training goes on from.
    """
    asked = {tuple(text.prompt.tolist()) for text in learnt} | {tuple(ids) for ids in earlier}
    aside = [t for t in made if is_set_aside(t.index) and not t.temperature]
    return [text for text in aside if tuple(text.prompt.tolist()) not in asked]


def check_alignment(rows: Rows, head: torch.Tensor, most: int = 2048) -> int:
    """Refuses states that do not belong to their tokens; returns how many positions were looked at.

    Raises:
        ModelError: the output layer's best token on a stored state is often another than the stored.
    """
    at = torch.linspace(0, len(rows) - 1, min(most, len(rows))).long()
    wrong = disagreement(rows, head, at)
    if wrong > MOST_DISAGREEMENT * len(at):
        raise ModelError(
            f"at {wrong} of {len(at)} positions the output layer's best token on the stored state is "
            "not the stored one; the shards are of another target, or damaged: generate them anew"
        )
    return len(at)


class Training:
    """What the command does, step by step.

    Args:
        source: the target.
        options: of the command line.
    """

    def __init__(self, source: ModelSource, options: argparse.Namespace) -> None:
        self.source, self.options = source, options
        self.folder = Path(options.folder) if options.folder else training_folder(source.name)
        self.begins = Finished(Path(options.begins)) if options.begins else None
        self.model = load_model(source, "cpu", "fp32")
        self.tokens = Tokens(source.folder)
        files = shard_files(text_folder(source.name))
        # What was generated since a training was interrupted must not change its plan.
        if not options.fresh and (kept := kept_plan(self.folder)):
            files = [file for file in files if file.name in kept.shards]
        self.state_layer = self._state_layer(files)
        made = self._texts(text_folder(source.name), files)
        self.texts = [text for text in made if not is_set_aside(text.index)]
        self.set_aside = unseen(made, self.texts, self._asked_earlier())
        self.rows = Rows(self.texts)
        self.judged_texts = self._texts(held_out_folder(source.name))
        self.judged = Rows(self.judged_texts)
        self.plan = self._plan(tuple(file.name for file in files))

    def _state_layer(self, files: Sequence[Path]) -> int | None:
        """The layer that was asked for, or the deepest whose input the shards hold."""
        if self.begins:
            return self.begins.config.state_layer
        if self.options.last_state_only:
            return None
        if self.options.state_layer is not None:
            return self.options.state_layer
        judged = shard_files(held_out_folder(self.source.name))
        return max(stored_taps(files) & stored_taps(judged), default=None)

    def _asked_earlier(self) -> list[list[int]]:
        """The prompts before the first one here, where a training with those is gone on from."""
        if not self.begins:
            return []
        first = min((t.index for t in self.texts if t.index < OWN_FIRST), default=0)
        return [self.tokens.encode(prompt(index).text) for index in range(first)]

    def _texts(self, folder: Path, files: Sequence[Path] | None = None) -> list[Text]:
        if self.state_layer is None:
            return texts_in(folder, files)
        norm = norm_before(self.model, self.state_layer)
        return [with_layer_state(text, norm) for text in texts_in(folder, files, self.state_layer)]

    def _plan(self, shards: tuple[str, ...]) -> Plan:
        options = self.options
        steps = max(1, round(options.passes * len(self.rows) / options.batch))
        stage_2 = round(steps * 2 / 7)
        begins, words = self.begins, options.words
        return Plan(
            heads=begins.config.n_predict if begins else options.heads,
            words=begins.words(words) if begins else words or WORDS,
            stage_1=steps - stage_2,
            stage_2=stage_2,
            batch=options.batch,
            learning_rate=options.learning_rate,
            soft=options.soft,
            fade=options.fade,
            seed=options.seed,
            shards=shards,
            state_layer=self.state_layer,
            begun_from=begins.digest if begins else None,
            shared=options.shared,
            halved=multiplies_halves(),
        )

    def run(self) -> dict[str, Any] | None:
        """Trains, or goes on; returns the card, or ``None`` where it was interrupted."""
        head = self.model.get_output_embeddings().weight
        looked = check_alignment(self.rows, head) + check_alignment(self.judged, head)
        print(f"{len(self.rows)} positions; {looked} of them checked against the output layer")
        speculator = self._first_speculator()
        if (listed := speculator.config.words) < self.plan.words:
            print(f"this text knows {listed} words only, not {self.plan.words}; more text has more")
        if self.plan.shared:
            share_rows(speculator, self._embedding)
        few = Rows(self.judged_texts[:CURVE_TEXTS])
        course = Course(speculator, (self._stage_1(), self.rows), few, self.plan, self.folder)
        if (self.folder / STATE_FILE).is_file() and not self.options.fresh:
            course.resume()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, course.stop)
        course.run()
        return self._finish(course) if course.done else None

    @property
    def _embedding(self) -> torch.Tensor:
        return self.model.get_input_embeddings().weight.detach()

    def _first_speculator(self) -> Speculator:
        if self.begins:
            return self.begins.with_words(self.plan.words, self.rows, self._embedding)
        listed = self.rows.frequent_tokens(self.plan.words, self.tokens.end_tokens)
        return fresh_speculator(self._embedding, self.plan, listed, self.source.name)

    def _stage_1(self) -> Rows:
        if not self.options.text:
            return self.rows
        lm = CausalLM(self.model, PIECE + 8, state_layer=self.state_layer)
        return Rows(read_text(Path(self.options.text), lm, self.tokens, self.options.text_tokens))

    def _finish(self, course: Course) -> dict[str, Any]:
        if self.plan.shared:
            keep_sums(course.speculator)
        card = self._card(course)
        save_compact(course.speculator, self.folder, card)
        if self.options.export:
            export_full(course.speculator, self.options.export)
        print(f"written to {self.folder}")
        return card

    def _card(self, course: Course) -> dict[str, Any]:
        sets = {"held_out": self.judged_texts, "set_aside": self.set_aside}
        found = judged(course.speculator, sets) | {"begun_from": None}
        if self.begins:
            print("what it was begun from:")
            found["begun_from"] = told_of(card_of(self.begins.folder))
            found["begun_from"] |= judged(self.begins.speculator(self._embedding), sets)
        put_tables(found, NgramTable(self.texts), sets, self.plan.heads)
        plan = msgspec.to_builtins(course.plan)
        plan["shards"] = len(plan["shards"])
        lm = CausalLM(self.model, LONGEST, state_layer=self.state_layer)
        return {
            "target": self.source.name,
            "trained": datetime.now(UTC).date().isoformat(),
            "torch": version("torch"),
            "positions": len(self.rows),
            "texts": len(self.texts),
            "stage_1_text": "a file of the user's" if self.options.text else "the target's samples",
            "plan": plan,
            **found,
            "curve": msgspec.to_builtins(course.curve),
            "known_answer": best_known(course.speculator, lm, self.judged_texts),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", help="a folder or name; the default target if left out")
    parser.add_argument("--folder", help="where the training is kept and the result goes")
    parser.add_argument("--text", help="JSONL with a 'text' a line, for stage 1")
    parser.add_argument("--text-tokens", type=int, default=500_000, help="most tokens of --text")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument(
        "--words",
        type=int,
        help=f"length of the short list; {WORDS}, or that of --from, if left out",
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="rows of words learn together, the rare from the frequent",
    )
    parser.add_argument("--passes", type=float, default=1.6, help="how often the text is read")
    parser.add_argument("--batch", type=int, default=512, help="positions a step")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--soft", type=float, default=0.0, help="share of soft labels, 0 to 1")
    parser.add_argument(
        "--fade", type=float, default=1.0, help="weight of each head's loss beside the one before"
    )
    parser.add_argument("--seed", type=int, default=0)
    states = parser.add_mutually_exclusive_group()
    states.add_argument(
        "--state-layer",
        type=int,
        help="layer, from 0, whose input joins the state; the deepest that was kept if left out",
    )
    states.add_argument(
        "--last-state-only", action="store_true", help="no layer's: the last state, as in the paper"
    )
    parser.add_argument(
        "--from",
        dest="begins",
        help="folder of a finished speculator to go on from; it gives the shape",
    )
    parser.add_argument("--export", help="write the published layout to this folder too")
    parser.add_argument("--fresh", action="store_true", help="begin anew")
    options = parser.parse_args(arguments)
    target = resolve_pair(draft="twin", target=options.target).target
    Training(target, options).run()


if __name__ == "__main__":
    run_command("speculator", main)
