"""What can happen in a run: a closed union of frozen types, discriminated by ``kind``.

A run is a header and a stream of these events. The engine, the simulator, the stepper and a recorded
file are four sources of the same stream; every view is a reader of it.

Times are integer nanoseconds on one monotonic clock shared by all processes of a run, zero at the
run's start. Positions count output tokens from 0. ``at`` of an event is the moment it is known:
the end of a span, the time of anything else.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from amusd_viz.protocol.messages import Fate
from amusd_viz.protocol.target import Extra, Finish

SCHEMA_VERSION = 1
"""Raised whenever a reader of the previous version would misread a file."""


Nanoseconds = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Up to 104 days, so that a browser's numbers hold it exactly."""
Whole = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Position = Annotated[int, Meta(ge=0, le=2**31 - 1)]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Branch = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""The draft counts its branches from 0 up. Below 0, from -1 down, stand chains of the target's own
side, of a speculator that steps in while the draft is awaited: one number a window."""
Probability = Annotated[float, Meta(ge=0, le=1.00001)]
"""A sum of float32 numbers may come out a little above 1."""


class Side(StrEnum):
    """Which of the two models, its device and its half of the protocol."""

    DRAFT = "draft"
    TARGET = "target"


class Wait(StrEnum):
    """Why a device stood still."""

    PROPOSALS = "proposals"
    """The target waits for the draft."""
    RUN_AHEAD_LIMIT = "run_ahead_limit"
    """The draft is as far ahead as it may be (in synchronous decoding: it is the target's turn)."""
    FIRST_COMMIT = "first_commit"
    """Synchronous decoding: the draft waits for the target's prefill."""
    END_TOKEN = "end_token"
    """The draft proposed an end token."""
    LENGTH_LIMIT = "length_limit"
    """The draft has proposed up to the last position of the output."""
    RESTING = "resting"
    """The target has asked for no more proposals for now: it decodes faster without them, or sees
    whether it does."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    pass


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """One of a model's most probable tokens at a position."""

    token: TokenId
    text: str
    probability: Probability


ProposalKey = tuple[int, int] | tuple[int, int, int]
"""Branch and position; where a position has several candidates, the number of all but the first too."""


def proposal_key(branch: int, position: int, candidate: int = 0) -> ProposalKey:
    """The key of a proposal in :attr:`Trace.fates <amusd_viz.trace.Trace.fates>`."""
    return (branch, position, candidate) if candidate else (branch, position)


# -- the header ------------------------------------------------------------------------------


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How the target chooses a token; temperature 0 is greedy.

    ``top_k`` 0, ``top_p`` 1, ``min_p`` 0 and ``repetition_penalty`` 1 are off; the last one is the
    only one that greedy decoding knows.
    """

    temperature: Annotated[float, Meta(ge=0)] = 0.0
    top_k: Whole = 0
    top_p: Annotated[float, Meta(ge=0, le=1)] = 1.0
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Meta(gt=0)] = 1.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two models as it ran."""

    name: str
    description: str = ""
    parameters: Whole = 0


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model ran: ``name`` as given (``cpu:0``), ``label`` for people (``CPU core 0``)."""

    name: str
    label: str


class Numerics(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that may change the last bit of the target's logits.

    Outputs are claimed and checked to be identical only between runs of one key.
    """

    dtype: str
    kernel: str
    rows: Count
    cache_length: Count
    threads: Count
    device: str


class Header(_Record, frozen=True, kw_only=True, omit_defaults=False, tag="header"):
    """What a run was: everything but the events."""

    schema: Annotated[int, Meta(ge=1)] = SCHEMA_VERSION
    source: Literal["measured", "simulated"]
    method: str
    policy: str = ""
    """Name of the target's window policy; empty where nothing is proposed."""
    run_ahead: str = ""
    """Name of the draft's policy, such as ``constant(16)`` or ``lookahead(4)``."""
    max_new_tokens: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    sampling: Sampling = Sampling()
    end_tokens: tuple[TokenId, ...] = ()
    stop: tuple[str, ...] = ()
    """The output is over when it holds one of these; its text ends before it."""
    pair: str = ""
    draft: Model | None = None
    target: Model
    speculator: Model | None = None
    """The heads that step in where the target would wait for the draft, if they take part."""
    draft_device: Device | None = None
    target_device: Device
    numerics: Numerics | None = None
    """``None`` in simulated runs."""
    versions: dict[str, str] = {}
    machine: dict[str, str] = {}
    created: str = ""
    """UTC, ISO 8601."""
    prompt: str = ""
    prompt_ids: tuple[TokenId, ...] = ()
    notes: dict[str, str] = {}
    """Free remarks, such as the settings of a simulation."""

    @property
    def pair_name(self) -> str:
        """What the two models are called together: the pair's short name, or else their own."""
        return self.pair or " + ".join(m.name for m in (self.draft, self.target) if m)


# -- the events ------------------------------------------------------------------------------


class Span(_Record, frozen=True, kw_only=True):
    """Something that takes time on one device: from ``start`` to ``end`` (ns)."""

    start: Nanoseconds
    end: Nanoseconds

    @property
    def at(self) -> int:
        return self.end


class Instant(_Record, frozen=True, kw_only=True):
    """Something that happens at ``t`` (ns)."""

    t: Nanoseconds

    @property
    def at(self) -> int:
        return self.t


class Prefill(Span, frozen=True, kw_only=True, tag="prefill"):
    """A model read the ``tokens`` prompt tokens."""

    side: Side
    tokens: Count


class Proposed(Span, frozen=True, kw_only=True, tag="proposed"):
    """The draft proposed ``token`` at ``position`` of its current ``branch``.

    On a branch below 0 it was a speculator's head, working on the target's side beside the draft.
    """

    drafter: str = "draft"
    branch: Branch
    position: Position
    token: TokenId
    text: str = ""
    probability: Probability | None = None
    alternatives: tuple[Candidate, ...] = ()
    unsure: bool = False
    computed: Nanoseconds | None = None
    """When the forward was done (on a GPU: started); the rest of the span is the choice."""
    head: Count | None = None
    """Which head of a token/embedding speculator it came from; ``None`` for a draft model's."""
    candidate: Count = 0
    """Which proposal of its position, where several are judged at once (a tree); those of number 0
    are the main chain, in which the draft believes."""
    parent: Count | None = None
    """In a tree, which candidate of the position before it follows; ``None`` on the main chain and
    where it follows the last committed token."""

    @property
    def side(self) -> Side:
        """Whose device worked."""
        return Side.TARGET if self.branch < 0 else Side.DRAFT

    @property
    def key(self) -> ProposalKey:
        """What tells it from all other proposals of its run."""
        return proposal_key(self.branch, self.position, self.candidate)


class Received(Instant, frozen=True, kw_only=True, tag="received"):
    """A message arrived: proposals at the target, a commit of ``count`` tokens at the draft."""

    side: Side
    branch: Count
    """Of the proposals; at the draft, its branch when the commit arrived."""
    position: Position
    count: Count = 1


class Dropped(Instant, frozen=True, kw_only=True, tag="dropped"):
    """A proposal left the target's side unaccepted."""

    side: ClassVar[Side] = Side.TARGET
    branch: Branch
    position: Position
    fate: Fate
    candidate: Count = 0
    """Which proposal of the position; see :class:`Proposed`."""

    @property
    def key(self) -> ProposalKey:
        """Of the proposal."""
        return proposal_key(self.branch, self.position, self.candidate)


class VerifyStarted(Instant, frozen=True, kw_only=True, tag="verify_started"):
    """The target began to judge ``tokens``, the first of which stands at ``position``."""

    side: ClassVar[Side] = Side.TARGET
    branch: Count
    position: Position
    tokens: tuple[TokenId, ...] = ()
    """Of a tree, those of the main chain."""
    others: Count = 0
    """How many further candidates of these positions are judged with them, in a tree."""
    own: Count = 0
    """How many of the last tokens the target's own side proposed, on branch ``chain``."""
    chain: Branch = 0

    def keys(self) -> list[ProposalKey]:
        """The keys of the proposals, of a tree those of its main chain."""
        drafted = len(self.tokens) - self.own
        return [
            (self.branch if i < drafted else self.chain, self.position + i)
            for i in range(len(self.tokens))
        ]


class Verified(Span, frozen=True, kw_only=True, tag="verified"):
    """The target judged a window and committed tokens from ``position`` on.

    ``committed`` are the ``accepted`` leading proposals and, unless the run was cut before it, one
    token of kind ``extra``. ``probabilities[i]`` is the target's for the i-th proposal of the
    window (of a tree: for the token committed there), ``alternatives[i]`` its best candidates there;
    both are as long as what was judged.
    """

    side: ClassVar[Side] = Side.TARGET
    branch: Count
    position: Position
    proposals: Count
    """Size of the window; of a tree, of its main chain."""
    accepted: Count
    own: Count = 0
    """How many of the last proposals were the target's own side's, on branch ``chain``."""
    chain: Branch = 0
    path: tuple[Count, ...] = ()
    """In a tree, which candidate was accepted at each position; empty where it was the first."""
    committed: tuple[TokenId, ...]
    texts: tuple[str, ...] = ()
    extra: Extra
    probabilities: tuple[Probability, ...] = ()
    alternatives: tuple[tuple[Candidate, ...], ...] = ()
    computed: Nanoseconds | None = None
    """When the forward was done (on a GPU: started); the rest of the span is the choice."""

    def accepted_keys(self) -> list[ProposalKey]:
        """The keys of the accepted proposals, in order."""
        path = self.path or (0,) * self.accepted
        drafted = self.proposals - self.own if self.own else len(path)
        return [
            proposal_key(self.branch if i < drafted else self.chain, self.position + i, c)
            for i, c in enumerate(path)
        ]


class RolledBack(Instant, frozen=True, kw_only=True, tag="rolled_back"):
    """The draft heard a commit that contradicts it: it discards ``discarded`` from ``position`` on.

    ``length`` is how many tokens it believed in before; ``branch`` is the new one it starts.
    """

    side: ClassVar[Side] = Side.DRAFT
    branch: Count
    position: Position
    length: Count
    adopted: tuple[TokenId, ...]
    discarded: tuple[TokenId, ...]


class CarriedOn(Instant, frozen=True, kw_only=True, tag="carried_on"):
    """The draft heard a commit it agrees with; it knows ``known`` tokens to be committed."""

    side: ClassVar[Side] = Side.DRAFT
    known: Count


class FastForwarded(Instant, frozen=True, kw_only=True, tag="fast_forwarded"):
    """The draft was behind the target and adopted what it lacked, from ``position`` on."""

    side: ClassVar[Side] = Side.DRAFT
    position: Position
    adopted: tuple[TokenId, ...]


class Waited(Span, frozen=True, kw_only=True, tag="waited"):
    """A device stood still for a reason."""

    side: Side
    reason: Wait


class Finished(Instant, frozen=True, kw_only=True, tag="finished"):
    """The run ended with ``tokens`` output tokens."""

    side: ClassVar[Side] = Side.TARGET
    reason: Finish
    tokens: Count


class Failed(Instant, frozen=True, kw_only=True, tag="failed"):
    """A side failed. After a failed draft the run goes on without proposals."""

    side: Side
    what: str


class Unknown(msgspec.Struct, frozen=True):
    """An event of a kind this version does not know: kept as it was, and skipped by readers."""

    raw: msgspec.Raw
    kind: str

    @property
    def at(self) -> int:
        return 0


Event = (
    Prefill
    | Proposed
    | Received
    | Dropped
    | VerifyStarted
    | Verified
    | RolledBack
    | CarriedOn
    | FastForwarded
    | Waited
    | Finished
    | Failed
)
"""The closed union a writer may use."""

EVENT_TYPES: tuple[type[msgspec.Struct], ...] = Event.__args__
