"""One prompt, several methods: decoded one after the other, laid on one clock.

Two decodes at once on the same cores would ruin every figure, so nothing here runs side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amusd_viz import words
from amusd_viz.errors import SettingError
from amusd_viz.extras import need_engine
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.engine import Run, Session
    from amusd_viz.views.playground import Playground

METHODS = tuple(words.METHODS)
"""Every way of decoding, from the plainest on."""


@dataclass(frozen=True)
class Comparison:
    """The runs of one prompt by several methods.

    Attributes:
        traces: one a method, in the order asked for.
        texts: the text each one wrote.
    """

    traces: tuple[Trace, ...]
    texts: tuple[str, ...]

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, method: str) -> Trace:
        """The run of one method: ``comparison["amusd"]``."""
        for trace in self.traces:
            if trace.header.method == method:
                return trace
        ran = ", ".join(trace.header.method for trace in self.traces)
        raise KeyError(f"{method!r} was not run; there are: {ran}")

    def __repr__(self) -> str:
        return "\n".join(repr(trace) for trace in self.traces)

    @property
    def first_difference(self) -> int | None:
        """The first position at which two outputs differ, or ``None`` where all are equal.

        Raises:
            SettingError: the runs are not of one numerics key, so equality means nothing.
        """
        keys = {trace.header.numerics for trace in self.traces}
        if len(keys) > 1:
            raise SettingError(
                f"these runs have {len(keys)} different numerics keys; outputs are only comparable "
                "token by token between runs of one key (same dtype, kernel, shapes and threads)"
            )
        outputs = [trace.tokens for trace in self.traces]
        shortest = min(map(len, outputs), default=0)
        for position in range(shortest):
            if len({output[position] for output in outputs}) > 1:
                return position
        return None if len(set(map(len, outputs))) <= 1 else shortest

    @property
    def identical(self) -> bool:
        """Whether every method gave exactly the same tokens; see :attr:`first_difference`."""
        return self.first_difference is None


def decode(
    prompt: str, method: str = "amusd", *, session: Session | None = None, **settings: Any
) -> Run:
    """Decodes one prompt and waits for the end.

    Without ``session`` the models are loaded for this one run; keep a :class:`Session` open to
    decode several prompts.

    Args:
        prompt: what to continue or, with a chat model, to answer.
        method: ``autoregressive``, ``synchronous`` or ``amusd``.
        session: a warm session; otherwise one is opened and closed.
        settings: of the session (``pair`` or ``draft`` and ``target``, ``draft_device``,
            ``target_device``, ``dtype``, ``rows``) and of ``Session.decode``
            (``max_new_tokens``, ``temperature``, ``seed``, ...).

    Raises:
        AmusdVizError: what is wrong with the prompt, the settings, the models or the devices.
    """
    with _session(session, settings) as warm:
        return warm.decode(prompt, method=method, **settings).wait()


def compare(
    prompt: str,
    methods: Sequence[str] = METHODS,
    *,
    session: Session | None = None,
    **settings: Any,
) -> Comparison:
    """Decodes one prompt by several methods, one after the other, with one numerics key.

    Args:
        prompt: what to continue or, with a chat model, to answer.
        methods: which ones, in this order.
        session, settings: as for :func:`decode`; the same for every method.
    """
    if isinstance(methods, str) or not methods:
        raise SettingError(f"methods must be a list of names such as {METHODS}, not {methods!r}")
    with _session(session, settings) as warm:
        runs = [warm.decode(prompt, method=method, **settings).wait() for method in methods]
    return Comparison(tuple(run.trace for run in runs), tuple(run.text for run in runs))


def playground(prompt: str = "Why is the sky blue?") -> Playground:
    """Controls and a theater: choose, press Run, watch. Models are loaded at the first Run.

    Without the engine it shows the recorded runs and says what is missing.
    """
    from amusd_viz.paths import recording
    from amusd_viz.views.playground import Playground

    def open_session(pair: str) -> Session:
        need_engine()
        from amusd_viz.engine import Session

        return Session(pair)

    recorded = (recording("sky-synchronous"), recording("sky-amusd"))
    return Playground(open_session, prompt=prompt, recordings=recorded)


_OF_A_SESSION = ("pair", "draft", "target", "draft_device", "target_device", "dtype", "rows")


def _session(session: Session | None, settings: dict[str, Any]) -> Any:
    """The given session, or a new one made from what ``settings`` says of it (taken out of it)."""
    own = {name: settings.pop(name) for name in _OF_A_SESSION if name in settings}
    if session is None:
        need_engine()
        from amusd_viz.engine import Session

        return Session(**own)
    if own:
        raise SettingError(
            f"{', '.join(own)}: is set when a session is opened, and this one is open already; "
            "leave it out, or open another session"
        )
    return nullcontext(session)
