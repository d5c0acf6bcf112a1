"""Two toy models, two sides of the protocol and a channel each way, driven in any order whatever.

The world knows the true continuation, so it can say of every proposal whether it was good, and it
checks after each action that the sides did what they must. ``play`` runs one interleaving, chosen
by a ``random.Random`` (hypothesis offers one that shrinks).
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amusd_viz import events as ev
from amusd_viz import stamp
from amusd_viz.protocol import (
    AdaptiveRunAhead,
    Commit,
    ConstantRunAhead,
    DraftSide,
    Dropped,
    Extra,
    Fate,
    Finish,
    Pause,
    Proposal,
    RunAheadPolicy,
    Step,
    TakeTurns,
    TargetSide,
    Verdict,
    Window,
    WindowPolicy,
    window_policy,
)
from amusd_viz.trace import Trace

RUN = 7
GOOD_FATES = {Fate.ACCEPTED, Fate.OVERTAKEN, Fate.UNFINISHED}
FIRST_WRONG = {Fate.REJECTED, Fate.CONTRADICTED}
BEHIND_A_WRONG_ONE = {Fate.AFTER_MISMATCH, Fate.NEVER_JUDGED, Fate.TOO_LATE}


class MoodyPolicy(WindowPolicy):
    """Asks for another number of proposals every time, judges as many as it likes, and lets the draft
    rest now and then: the worst a window policy may do."""

    name = "moody"

    def __init__(self, rng: random.Random) -> None:
        self.mood = rng.randrange(1 << 16)
        self.wanted = 0
        self.judgements: list[tuple[int, int]] = []

    def wait_for(self, pending: Sequence[Proposal]) -> int:
        return (self.mood + 5 * len(self.judgements)) % 7

    def most(self) -> int:
        return (self.mood // 7 + 3 * len(self.judgements)) % 9

    def rests(self) -> bool:
        return (self.mood // 3 + len(self.judgements)) % 5 == 0

    def judged(self, *, proposed: int, accepted: int) -> None:
        self.judgements.append((proposed, accepted))


class MoodyRunAhead(RunAheadPolicy):
    """Changes its limit at every commit, down to 0 where the target waits for nothing."""

    name = "moody"

    def __init__(self, rng: random.Random) -> None:
        self.promised = rng.randint(1, 3)
        self.mood = rng.randrange(1 << 16)
        self.commits = 0

    def limit(self, known: int) -> int:
        return (self.mood + 3 * self.commits) % 7

    def heard(self, *, agreed: int, contradicted: bool) -> None:
        self.commits += 1


@dataclass(frozen=True)
class Models:
    """The target's token is a function of the prefix; the draft's is the same in ``agrees`` of 100."""

    salt: int
    words: int
    agrees: int

    def target(self, prefix: Sequence[int]) -> int:
        return hash((self.salt, *prefix)) % self.words

    def draft(self, prefix: Sequence[int]) -> int:
        whim = hash((self.salt + 1, *prefix))
        if whim % 100 < self.agrees:
            return self.target(prefix)
        return (self.target(prefix) + 1 + whim // 100 % (self.words - 1)) % self.words

    def speculator(self, prefix: Sequence[int]) -> int:
        """Right as often as not, where the draft is not asked."""
        whim = hash((self.salt + 2, *prefix))
        return self.target(prefix) if whim % 2 else whim // 2 % self.words


def plain_decoding(
    models: Models,
    max_new_tokens: int,
    end_tokens: frozenset[int],
    is_stop: Callable[[Sequence[int]], bool] | None,
) -> tuple[list[int], Finish]:
    """What the target alone writes, cut by the same rules."""
    output: list[int] = []
    while True:
        output.append(models.target(output))
        if output[-1] in end_tokens:
            return output, Finish.END_TOKEN
        if is_stop and is_stop(tuple(output)):
            return output, Finish.STOP_CONDITION
        if len(output) == max_new_tokens:
            return output, Finish.LENGTH


class World:
    """One run under one interleaving; every method that acts also checks."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.models = Models(
            salt=rng.randrange(1 << 20),
            words=rng.randint(2, 5),
            agrees=rng.choice((0, 30, 60, 80, 95, 100)),
        )
        self.max_new_tokens = rng.choice((1, 2, 3, rng.randint(4, 8), rng.randint(8, 24)))
        self.rows = rng.choice((1, 2, 3, rng.randint(3, 6), 8, 32))
        ends = rng.choice((0, 0, 1, 2))
        self.end_tokens = frozenset(rng.sample(range(self.models.words + 1), ends))
        self.is_stop = self._some_stop_condition()
        self.policy = self._some_window_policy()
        self.ahead = self._some_run_ahead()
        self.asked = 0
        """Proposals that the last commit asked for."""
        self.truth = self._true_continuation()
        self.expected, self.expected_finish = plain_decoding(
            self.models, self.max_new_tokens, self.end_tokens, self.is_stop
        )
        self.target = TargetSide(
            run=RUN,
            max_new_tokens=self.max_new_tokens,
            end_tokens=self.end_tokens,
            rows=self.rows,
            policy=self.policy,
            run_ahead=self.ahead.promised,
            is_stop=self.is_stop,
        )
        self.draft = DraftSide(
            run=RUN,
            max_new_tokens=self.max_new_tokens,
            end_tokens=self.end_tokens,
            run_ahead=self.ahead,
        )
        self.to_target: deque[Proposal] = deque()
        self.to_draft: deque[Commit] = deque()
        self.haste = rng.choice((0.0, 0.0, 0.05, 0.5))
        """How readily the target's own side proposes where nothing is pending."""
        self.draft_alive = True
        self.told_to_rest = False
        self.stopped_at: int | None = None
        self.made: dict[tuple[int, int], Proposal] = {}
        self.good: dict[tuple[int, int], bool] = {}
        """Whether the proposal and everything it builds on are the true continuation."""
        self.prefix_good: dict[tuple[int, int], bool] = {}
        self.fates: dict[tuple[int, int], Fate] = {}
        self.rollbacks = 0
        self.clock = 0
        self.window_since = 0
        self.events: list[ev.Event] = []

    # -- settings ----------------------------------------------------------------------------

    def _some_stop_condition(self) -> Callable[[Sequence[int]], bool] | None:
        if self.rng.random() < 0.6:
            return None
        pair = (self.rng.randrange(self.models.words), self.rng.randrange(self.models.words))
        if self.rng.random() < 0.5:
            return lambda tokens: tuple(tokens[-2:]) == pair
        return lambda tokens: len(tokens) > pair[0] and tokens[-1] == pair[1]

    def _some_window_policy(self) -> WindowPolicy:
        names = ("paper", "eager", f"fixed({self.rng.randint(0, 12)})", "moody", "adaptive")
        name = self.rng.choice((*names, "confidence(0.5)"))
        return MoodyPolicy(self.rng) if name == "moody" else window_policy(name)

    def _some_run_ahead(self) -> RunAheadPolicy:
        kind = self.rng.choice((ConstantRunAhead, TakeTurns, MoodyRunAhead, AdaptiveRunAhead))
        tokens = self.rng.choice((1, 2, self.rng.randint(2, 9), 64))
        return MoodyRunAhead(self.rng) if kind is MoodyRunAhead else kind(tokens)

    def _true_continuation(self) -> list[int]:
        """Past every cut, so that proposals behind the end can be judged too."""
        tokens: list[int] = []
        for _ in range(self.max_new_tokens + 1):
            tokens.append(self.models.target(tokens))
        return tokens

    # -- what may happen next ----------------------------------------------------------------

    def enabled(self) -> list[Callable[[], None]]:
        """Every action that moves the run on; empty only when the run is over."""
        actions: list[Callable[[], None]] = []
        if self.draft_alive and self.draft.pause() is None:
            actions.append(self.propose)
        if self.draft_alive and self.to_draft:
            actions.append(self.deliver_to_draft)
        if self.to_target:
            actions.append(self.deliver_to_target)
        if not self.draft_alive and not self.target.draft_lost:
            actions.append(self.notice_lost_draft)
        if self.target.window is not None:
            actions.append(self.settle)
        elif self._checked_next_step() is Step.VERIFY:
            actions.append(self.take_window)
        # Only beside other actions: these must not hide a deadlock.
        if actions and self._may_speculate():
            actions.append(self.speculate)
        if actions and self._waits() and self.rng.random() < 0.1:
            actions.append(self.give_up_waiting)
        return actions

    def _may_speculate(self) -> bool:
        side = self.target
        hasty = self.rng.random() < self.haste
        return side.window is None and side.lacks() > 0 and (hasty or bool(side.pending))

    def _waits(self) -> bool:
        return self.target.window is None and self.target.next_step() is Step.WAIT

    def _checked_next_step(self) -> Step:
        """The target's wish, compared with what the rules say in their own words."""
        side, step = self.target, self.target.next_step()
        if side.finish:
            assert step is Step.DONE
            return step
        still_possible = min(self.rows - 1, self.max_new_tokens - len(side.committed) - 1)
        enough = (
            not side.committed
            or side.draft_lost
            or side.draft_silent
            or any(p.token in self.end_tokens for p in side.pending)
            or len(side.pending) >= self.policy.wait_for(tuple(side.pending))
            or len(side.pending) >= self.asked
            or len(side.pending) >= still_possible
            or len(side.pending) >= self.policy.most()
        )
        assert step is (Step.VERIFY if enough else Step.WAIT)
        return step

    # -- actions of the draft ----------------------------------------------------------------

    def propose(self) -> None:
        draft, position = self.draft, len(self.draft.tokens)
        assert draft.known <= position < self.max_new_tokens
        promised = min(draft.awaited, self.ahead.promised)
        allowed = max(self.ahead.limit(draft.known), promised)
        if self.told_to_rest:
            allowed = min(allowed, promised + 1 if promised else 0)
        assert position - draft.known < allowed
        assert not draft.tokens or draft.tokens[-1] not in self.end_tokens
        token = self.models.draft(draft.tokens)
        unsure = token % 2 == 0
        proposal = draft.propose(token, unsure=unsure)
        assert proposal == (RUN, self.rollbacks, position, token, unsure)
        key = (proposal.branch, position)
        assert key not in self.made, "a position proposed twice on one branch"
        self.made[key] = proposal
        self.prefix_good[key] = draft.tokens[:position] == self.truth[:position]
        self.good[key] = draft.tokens == self.truth[: position + 1]
        self.to_target.append(proposal)
        start = self.clock
        end = self._tick()
        self.events.append(
            ev.Proposed(
                start=start, end=end, branch=proposal.branch, position=position, token=token
            )
        )

    def deliver_to_draft(self) -> None:
        commit, draft = self.to_draft.popleft(), self.draft
        before, known, branch = list(draft.tokens), draft.known, draft.branch
        adoption = draft.hear(commit)
        self.told_to_rest = commit.rest
        self.events += stamp.commit_heard(self._tick(), commit, adoption, draft, branch)
        assert draft.known == known + len(commit.tokens)
        assert draft.tokens[: draft.known] == self.truth[: draft.known]
        agreed = next(
            (
                i
                for i, (a, b) in enumerate(zip(before[known:], commit.tokens, strict=False))
                if a != b
            ),
            None,
        )
        if agreed is not None:
            self.rollbacks += 1
            at = known + agreed
            assert adoption == ("rolled_back", at, commit.tokens[agreed:], tuple(before[at:]))
            assert draft.tokens == before[:at] + list(commit.tokens[agreed:])
        elif draft.known > len(before):
            lacking = tuple(self.truth[len(before) : draft.known])
            assert adoption == ("fast_forwarded", len(before), lacking, ())
            assert draft.tokens == before + list(lacking)
        else:
            assert adoption.kind == "carried_on"
            assert adoption[2:] == ((), ())
            assert draft.tokens == before
        assert draft.branch == self.rollbacks
        assert draft.done is commit.done
        assert (draft.pause() is Pause.DONE) is commit.done

    def kill_draft(self) -> None:
        """What it has sent arrives or is lost with it, but never out of order."""
        self.draft_alive = False
        for _ in range(self.rng.randint(0, len(self.to_target))):
            self.to_target.pop()

    # -- actions of the target ---------------------------------------------------------------

    def deliver_to_target(self) -> None:
        proposal, side = self.to_target.popleft(), self.target
        if side.pending and proposal.branch > side.branch:
            raise AssertionError("pending proposals of a branch that its draft has left")
        committed = list(side.committed)
        dropped = side.receive(proposal, self.clock)
        self.events += stamp.proposal_received(self._tick(), proposal, dropped)
        assert side.committed == committed
        self._note(dropped)
        key = (proposal.branch, proposal.position)
        if key not in self.fates:
            assert side.pending[-1] == proposal
        self._check_pending()

    def notice_lost_draft(self) -> None:
        self.target.lose_draft()
        assert self.target.next_step() is not Step.WAIT
        self.events.append(ev.Failed(t=self._tick(), side=ev.Side.DRAFT, what="killed"))

    def give_up_waiting(self) -> None:
        self.target.give_up_waiting()
        assert self.target.next_step() is Step.VERIFY

    def take_window(self, most: int | None = None) -> None:
        side, pending = self.target, list(self.target.pending)
        room = min(self.rows - 1, self.max_new_tokens - len(side.committed) - 1)
        size = max(0, min(len(pending), room, side.policy.most()))
        if not side.committed:
            size = 0
        if most is not None:
            size = min(size, most)
        window = side.take_window(most)
        assert window.position == len(side.committed)
        assert list(window.tokens) == [p.token for p in pending[:size]]
        assert list(side.pending) == pending[size:]
        for offset, token in enumerate(window.tokens):
            assert self.made[window.branch, window.position + offset].token == token
        self.window_since = self._tick()
        self.events.append(stamp.verify_started(self.window_since, window))
        self._check_pending()

    def speculate(self) -> None:
        """The target's own side goes on where the pending proposals end, and all is judged at once."""
        side, pending = self.target, [p.token for p in self.target.pending]
        enough = min(self.rows - 1, self.max_new_tokens - len(side.committed) - 1) - len(pending)
        assert 0 < side.lacks() <= enough
        chain, tokens = side.next_chain, list(pending)
        for _ in range(self.rng.randint(1, side.lacks())):
            prefix = [*side.committed, *tokens]
            token = self.models.speculator(prefix)
            key = (chain, len(prefix))
            assert key not in self.made
            self.made[key] = Proposal(RUN, chain, len(prefix), token)
            self.prefix_good[key] = prefix == self.truth[: len(prefix)]
            self.good[key] = self.prefix_good[key] and token == self.truth[len(prefix)]
            tokens.append(token)
            start = self.clock
            self.events.append(
                ev.Proposed(
                    start=start,
                    end=self._tick(),
                    drafter="speculator",
                    branch=chain,
                    position=len(prefix),
                    token=token,
                    head=len(tokens) - 1,
                )
            )
        window = side.take_window(own=tokens[len(pending) :])
        assert list(window.tokens) == tokens
        assert (window.drafted, window.chain) == (len(pending), chain)
        assert not side.pending
        self.window_since = self._tick()
        self.events.append(stamp.verify_started(self.window_since, window))
        self._check_pending()

    def settle(self) -> None:
        side, window = self.target, self.target.window
        assert window is not None
        fed = [*side.committed, *window.tokens]
        start = len(side.committed)
        choices = [self.models.target(fed[:i]) for i in range(start, len(fed) + 1)]
        used = []
        verdict = side.settle(used.append(c) or c for c in choices)
        assert len(used) == len(verdict.tokens), "more choices computed than needed"
        self._check_verdict(window, verdict)
        since, now = self.window_since, self._tick()
        self.events += stamp.verdict_reached(since, now, window, verdict)
        proposals, tokens = len(window.tokens), len(verdict.tokens)
        self.policy.passed(proposals=proposals, tokens=tokens, start=since, end=now)
        for offset in range(verdict.accepted):
            key = (window.branch_of(offset), window.position + offset)
            assert key not in self.fates, "two fates"
            assert self.good[key], "a proposal of a dead branch was accepted"
            self.fates[key] = Fate.ACCEPTED
        self._note(verdict.dropped)
        self._send(verdict)

    def request_stop(self) -> None:
        verdict = self.target.request_stop()
        if self.target.finish is not Finish.STOP_REQUEST:
            assert verdict is None
            return
        assert verdict is not None
        assert self.target.request_stop() is None
        self.stopped_at = len(self.target.committed)
        assert (verdict.position, verdict.tokens) == (self.stopped_at, ())
        assert verdict.extra is Extra.NONE
        self.events += stamp.proposals_dropped(self._tick(), verdict.dropped)
        self._note(verdict.dropped)
        self._send(verdict)

    def _send(self, verdict: Verdict) -> None:
        """Commits may travel whole, in pieces or merged; only the last piece says done."""
        commit = verdict.commit(RUN)
        self.asked = commit.awaited
        assert self.asked <= self.ahead.promised, "asked for more than the draft promises"
        assert commit.done is (verdict.finish is not None)
        assert commit.tokens or commit.done
        if verdict.finish:
            self.events.append(
                ev.Finished(
                    t=self._tick(), reason=verdict.finish, tokens=len(self.target.committed)
                )
            )
        position, tokens = commit.position, commit.tokens
        if self.to_draft and self.rng.random() < 0.2:
            waiting = self.to_draft.pop()
            position, tokens = waiting.position, waiting.tokens + tokens
        while len(tokens) > 1 and self.rng.random() < 0.4:
            cut = self.rng.randint(1, len(tokens) - 1)
            self.to_draft.append(Commit(RUN, position, tokens[:cut], False))
            position, tokens = position + cut, tokens[cut:]
        if commit.done and tokens and self.rng.random() < 0.3:
            self.to_draft.append(Commit(RUN, position, tokens, False))
            position, tokens = position + len(tokens), ()
        self.to_draft.append(
            Commit(RUN, position, tokens, commit.done, commit.awaited, commit.rest)
        )

    def _tick(self) -> int:
        self.clock += self.rng.choice((0, 1, 5))
        return self.clock

    # -- what must hold ----------------------------------------------------------------------

    def _check_verdict(self, window: Window, verdict: Verdict) -> None:
        side, k = self.target, len(window.tokens)
        start, end = window.position, window.position + len(verdict.tokens)
        assert verdict.tokens, "a verification that commits nothing"
        assert verdict.position == start
        assert side.committed == self.truth[:end]
        right = self.truth[start : start + k]
        agreeing = next((i for i in range(k) if window.tokens[i] != right[i]), k)
        assert verdict.accepted == min(agreeing, len(verdict.tokens))
        if len(verdict.tokens) == verdict.accepted:
            assert verdict.extra is Extra.NONE
            assert verdict.finish is not None
        else:
            assert len(verdict.tokens) == verdict.accepted + 1
            at_end = Extra.BONUS if k else Extra.PLAIN
            assert verdict.extra is (at_end if verdict.accepted == k else Extra.CORRECTION)
        whole = end == len(self.expected)
        assert verdict.finish is (self.expected_finish if whole else None)
        assert side.finish is verdict.finish
        self._check_pending()

    def _check_pending(self) -> None:
        """Pending proposals are of one living branch and continue the output and the window."""
        side = self.target
        window = side.window.tokens[: side.window.drafted] if side.window else ()
        for offset, proposal in enumerate(side.pending):
            assert proposal.branch == side.branch > side.dead_branch
            assert proposal.position == len(side.committed) + len(window) + offset
            assert (proposal.branch, proposal.position) not in self.fates
        assert not (side.finish and side.pending)

    def _note(self, dropped: Sequence[Dropped]) -> None:
        for branch, position, fate, _ in dropped:
            key = (branch, position)
            assert key in self.made, "a fate for a proposal that was never made"
            assert key not in self.fates, "two fates"
            self.fates[key] = fate
            self._check_fate(key, fate)

    def _check_fate(self, key: tuple[int, int], fate: Fate) -> None:
        assert fate is not Fate.ACCEPTED
        good, prefix_good = self.good[key], self.prefix_good[key]
        committed = len(self.target.committed)
        assert not good or fate in GOOD_FATES, f"a good proposal was {fate}"
        if fate in FIRST_WRONG:
            assert prefix_good
            assert not good
            assert key[1] < committed
        if fate in BEHIND_A_WRONG_ONE:
            assert not prefix_good
        if fate is Fate.REJECTED:
            assert key[1] == committed - 1
        if fate is Fate.OVERTAKEN:
            assert good
            assert key[1] < committed
        if fate is Fate.UNFINISHED:
            assert self.target.finish

    def check_end(self) -> None:
        """After the run, with every message delivered."""
        side = self.target
        assert side.finish
        if self.stopped_at is not None:
            assert side.finish is Finish.STOP_REQUEST
            assert side.committed == self.expected[: self.stopped_at]
        else:
            assert side.committed == self.expected
            assert side.finish is self.expected_finish
        while self.to_target:
            self.deliver_to_target()
        while self.draft_alive and self.to_draft:
            self.deliver_to_draft()
        if self.draft_alive:
            assert set(self.fates) == set(self.made), "a proposal without a fate"
            assert self.draft.done
            assert self.draft.known == len(side.committed)
            assert self.draft.tokens[: self.draft.known] == side.committed
        assert side.window is None
        assert not side.pending

    def trace(self) -> Trace:
        """The run as a recording."""
        header = ev.Header(
            source="simulated",
            method="amusd",
            max_new_tokens=self.max_new_tokens,
            end_tokens=tuple(sorted(self.end_tokens)),
            policy=self.policy.name,
            run_ahead=self.ahead.name,
            draft=ev.Model(name="toy draft"),
            target=ev.Model(name="toy target"),
            draft_device=ev.Device(name="virtual:0", label="virtual device 0"),
            target_device=ev.Device(name="virtual:1", label="virtual device 1"),
        )
        return Trace(header, self.events)


def play(rng: random.Random) -> World:
    """Runs one interleaving to its end and returns the world, checked."""
    world = World(rng)
    # A lopsided world (a lazy draft, a slow channel) reaches states that even chances never do.
    liking = {
        name: rng.choice((1, 1, 1, 4, 20))
        for name in (
            "propose",
            "deliver_to_draft",
            "deliver_to_target",
            "notice_lost_draft",
            "give_up_waiting",
            "take_window",
            "settle",
        )
    }
    liking["speculate"] = rng.choice((1, 4))
    disaster = rng.choice((0.0, 0.0, 0.01, 0.1))
    eager_driver = rng.choice((0.0, 0.0, 0.2))
    most_steps = 10 * (world.max_new_tokens + 2) ** 2
    for _ in range(most_steps):
        if world.target.finish:
            break
        actions = world.enabled()
        assert actions, "deadlock: nothing can happen and the run is not over"
        if rng.random() < disaster:
            _disaster(world, rng)
        elif world.target.window is None and rng.random() < eager_driver:
            world.take_window(rng.choice((None, 0, 1, 2)))  # verifying is always allowed
        else:
            weights = [liking[action.__name__] for action in actions]
            rng.choices(actions, weights)[0]()
    else:
        raise AssertionError(f"not over after {most_steps} steps")
    world.check_end()
    return world


def _disaster(world: World, rng: random.Random) -> None:
    if rng.random() < 0.5:
        world.request_stop()
    elif world.draft_alive:
        world.kill_draft()


def coverage(worlds: Sequence[World]) -> Counter[str]:
    """How often each rare thing happened, so that a test can tell that it tests something."""
    seen: Counter[str] = Counter()
    for world in worlds:
        seen.update(str(fate) for fate in world.fates.values())
        seen[f"finish {world.target.finish}"] += 1
        seen["draft lost"] += not world.draft_alive
        seen["rolled back"] += world.rollbacks
        for event in world.events:
            if isinstance(event, ev.Verified):
                seen[f"extra {event.extra}"] += 1
                seen["own accepted"] += any(branch < 0 for branch, *_ in event.accepted_keys())
                own = event.proposals - event.own <= event.accepted < event.proposals
                seen["own rejected"] += own
                seen["behind the draft's"] += 0 < event.own < event.proposals
            elif isinstance(event, ev.FastForwarded):
                seen["fast forwarded"] += 1
    return seen
