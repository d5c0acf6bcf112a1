"""One prompt, several methods: decoded one after the other, laid on one clock.

Two decodes at once on the same cores would ruin every figure, so nothing here runs side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from amusd_viz import words
from amusd_viz.errors import SettingError
from amusd_viz.extras import need_engine
from amusd_viz.trace import Trace

if TYPE_CHECKING:
    from amusd_viz.engine import Run, Session
    from amusd_viz.views.in_turn import InTurn
    from amusd_viz.views.playground import Playground
    from amusd_viz.views.theater import Theater

METHODS = tuple(words.METHODS)
"""The ways of decoding, from the plainest on; those with a speculator need a target that has one."""
MOST = 3
"""Runs that fit into one theater."""


class Comparison:
    """The runs of one prompt by several methods.

    In a notebook it is shown as a theater; while it still decodes, the theater follows, and
    whatever is asked of it waits for the end.

    Args:
        traces: one a method, in the order asked for.
        texts: the text each one wrote.
        in_turn: what still decodes them.
    """

    def __init__(
        self,
        traces: Sequence[Trace] = (),
        texts: Sequence[str] = (),
        *,
        in_turn: InTurn | None = None,
    ) -> None:
        self._traces, self._texts, self._in_turn = tuple(traces), tuple(texts), in_turn
        self._theater: Theater | None = in_turn.theater if in_turn else None

    @property
    def traces(self) -> tuple[Trace, ...]:
        """One a method; waits for the end, and raises what went wrong."""
        return self._in_turn.wait().traces if self._in_turn else self._traces

    @property
    def texts(self) -> tuple[str, ...]:
        """The text each one wrote; waits for the end, and raises what went wrong."""
        return self._in_turn.wait().texts if self._in_turn else self._texts

    @property
    def theater(self) -> Theater:
        """The theater of these runs."""
        if self._theater is None:
            from amusd_viz.views.theater import Theater

            self._theater = Theater(*self._traces)
        return self._theater

    def stop(self) -> None:
        """Ends the run that is going on with what is committed; no further one starts."""
        if self._in_turn:
            self._in_turn.stop()

    def wait(self, timeout: float | None = None) -> Comparison:
        """Waits until all runs are over (at most ``timeout`` seconds), and raises what went wrong."""
        if self._in_turn:
            self._in_turn.wait(timeout)
        return self

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if not _in_notebook():
            return {"text/plain": repr(self)}
        return self.theater._repr_mimebundle_(**options)

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
        method: ``autoregressive``, ``synchronous``, ``speculator``, ``amusd`` or
            ``amusd+speculator``.
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
    methods: Sequence[str] = ("synchronous", "amusd"),
    *,
    session: Session | None = None,
    live: bool = True,
    **settings: Any,
) -> Comparison:
    """Decodes one prompt by several methods, one after the other, with one numerics key.

    In a notebook it returns at once, as a theater that follows the runs, with a button that stops
    them and one that decodes by the target alone too. Where a run fails or is slow to start, a
    recording is shown in its place, labelled.

    Args:
        prompt: what to continue or, with a chat model, to answer.
        methods: which ones, in this order; at most three.
        session: a warm session, open until the runs are over; otherwise one is opened and closed.
        live: ``False`` waits for the end, as is always done outside of a notebook.
        settings: as for :func:`decode`; the same for every method.

    Raises:
        SettingError: the methods are no list of known names, or a setting does not fit.
        AmusdVizError: what else is wrong; from a live comparison when its runs are asked for.
    """
    _check_methods(methods)
    if live and _in_notebook():
        return Comparison(in_turn=_start(prompt, methods, session, settings))
    with _session(session, settings) as warm:
        runs = [warm.decode(prompt, method=method, **settings).wait() for method in methods]
    return Comparison([run.trace for run in runs], [run.text for run in runs])


def _check_methods(methods: Sequence[str]) -> None:
    if isinstance(methods, str) or not methods:
        raise SettingError(f"methods must be a list of names such as {METHODS}, not {methods!r}")
    for method in methods:
        if method not in METHODS:
            raise SettingError(f"unknown method {method!r}; there are: {', '.join(METHODS)}")
    if len(methods) > MOST:
        raise SettingError(f"{len(methods)} methods were given; a comparison has at most three")


def _in_notebook() -> bool:
    """Whether a kernel runs this, so that somebody can watch."""
    ipython = sys.modules.get("IPython")
    return bool(ipython) and hasattr(ipython.get_ipython(), "kernel")


def _start(
    prompt: str, methods: Sequence[str], session: Session | None, settings: dict[str, Any]
) -> InTurn:
    from amusd_viz.views.in_turn import InTurn

    global _newest
    own = _own(session, settings)
    if _newest:
        # The cell was run again: two decodes at once would ruin both.
        _newest.stop()
        _newest.join()
    _newest = InTurn(
        lambda: _session(session, dict(own)),
        prompt,
        methods,
        settings,
        recordings=_recorded(methods),
    )
    return _newest.start()


_newest: InTurn | None = None
"""The live comparison begun last."""


def _recorded(methods: Sequence[str]) -> list[Trace]:
    """Recordings of these methods, as far as there are any, for where they cannot run."""
    from amusd_viz.paths import recording, recordings

    names = [f"sky-{method}" for method in methods]
    return [recording(name) for name in names if name in recordings()]


def playground(prompt: str = "Why is the sky blue?") -> Playground:
    """Controls and a theater: choose, press Run, watch. Models are loaded at the first Run.

    Without the engine it shows the recorded runs and says what is missing. A playground made earlier
    gives its models back.
    """
    global _playground
    from amusd_viz.views.playground import Playground

    def open_session(pair: str) -> Session:
        need_engine()
        from amusd_viz.engine import Session

        return Session(pair)

    if _playground:
        # The cell was run again: two pairs in memory would be one too many.
        _playground.release()
    recorded = _recorded(("synchronous", "amusd"))
    _playground = Playground(open_session, prompt=prompt, recordings=tuple(recorded))
    return _playground


_playground: Playground | None = None
"""The playground made last."""


_OF_A_SESSION = (
    *("pair", "draft", "target", "draft_device", "target_device"),
    *("dtype", "rows", "speculator"),
)


def _session(session: Session | None, settings: dict[str, Any]) -> Any:
    """The given session, or a new one made from what ``settings`` says of it (taken out of it)."""
    own = _own(session, settings)
    if session is None:
        need_engine()
        from amusd_viz.engine import Session

        return Session(**own)
    return nullcontext(session)


def _own(session: Session | None, settings: dict[str, Any]) -> dict[str, Any]:
    """What ``settings`` says of the session itself, taken out of it."""
    own = {name: settings.pop(name) for name in _OF_A_SESSION if name in settings}
    if session is not None and own:
        raise SettingError(
            f"{', '.join(own)}: is set when a session is opened, and this one is open already; "
            "leave it out, or open another session"
        )
    return own
