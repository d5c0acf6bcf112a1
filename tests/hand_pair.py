"""Two made-up models for the hand-driven run, and their recording."""

from __future__ import annotations

from collections.abc import Sequence

from amusd_viz import events as ev
from amusd_viz.by_hand.pair import RUN_AHEAD, Answer, PairRecording, Word

MS = 1_000_000
WORDS = 40


class MadeUpPair:
    """The target's token is a function of what stands before it; the draft's is the same in
    ``agrees`` of 100 cases."""

    name = "made up"
    draft_model = ev.Model(name="made-up draft")
    target_model = ev.Model(name="made-up target")
    prompt = "Why?"
    context = ""
    prompt_ids = (1, 2, 3)
    longest = None

    def __init__(
        self, salt: int = 0, agrees: int = 70, end_tokens: tuple[int, ...] = (), draft_ms: int = 14
    ) -> None:
        self.salt, self.agrees, self.end_tokens = salt, agrees, end_tokens
        self.draft_ns, self.target_ns = draft_ms * MS, 34 * MS

    def target_token(self, output: Sequence[int]) -> int:
        return hash((self.salt, *output)) % WORDS

    def draft_token(self, output: Sequence[int]) -> int:
        whim = hash((self.salt + 1, *output))
        right = self.target_token(output)
        return right if whim % 100 < self.agrees else (right + 1 + whim % (WORDS - 1)) % WORDS

    def draft(self, output: Sequence[int]) -> tuple[Answer, int]:
        return answer(self.draft_token(tuple(output))), self.draft_ns

    def verify(self, output: Sequence[int], window: Sequence[int]) -> tuple[list[Answer], int]:
        read, choices = list(output), []
        for proposed in (*window, None):
            choices.append(answer(self.target_token(tuple(read))))
            if choices[-1].token != proposed:
                break
            read.append(proposed)
        return choices, self.target_ns

    def alone(self, tokens: int) -> list[int]:
        """What the target writes by itself."""
        output: list[int] = []
        while len(output) < tokens and not (output and output[-1] in self.end_tokens):
            output.append(self.target_token(tuple(output)))
        return output


def answer(token: int) -> Answer:
    return Answer(token, f" w{token}", 0.5)


def recording_of(pair: MadeUpPair, tokens: int) -> PairRecording:
    """Everything a schedule can lead to, as the recorder would write it."""
    output: list[int] = []
    for _ in range(tokens):
        output.append(pair.target_token(tuple(output)))
    drafted = [pair.draft_token(tuple(output[:p])) for p in range(tokens)]
    astray = {}
    for p in range(tokens):
        if drafted[p] != output[p]:
            read = [*output[:p], drafted[p]]
            for _ in range(RUN_AHEAD - 1):
                read.append(pair.draft_token(tuple(read)))
            astray[p] = tuple(map(word, read[p + 1 :]))
    return PairRecording(
        pair=pair.name,
        prompt=pair.prompt,
        prompt_ids=pair.prompt_ids,
        end_tokens=pair.end_tokens,
        draft_model=pair.draft_model,
        target_model=pair.target_model,
        target=tuple(map(word, output)),
        draft=tuple(map(word, drafted)),
        astray=astray,
        draft_ns=pair.draft_ns,
        target_ns=pair.target_ns,
        measured="made up",
    )


def word(token: int) -> Word:
    return Word(token, f" w{token}", 0.5)
