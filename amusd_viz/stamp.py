"""From outcomes of the protocol to stamped events: shared by every driver.

The protocol has no clock. A driver (engine, simulator, stepper) says when something happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amusd_viz import events as ev
from amusd_viz.protocol import Adoption, Commit, DraftSide, Pause, Proposal, Verdict, Window
from amusd_viz.protocol import Dropped as DroppedProposal

WAIT_OF_PAUSE = {
    Pause.RUN_AHEAD_LIMIT: ev.Wait.RUN_AHEAD_LIMIT,
    Pause.FIRST_COMMIT: ev.Wait.FIRST_COMMIT,
    Pause.END_TOKEN: ev.Wait.END_TOKEN,
    Pause.LENGTH_LIMIT: ev.Wait.LENGTH_LIMIT,
    Pause.RESTING: ev.Wait.RESTING,
}
"""How a paused draft's waiting is recorded."""


def candidates(best: Iterable[tuple[int, float]]) -> tuple[ev.Candidate, ...]:
    """The likeliest tokens of a step as they are recorded: ids with their probabilities, texts later."""
    return tuple(ev.Candidate(token, "", probability) for token, probability in best)


def proposed(
    start: int,
    end: int,
    proposal: Proposal,
    *,
    text: str = "",
    probability: float | None = None,
    alternatives: tuple[ev.Candidate, ...] = (),
    computed: int | None = None,
    drafter: str = "draft",
    head: int | None = None,
) -> ev.Proposed:
    """The draft, or a speculator's ``head``, made ``proposal`` from ``start`` to ``end`` ns."""
    return ev.Proposed(
        start=start,
        end=end,
        drafter=drafter,
        branch=proposal.branch,
        position=proposal.position,
        token=proposal.token,
        text=text,
        probability=probability,
        alternatives=alternatives,
        unsure=proposal.unsure,
        computed=computed,
        head=head,
    )


def looked_up(start: int, end: int, proposals: Iterable[Proposal]) -> list[ev.Event]:
    """What the text repeats was proposed all at once, from ``start`` to ``end`` ns."""
    events: list[ev.Event] = []
    for proposal in proposals:
        events.append(proposed(start, end, proposal, drafter="prompt lookup"))
        start = end
    return events


def proposal_received(
    t: int, proposal: Proposal, dropped: Iterable[DroppedProposal]
) -> list[ev.Event]:
    """The target took in one proposal at ``t`` ns."""
    arrival = ev.Received(
        t=t, side=ev.Side.TARGET, branch=proposal.branch, position=proposal.position
    )
    return [arrival, *proposals_dropped(t, dropped)]


def tree_received(t: int, window: Window) -> ev.Received:
    """The target took in all that was drafted for ``window`` at ``t`` ns."""
    depth = 1 + max(window.tree.depths) if window.tree else len(window.tokens)
    return ev.Received(
        t=t,
        side=ev.Side.TARGET,
        branch=window.branch,
        position=window.position,
        count=depth,
    )


def proposals_dropped(t: int, dropped: Iterable[DroppedProposal]) -> list[ev.Event]:
    return [
        ev.Dropped(t=t, branch=d.branch, position=d.position, fate=d.fate, candidate=d.candidate)
        for d in dropped
    ]


def commit_heard(
    t: int, commit: Commit, adoption: Adoption, draft: DraftSide, branch_before: int
) -> list[ev.Event]:
    """The draft took in one commit at ``t`` ns and did what ``adoption`` says."""
    arrival = ev.Received(
        t=t,
        side=ev.Side.DRAFT,
        branch=branch_before,
        position=commit.position,
        count=len(commit.tokens),
    )
    if adoption.kind == "rolled_back":
        outcome: ev.Event = ev.RolledBack(
            t=t,
            branch=draft.branch,
            position=adoption.position,
            length=adoption.position + len(adoption.discarded),
            adopted=adoption.adopted,
            discarded=adoption.discarded,
        )
    elif adoption.kind == "fast_forwarded":
        outcome = ev.FastForwarded(t=t, position=adoption.position, adopted=adoption.adopted)
    else:
        outcome = ev.CarriedOn(t=t, known=draft.known)
    return [arrival, outcome]


def verify_started(t: int, window: Window) -> ev.VerifyStarted:
    return ev.VerifyStarted(
        t=t,
        branch=window.branch,
        position=window.position,
        tokens=window.tokens,
        others=len(window.tree) - len(window.tokens) if window.tree else 0,
        own=window.own,
        chain=window.chain,
    )


def verdict_reached(
    start: int,
    end: int,
    window: Window,
    verdict: Verdict,
    *,
    texts: Sequence[str] = (),
    probabilities: Sequence[float] = (),
    alternatives: Sequence[tuple[ev.Candidate, ...]] = (),
    computed: int | None = None,
) -> list[ev.Event]:
    """The target judged ``window`` from ``start`` to ``end`` ns; what follows from it."""
    verified = ev.Verified(
        start=start,
        end=end,
        branch=window.branch,
        position=window.position,
        proposals=len(window.tokens),
        accepted=verdict.accepted,
        own=window.own,
        chain=window.chain,
        path=tuple(window.tree.nodes[n].candidate for n in verdict.path) if window.tree else (),
        committed=verdict.tokens,
        texts=tuple(texts),
        extra=verdict.extra,
        probabilities=tuple(probabilities),
        alternatives=tuple(alternatives),
        computed=computed,
    )
    return [verified, *proposals_dropped(end, verdict.dropped)]
