"""Where several candidates are judged at once: they must form a tree, and the target go along it."""

from __future__ import annotations

from amusd_viz import events as ev
from amusd_viz.invariants.replay import Broken, Key, Replay
from amusd_viz.protocol import Extra


def check_hangs_on(replay: Replay, event: ev.Proposed) -> None:
    """A further candidate follows a proposal that is known, or the last committed token."""
    if event.parent is None:
        return
    parent = ev.proposal_key(event.branch, event.position - 1, event.parent)
    if parent not in replay.proposed:
        raise Broken(
            f"candidate {event.candidate} at position {event.position} follows candidate "
            f"{event.parent} of the position before, which was never proposed"
        )


def others_of(replay: Replay, branch: int, position: int) -> list[Key]:
    """The further candidates of a branch from ``position`` on that have no fate yet."""
    found: list[Key] = []
    while keys := replay.candidates.get((branch, position)):
        found += [key for key in keys if len(key) == 3 and key not in replay.fates]
        position += 1
    return found


def check_path(replay: Replay, event: ev.Verified) -> None:
    """The accepted candidates follow each other, and the last token is what the tree lacked."""
    if len(event.path) != event.accepted:
        raise Broken(f"{event.accepted} accepted proposals, but a path of {len(event.path)}")
    before: int | None = None
    for candidate, token, key in zip(
        event.path, event.committed[: event.accepted], event.accepted_keys(), strict=True
    ):
        proposal = replay.proposal(key, "accepted")
        if proposal is None:
            return
        if proposal.token != token:
            raise Broken(
                f"token {token} was accepted at position {key[1]}, but {proposal.token} was proposed"
            )
        if before is not None and _predecessor(proposal) != before:
            raise Broken(
                f"candidate {candidate} at position {key[1]} does not follow candidate {before}"
            )
        before = candidate
    _check_extra(replay, event, before)


def _check_extra(replay: Replay, event: ev.Verified, last: int | None) -> None:
    position = event.position + event.accepted
    there = [replay.proposed[key] for key in replay.candidates.get((event.branch, position), [])]
    behind = [p.token for p in there if last is None or _predecessor(p) == last]
    token = event.committed[-1]
    if event.extra is Extra.CORRECTION and (token in behind or not behind):
        raise Broken(f"token {token} is a correction of nothing at position {position}")
    if event.extra is Extra.BONUS and behind:
        raise Broken(f"token {token} is a bonus where {len(behind)} proposals were not accepted")


def _predecessor(proposal: ev.Proposed) -> int | None:
    """The candidate it follows; on the main chain, the main chain."""
    return proposal.parent if proposal.candidate else 0
