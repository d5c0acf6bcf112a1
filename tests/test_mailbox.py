"""Words through shared memory: nothing is lost, doubled, torn or read twice."""

from __future__ import annotations

import multiprocessing
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amusd_viz.engine import mailbox
from amusd_viz.protocol import Commit, Proposal

CONTEXT = multiprocessing.get_context("spawn")

words = st.builds(
    mailbox.Word,
    run=st.integers(1, mailbox.RUNS),
    branch=st.integers(0, (1 << mailbox.BRANCH_BITS) - 1),
    position=st.integers(0, mailbox.MAX_POSITIONS - 1),
    token=st.integers(0, mailbox.MAX_VOCABULARY - 1),
    flag=st.booleans(),
)


@given(words)
def test_a_word_is_64_bits_and_comes_back(word: mailbox.Word) -> None:
    packed = word.packed()
    assert 0 < packed < 1 << 64
    assert mailbox.Word.unpacked(packed) == word


def test_many_laps_between_two_threads() -> None:
    shared = mailbox.ring(CONTEXT)
    sent = [
        Proposal(3, n // 5000, n % 5000, n % 977, bool(n % 3)) for n in range(mailbox.SLOTS * 3)
    ]

    def write() -> None:
        sender = mailbox.ProposalSender(shared)
        for proposal in sent:
            while not sender.has_room():
                pass
            sender.send(proposal)

    writer = threading.Thread(target=write)
    writer.start()
    receiver = mailbox.ProposalReceiver(shared)
    got: list[Proposal] = []
    while len(got) < len(sent):
        got += receiver.receive()
    writer.join()
    assert got == sent
    assert not receiver.waiting()


def test_a_full_ring_has_no_room_until_it_is_read() -> None:
    shared = mailbox.ring(CONTEXT)
    sender, receiver = mailbox.ProposalSender(shared), mailbox.ProposalReceiver(shared)
    for position in range(mailbox.SLOTS):
        assert sender.has_room()
        sender.send(Proposal(1, 0, position, 5))
    assert not sender.has_room()
    assert len(list(receiver.receive())) == mailbox.SLOTS
    assert sender.has_room()


@pytest.mark.parametrize("done", [False, True])
def test_commits_arrive_whole(done: bool) -> None:
    shared = mailbox.ring(CONTEXT)
    sender, receiver = mailbox.CommitSender(shared), mailbox.CommitReceiver(shared)
    chance, position = random.Random(1), 0
    for _ in range(200):
        tokens = tuple(chance.randrange(50_000) for _ in range(chance.randrange(1, 9)))
        awaited, rest = chance.randrange(1024), chance.random() < 0.5
        commit = Commit(7, position, tokens, done, awaited, rest)
        assert sender.has_room(len(tokens))
        sender.send(commit)
        assert list(receiver.receive()) == [commit]
        position += len(tokens)


def test_a_commit_without_tokens_says_done() -> None:
    shared = mailbox.ring(CONTEXT)
    mailbox.CommitSender(shared).send(Commit(7, 12, (), True))
    assert list(mailbox.CommitReceiver(shared).receive()) == [Commit(7, 12, (), True)]


def test_a_half_written_commit_is_not_given_out() -> None:
    shared = mailbox.ring(CONTEXT)
    outbox, receiver = mailbox.Outbox(shared), mailbox.CommitReceiver(shared)
    outbox.put(mailbox.Word(1, 0, 0, 40, False))
    assert list(receiver.receive()) == []
    outbox.put(mailbox.Word(1, 0, 1, 41, True))
    assert list(receiver.receive()) == [Commit(1, 0, (40, 41))]
