"""Generates training text: the target's own answers, with all that a draft can learn from them.

    python -m amusd_viz.training.generate --tokens 300000

Shards go to the user's cache. Run it again to go on: answers that are there are not made twice.
Interrupt it whenever you like; texts that were not finished are made anew. Several processes may
share the work: ``--part 0/2`` and ``--part 1/2``. ``--first`` begins at a later prompt: a speculator
that goes on from another's weights learns most from answers the other has not seen. With
``--own-questions`` the target puts the questions too, which are of many more kinds.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from amusd_viz.command import run_command
from amusd_viz.errors import SettingError
from amusd_viz.models.loading import load_model
from amusd_viz.models.packed import can_pack, multiplies_halves, pack_linears
from amusd_viz.models.pairs import ModelSource, resolve_pair
from amusd_viz.models.tokens import Tokens
from amusd_viz.paths import cache
from amusd_viz.training.batch_decoder import Answer, Asked, BatchDecoder
from amusd_viz.training.held_out import held_out_texts
from amusd_viz.training.interrupts import stopping
from amusd_viz.training.own_questions import own_questions
from amusd_viz.training.prompts import prompt
from amusd_viz.training.shards import count_tokens, finished_prompts, write_shard
from amusd_viz.training.work_bar import work_bar

ANSWERS_PER_SHARD = 96
TAPS = (2, 4, 8, 12, 16, 20)
"""A draft may borrow so many of the target's layers as they are and start from their states."""


def text_folder(target: str) -> Path:
    """Where the generated training text of a target lies."""
    return cache("training", target, "text")


def held_out_folder(target: str) -> Path:
    """Where the target's greedy answers to the held-out prompts lie."""
    return cache("training", target, "held-out")


def training_prompts(
    texts: Tokens, done: set[int], part: int, parts: int, first: int = 0
) -> Iterator[Asked]:
    """The prompts of one part, from number ``first`` on, that have no answer yet; without end."""
    for index in itertools.count(first + part, parts):
        if index not in done:
            asked = prompt(index)
            yield index, texts.encode(asked.text), asked.temperature


def held_out_prompts(texts: Tokens, done: set[int]) -> Iterator[Asked]:
    """The held-out prompts that have no answer yet, greedy."""
    for index, text in enumerate(held_out_texts()):
        if index not in done:
            yield index, texts.encode(text), 0.0


class Generation:
    """Generates into one folder until it holds enough tokens.

    Args:
        source: the target.
        folder: where shards go.
        slots: texts at a time.
        max_new_tokens: length limit of an answer.
        halved: multiply in bf16, if this CPU is quicker at it; for text to learn from, not to judge by.
    """

    def __init__(
        self,
        source: ModelSource,
        folder: Path,
        *,
        slots: int = 48,
        max_new_tokens: int = 192,
        halved: bool = False,
    ) -> None:
        model = load_model(source, "cpu", "fp32")
        if can_pack(model):
            # The output layer stays exact, so that it says of a stored state what is stored beside it.
            model = pack_linears(model, slots, halved=halved and multiplies_halves())
        self.folder = folder
        self.texts = Tokens(source.folder)
        layers = model.config.get_text_config().num_hidden_layers
        self.decoder = BatchDecoder(
            model,
            slots=slots,
            longest=max_new_tokens + 192,
            end_tokens=self.texts.end_tokens,
            max_new_tokens=max_new_tokens,
            taps=[tap for tap in TAPS if tap < layers],
        )
        self.stopped = False

    def stop(self, *_: object) -> None:
        """Ends after the pass under way; finished texts are kept."""
        self.stopped = True

    def run(
        self,
        asked: Iterator[Asked],
        part: str,
        tokens: int | None = None,
        *,
        what: str = "Generating text",
    ) -> int:
        """Generates until ``tokens`` more are there (or all ``asked`` are answered).

        Args:
            asked: prompts to answer.
            part: name of the shards.
            tokens: how many more are wanted; ``None``: until there is no prompt left.
            what: stands beside the bar.

        Returns:
            How many tokens were generated.
        """
        made, kept = 0, 0
        waiting: list[Answer] = []
        start = time.monotonic()
        with work_bar(what, total=tokens) as bar:
            for answer in self.decoder.answers(asked):
                waiting.append(answer)
                made += len(answer.tokens)
                speed = made / (time.monotonic() - start)
                bar.update(made, f"{speed:.0f} tokens/s")
                if len(waiting) >= ANSWERS_PER_SHARD:
                    write_shard(self.folder, part, waiting)
                    kept, waiting = made, []
                    bar.keep(f"{made} tokens, {speed:.1f} tokens/s")
                if self.stopped or (tokens is not None and made >= tokens):
                    break
        if waiting:
            write_shard(self.folder, part, waiting)
            kept = made
        return kept


def generate_missing(source: ModelSource, tokens: int, *, max_new_tokens: int = 192) -> bool:
    """Generates what is missing of the held-out text and of so many tokens to learn from.

    Returns:
        Whether it is all there; not if it was interrupted.
    """
    for folder, wanted in (
        (held_out_folder(source.name), None),
        (text_folder(source.name), tokens),
    ):
        done = finished_prompts(folder)
        missing = (
            len(held_out_texts()) - len(done) if wanted is None else wanted - count_tokens(folder)
        )
        if missing <= 0:
            continue
        generation = Generation(
            source, folder, max_new_tokens=max_new_tokens, halved=wanted is not None
        )
        with stopping(generation.stop):
            if wanted is None:
                asked = held_out_prompts(generation.texts, done)
                generation.run(asked, "held-out", what="Generating held-out text")
            else:
                generation.run(training_prompts(generation.texts, done, 0, 1), "part0of1", missing)
        if generation.stopped:
            return False
    return True


def check_tokens(tokens: int) -> None:
    """Refuses a number of tokens that means nothing.

    Raises:
        SettingError: it is below 1.
    """
    if tokens < 1:
        raise SettingError(f"--tokens {tokens} asks for nothing; give 1 or more")


def _part(text: str) -> tuple[int, int]:
    try:
        part, parts = map(int, text.split("/"))
        if 0 <= part < parts:
            return part, parts
    except ValueError:
        pass
    raise SettingError(f"--part {text}: write it as 0/2 and 1/2 for two processes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", help="a folder or name; the default target if left out")
    parser.add_argument("--tokens", type=int, default=300_000, help="that this call makes")
    asking = parser.add_mutually_exclusive_group()
    asking.add_argument(
        "--held-out", action="store_true", help="answer the held-out prompts instead"
    )
    asking.add_argument(
        "--own-questions", action="store_true", help="answer questions the target puts instead"
    )
    parser.add_argument("--part", default="0/1", help="this process of how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first prompt")
    parser.add_argument("--slots", type=int, default=48, help="texts at a time")
    parser.add_argument("--max-new-tokens", type=int, default=192, help="of one answer")
    options = parser.parse_args()
    part, parts = _part(options.part)
    check_tokens(options.tokens)
    if options.first < 0:
        raise SettingError(f"--first {options.first}: prompts are numbered from 0")
    target = resolve_pair(draft="twin", target=options.target).target
    folder = (held_out_folder if options.held_out else text_folder)(target.name)
    generation = Generation(
        target,
        folder,
        slots=options.slots,
        max_new_tokens=options.max_new_tokens,
        halved=not options.held_out,
    )
    done = finished_prompts(folder)
    with stopping(generation.stop):
        if options.held_out:
            asked = held_out_prompts(generation.texts, done)
            made = generation.run(asked, "held-out", what="Generating held-out text")
        elif options.own_questions:
            asked = own_questions(
                generation.decoder.model,
                generation.texts,
                done,
                part,
                parts,
                slots=options.slots,
                first=options.first,
            )
            made = generation.run(asked, f"own{part}of{parts}", options.tokens)
        else:
            asked = training_prompts(generation.texts, done, part, parts, options.first)
            made = generation.run(asked, f"part{part}of{parts}", options.tokens)
    print(f"{made} tokens more; {count_tokens(folder)} in {folder}")


if __name__ == "__main__":
    run_command("generate", main)
