"""Token ids through shared memory: one writer and one reader a mailbox, no locks, no system calls.

A token is one aligned 64-bit word that carries run, branch, position, token and flag together and
is written once into its slot, so a torn or stale read cannot be mistaken for a message. Within a
run the pair (branch, position) only grows, so a slot whose word differs from the one last read there
is new.

    bits   63..55  54..38   37..21     20..1   0
           run     branch   position   token   flag
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from multiprocessing.context import BaseContext
from typing import Any, NamedTuple

from amusd_viz.protocol import Commit, Proposal

RUN_BITS, BRANCH_BITS, POSITION_BITS, TOKEN_BITS = 9, 17, 17, 20
RUNS = (1 << RUN_BITS) - 1
"""Run numbers go from 1 to this and then start again; 0 marks an empty slot."""
MAX_POSITIONS = 1 << POSITION_BITS
MAX_VOCABULARY = 1 << TOKEN_BITS
SLOTS = 1 << 12
"""Length of a ring; far more than the run-ahead limit ever leaves unread."""

_NO_TOKEN = MAX_VOCABULARY - 1
"""Stands for the missing token of a commit that only says "done"."""


class Word(NamedTuple):
    """The contents of one slot."""

    run: int
    branch: int
    position: int
    token: int
    flag: bool

    def packed(self) -> int:
        word = self.run
        word = word << BRANCH_BITS | self.branch
        word = word << POSITION_BITS | self.position
        word = word << TOKEN_BITS | self.token
        return word << 1 | self.flag

    @classmethod
    def unpacked(cls, word: int) -> Word:
        flag = bool(word & 1)
        word >>= 1
        token = word & (MAX_VOCABULARY - 1)
        word >>= TOKEN_BITS
        position = word & (MAX_POSITIONS - 1)
        word >>= POSITION_BITS
        return cls(word >> BRANCH_BITS, word & ((1 << BRANCH_BITS) - 1), position, token, flag)


def ring(context: BaseContext) -> Any:
    """Shared memory for one mailbox: the slots, then the number of words the reader has read."""
    return context.RawArray(ctypes.c_uint64, SLOTS + 1)


def clear(shared: Any) -> None:
    """Empties a ring. Only while neither side is in a run."""
    ctypes.memset(shared, 0, ctypes.sizeof(shared))


class Outbox:
    """The writing end of a mailbox."""

    def __init__(self, shared: Any) -> None:
        self._slots = memoryview(shared).cast("B").cast("Q")
        self._written = 0

    def room(self) -> int:
        """How many words may be written before the reader must have read some."""
        return SLOTS - (self._written - self._slots[SLOTS])

    def put(self, word: Word) -> None:
        """Writes one word; there must be :meth:`room`."""
        self._slots[self._written % SLOTS] = word.packed()
        self._written += 1


class Inbox:
    """The reading end of a mailbox."""

    def __init__(self, shared: Any) -> None:
        self._slots = memoryview(shared).cast("B").cast("Q")
        self._read = 0
        self._last = [0] * SLOTS

    def waiting(self) -> bool:
        """Whether a word has arrived that was not read yet."""
        slot = self._read % SLOTS
        return self._slots[slot] != self._last[slot]

    def words(self) -> Iterator[Word]:
        """The words that have arrived, in order."""
        while True:
            slot = self._read % SLOTS
            packed = self._slots[slot]
            if packed == self._last[slot]:
                return
            self._last[slot] = packed
            self._read += 1
            self._slots[SLOTS] = self._read
            yield Word.unpacked(packed)


class ProposalSender:
    """The draft's end of the proposals' mailbox."""

    def __init__(self, shared: Any) -> None:
        self._outbox = Outbox(shared)

    def has_room(self) -> bool:
        return self._outbox.room() > 0

    def send(self, proposal: Proposal) -> None:
        self._outbox.put(Word(*proposal))


class ProposalReceiver:
    """The target's end of the proposals' mailbox."""

    def __init__(self, shared: Any) -> None:
        self._inbox = Inbox(shared)

    def waiting(self) -> bool:
        return self._inbox.waiting()

    def receive(self) -> Iterator[Proposal]:
        for word in self._inbox.words():
            yield Proposal(*word)


class CommitSender:
    """The target's end of the commits' mailbox: n tokens are n words, the last one flagged.

    The branch bits of the flagged word say whether the run is done, then whether the draft is to
    rest, and above that how many proposals the target may wait for.
    """

    def __init__(self, shared: Any) -> None:
        self._outbox = Outbox(shared)

    def has_room(self, tokens: int) -> bool:
        return self._outbox.room() >= max(1, tokens)

    def send(self, commit: Commit) -> None:
        tokens = commit.tokens or (_NO_TOKEN,)
        for offset, token in enumerate(tokens):
            last = offset == len(tokens) - 1
            news = (commit.awaited << 1 | commit.rest) << 1 | commit.done if last else 0
            self._outbox.put(Word(commit.run, news, commit.position + offset, token, last))


class CommitReceiver:
    """The draft's end of the commits' mailbox; gives whole commits only."""

    def __init__(self, shared: Any) -> None:
        self._inbox = Inbox(shared)
        self._parts: list[Word] = []

    def waiting(self) -> bool:
        return self._inbox.waiting()

    def receive(self) -> Iterator[Commit]:
        for word in self._inbox.words():
            self._parts.append(word)
            if word.flag:
                parts, self._parts = self._parts, []
                tokens = tuple(part.token for part in parts if part.token != _NO_TOKEN)
                done, rest = bool(word.branch & 1), bool(word.branch >> 1 & 1)
                yield Commit(word.run, parts[0].position, tokens, done, word.branch >> 2, rest)
