"""Everything the hand-driven run says, in one place: labels, reasons, and what a press did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amusd_viz.protocol import (
    Adoption,
    Dropped,
    Extra,
    Fate,
    Finish,
    Pause,
    Proposal,
    Verdict,
    Window,
)
from amusd_viz.words import FATES, counted, visible

if TYPE_CHECKING:
    from amusd_viz.by_hand.run import ByHand
    from amusd_viz.by_hand.state import State

_PAUSES = {
    Pause.RUN_AHEAD_LIMIT: "The draft is as far ahead as it may be; let it read its mail first.",
    Pause.FIRST_COMMIT: "The draft takes turns: it waits for the target's first token.",
    Pause.END_TOKEN: "The draft has proposed the end of the text; there is nothing behind it.",
    Pause.LENGTH_LIMIT: "The draft has proposed up to the last position of the output.",
    Pause.RESTING: "The target has asked for no more proposals for now.",
    Pause.DONE: "The draft knows that the text is complete.",
}
_DONE = "The text is complete."
_FINISHES = {
    Finish.LENGTH: "all the tokens you asked for are there",
    Finish.END_TOKEN: "the model ended its text",
    Finish.STOP_CONDITION: "the stop condition was met",
    Finish.STOP_REQUEST: "it was stopped",
}


def ms(ns: int) -> str:
    """``34 ms``; tenths where it matters."""
    value = ns / 1e6
    return f"{value:.0f} ms" if value >= 2 else f"{value:.1f} ms"


def quoted(text: str) -> str:
    return f"“{visible(text.strip() or text, 24)}”"


# -- buttons -----------------------------------------------------------------------------------


def why_not(state: State, action: str) -> str:
    """Why an action cannot be done now; empty if it can."""
    if state.done:
        return _DONE
    if action == "draft":
        paused = state.draft.pause()
        return _PAUSES[paused] if paused else ""
    if action == "read":
        return "" if state.commits else "Nothing has been sent to the draft."
    if action == "finish":
        return "" if state.verifying else "No verification is running."
    if state.verifying:
        if action == "start":
            return "A verification is running; finish it first."
        return "The target is verifying; it takes its mail in when it has finished."
    if action == "receive" and not state.proposals:
        return "Nothing has been sent to the target."
    return ""


def label(run: ByHand, action: str) -> str:
    """What a press would do."""
    state = run.state
    if action == "draft":
        return f"Draft token {len(state.draft.tokens)}"
    if action == "read":
        arrived = sum(t <= state.draft_clock for t, _ in state.commits)
        if state.commits and not arrived:
            return f"Wait {ms(state.commits[0][0] - state.draft_clock)} for a commit, and read it"
        return f"Read {counted(arrived, 'commit')}" if arrived else "Read mail"
    if action == "receive":
        arrived = sum(t <= state.target_clock for t, _ in state.proposals)
        if state.proposals and not arrived:
            return f"Wait {ms(state.proposals[0][0] - state.target_clock)} for a proposal"
        return f"Take in {counted(arrived, 'proposal')}" if arrived else "Take in mail"
    if action == "start":
        most = min(run.rows - 1, run.max_new_tokens - len(state.target.committed) - 1)
        size = min(len(state.target.pending), most)
        return (
            f"Start verifying {counted(size, 'proposal')}"
            if size
            else "Start a pass without proposals"
        )
    if state.verifying:
        return f"Finish verifying (at {ms(state.verifying[1])})"
    return "Finish verifying"


# -- what a press did --------------------------------------------------------------------------


def opening(run: ByHand, state: State) -> str:
    first = quoted(run.word(state.target.committed[0]))
    return (
        f"Both models have read the text above. The target has written {first}, and the draft has "
        "heard of it. Now you decide who does what, and when."
    )


def drafted(run: ByHand, state: State, proposal: Proposal, took: int, dead: int | None) -> str:
    word = quoted(run.word(proposal.token))
    if dead is None:
        return (
            f"The draft spent {ms(took)} and proposes {word} for position {proposal.position}. "
            "The proposal is in the target's mailbox."
        )
    theirs = quoted(run.word(state.target.committed[dead]))
    return (
        f"You spent {ms(took)} on {word}, on a branch the target has already rejected: it committed "
        f"{theirs} at position {dead}. The draft cannot know; the news is in its mailbox."
    )


def received(
    run: ByHand,
    state: State,
    taken: Sequence[Proposal],
    dropped: Sequence[Dropped],
    waited: int,
) -> str:
    lead = f"The target waited {ms(waited)} and took" if waited else "The target took"
    told = f"{lead} in {counted(len(taken), 'proposal')}."
    too_late = [d for d in dropped if d.fate is Fate.TOO_LATE]
    if too_late:
        return f"{told} {_are(len(too_late))} of a dead branch: dropped as too late."
    if dropped:
        kinds = ", ".join(dict.fromkeys(FATES[d.fate] for d in dropped))
        return f"{told} {counted(len(dropped), 'proposal')} dropped: {kinds}."
    return f"{told} It has {counted(len(state.target.pending), 'proposal')} to judge."


def started(run: ByHand, state: State, window: Window, took: int) -> str:
    assert state.verifying is not None
    end = ms(state.verifying[1])
    if not window.tokens:
        return f"The target decodes one token by itself, until {end}. The draft is free to go on."
    words = " ".join(quoted(run.word(token)) for token in window.tokens)
    return (
        f"The target judges {words} in one pass of {ms(took)}, until {end}. While it does, "
        "the draft is free to go on: that is the whole point."
    )


def judged(run: ByHand, state: State, window: Window, verdict: Verdict) -> str:
    last = quoted(run.word(verdict.tokens[-1])) if verdict.tokens else ""
    if verdict.extra is Extra.CORRECTION:
        wrong = quoted(run.word(window.tokens[verdict.accepted]))
        told = f"Rejected: {wrong}. The target commits {last} in its place"
        if verdict.accepted:
            told += f", behind {counted(verdict.accepted, 'accepted proposal')}"
        told += "."
    elif verdict.extra is Extra.BONUS:
        all_of_them = (
            "the proposal" if verdict.accepted == 1 else f"all {verdict.accepted} proposals"
        )
        told = (
            f"Accepted: {all_of_them}, and {last} on top, a token of the target's own (the bonus)."
        )
    elif verdict.extra is Extra.PLAIN:
        told = f"The target wrote {last} by itself."
    else:
        told = f"Accepted: {counted(verdict.accepted, 'proposal')}."
    if verdict.finish:
        return f"{told} The text is complete: {_FINISHES[verdict.finish]}."
    dead = state.dead_from
    if dead is None:
        return told
    doomed = len(state.draft.tokens) - dead - 1
    behind = f", and so is all it built behind it ({counted(doomed, 'token')})" if doomed else ""
    cause = "" if verdict.extra is Extra.CORRECTION else " The bonus contradicts the draft."
    return (
        f"{told}{cause} The draft's {quoted(run.word(state.draft.tokens[dead]))} is dead{behind}, and "
        "the draft does not know it yet: the commit lies in its mailbox."
    )


def heard(run: ByHand, state: State, adoptions: Sequence[Adoption], waited: int) -> str:
    lead = f"After waiting {ms(waited)}, the draft hears" if waited else "The draft hears"
    last = adoptions[-1]
    known = state.draft.known
    if last.kind == "rolled_back":
        gone = " ".join(quoted(run.word(token)) for token in last.discarded)
        first = quoted(run.word(last.adopted[0]))
        return (
            f"{lead} that position {last.position} is {first}, and rolls back: {gone} "
            f"{'is' if len(last.discarded) == 1 else 'are'} gone. The committed text did not move."
        )
    if last.kind == "fast_forwarded":
        return (
            f"{lead} of {counted(len(last.adopted), 'token')} it had not drafted, and adopts "
            f"{'it' if len(last.adopted) == 1 else 'them'}."
        )
    return (
        f"{lead} what it believed anyway, and carries on. It knows {known} tokens to be committed."
    )


def _are(number: int) -> str:
    return "It is" if number == 1 else f"{number} are"
