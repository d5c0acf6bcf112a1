"""The playground: choose a prompt, methods and policies, press Run, and watch the theater.

It knows no engine: what opens a session is given to it. Work is done in a thread, so that Stop is
heard with kernel subshells and without; the thread prints nothing and only sets traits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Protocol

import ipywidgets as w

from amusd_viz.errors import AmusdVizError
from amusd_viz.paths import shipped_draft
from amusd_viz.source import EventSource
from amusd_viz.trace import Trace
from amusd_viz.views.theater import Theater

METHODS = {
    "autoregressive": "the target alone, one token a pass",
    "synchronous": "draft and target take turns",
    "amusd": "both run all the time",
}
POLICIES = {
    "paper": "the target waits for two proposals, as in the paper",
    "eager": "the target never waits for the draft",
    "adaptive": "waits and run-ahead from what is measured",
    "fixed(1)": "the target waits for one proposal",
    "fixed(4)": "the target waits for four proposals",
}
PAIRS = {
    "twin": "the target's own weights in 4 bits draft: often right, not so cheap",
    "twin8": "the target's own weights in 8 bits draft: nearly always right, dearer",
    "small": "a few of the target's layers, distilled, draft: cheaper, less often right",
}
SAYS = {
    "pair": "Which models decode.",
    "policy": "AMUSD: when a verification starts.",
    "lookahead": "Synchronous: proposals drafted a round.",
    "temperature": "0 takes the most probable token; above, seeded sampling.",
    "seed": "The same seed gives the same text, whatever the method.",
    "max_new_tokens": "Length limit of the output.",
}


class Decoder(Protocol):
    """What a session is to the playground."""

    def decode(self, prompt: str, method: str, **settings: Any) -> EventSource: ...

    def close(self) -> None: ...


class Playground(w.VBox):
    """Controls above, a theater below.

    Args:
        open_session: opens the models of a pair by its name; called when Run is pressed first.
        prompt: what stands in the prompt box.
        recordings: runs shown until the first Run, and where the engine cannot run.
    """

    def __init__(
        self,
        open_session: Callable[[str], Decoder],
        *,
        prompt: str = "Why is the sky blue?",
        recordings: tuple[Trace, ...] = (),
    ) -> None:
        self._open_session = open_session
        self._session: Decoder | None = None
        self._session_pair = ""
        self._run: EventSource | None = None
        self._recordings = recordings
        self._stop_asked = threading.Event()
        self._worker: threading.Thread | None = None
        self.traces: tuple[Trace, ...] = ()
        """The runs of the last Run, when it is over."""
        self._build(prompt)
        self._call = w.HTML()
        self._status = w.HTML()
        self._stage = w.VBox([Theater(*recordings)] if recordings else [])
        super().__init__(
            [
                self.prompt,
                w.GridBox(
                    [
                        *(self.pair, self.temperature, self.seed),
                        *(self.policy, self.lookahead, self.max_new_tokens),
                    ],
                    layout=_COLUMNS,
                ),
                w.HBox(
                    [*self.methods.values(), self.run_button, self.stop_button], layout=_WRAPPED
                ),
                self._status,
                self._call,
                self._stage,
            ]
        )
        self._show_call()

    def __repr__(self) -> str:
        return "Playground()"

    # -- controls ----------------------------------------------------------------------------

    def _build(self, prompt: str) -> None:
        self.prompt = w.Textarea(prompt, description="prompt", layout=w.Layout(width="100%"))
        self.pair = w.Dropdown(options=_explained(_pairs()), value="twin", **_look("pair"))
        self.policy = w.Dropdown(options=_explained(POLICIES), value="paper", **_look("policy"))
        self.lookahead = w.IntSlider(4, 1, 7, **_look("lookahead"))
        self.temperature = w.FloatSlider(0.0, min=0.0, max=1.5, step=0.1, **_look("temperature"))
        self.seed = w.BoundedIntText(0, min=0, max=2**31 - 1, **_look("seed"))
        self.max_new_tokens = w.IntSlider(48, 8, 256, 8, **_look("max_new_tokens"))
        self.methods = {
            name: w.Checkbox(name != "autoregressive", description=name, tooltip=says, **_SHORT)
            for name, says in METHODS.items()
        }
        self.run_button = w.Button(description="Run", button_style="primary", icon="play")
        self.stop_button = w.Button(description="Stop", icon="stop", disabled=True)
        self.run_button.on_click(lambda _: self.run())
        self.stop_button.on_click(lambda _: self.stop())
        choices = (self.prompt, self.pair, self.policy, self.lookahead, self.temperature, self.seed)
        for control in (*choices, self.max_new_tokens, *self.methods.values()):
            control.observe(lambda _: self._show_call(), names="value")

    @property
    def settings(self) -> dict[str, Any]:
        """What ``Session.decode`` is given besides prompt and method."""
        return {
            "max_new_tokens": self.max_new_tokens.value,
            "temperature": round(self.temperature.value, 2),
            "seed": self.seed.value,
            "policy": self.policy.value,
            "lookahead": self.lookahead.value,
        }

    @property
    def call(self) -> str:
        """The Python that does the same."""
        chosen = [name for name, box in self.methods.items() if box.value]
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return (
            "from amusd_viz import Theater, compare\n\n"
            f"runs = compare({self.prompt.value!r}, {chosen!r},\n"
            f"               pair={self.pair.value!r}, {arguments})\n"
            "Theater(*runs)"
        )

    def _show_call(self) -> None:
        self._call.value = (
            "<details><summary>The same in Python</summary>"
            f'<pre style="user-select:all">{escape(self.call)}</pre></details>'
        )

    def _say(self, sentence: str) -> None:
        self._status.value = f'<span role="status">{escape(sentence)}</span>'

    # -- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Decodes the prompt by every chosen method, one after the other; returns at once."""
        if self._worker and self._worker.is_alive():
            return
        chosen = [name for name, box in self.methods.items() if box.value]
        if not chosen:
            self._say("Choose at least one method.")
            return
        self._stop_asked.clear()
        self.run_button.disabled, self.stop_button.disabled = True, False
        work = (self.prompt.value, self.pair.value, chosen, self.settings)
        self._worker = threading.Thread(target=self._work, args=work, daemon=True)
        self._worker.start()

    def stop(self) -> None:
        """Ends the run that is going on with what is committed; no further one starts."""
        self._stop_asked.set()
        if self._run is not None:
            self._run.stop()

    def wait(self, timeout: float | None = None) -> Playground:
        """Waits until the last Run is over (at most ``timeout`` seconds)."""
        if self._worker:
            self._worker.join(timeout)
        return self

    def close(self) -> None:
        """Ends the run and the session, and takes the playground off the page."""
        self.stop()
        self.wait(5)
        if self._session:
            self._session.close()
        super().close()

    def _work(
        self, prompt: str, pair: str, methods: list[str], settings: Mapping[str, Any]
    ) -> None:
        try:
            self._decode_all(prompt, self._session_of(pair), methods, settings)
        except AmusdVizError as reason:
            self._say(f"{reason}" + (" Below is a recording." if self._recordings else ""))
            if self._recordings:
                self._show(Theater(*self._recordings))
        finally:
            self._run = None
            self.run_button.disabled, self.stop_button.disabled = False, True

    def _session_of(self, pair: str) -> Decoder:
        if self._session is None or self._session_pair != pair:
            if self._session:
                self._session.close()
                self._session = None
            self._say("Loading the models …")
            self._session, self._session_pair = self._open_session(pair), pair
        return self._session

    def _decode_all(
        self, prompt: str, session: Decoder, methods: list[str], settings: Mapping[str, Any]
    ) -> None:
        done: list[Trace] = []
        for method in methods:
            if self._stop_asked.is_set():
                break
            self._say(f"Decoding: {METHODS[method]} ({method}).")
            self._run = session.decode(prompt, method, **settings)
            self._show(Theater(*done, self._run, recordings=self._recordings))
            if self._stop_asked.is_set():
                self._run.stop()
            done.append(self._run.trace)
        self.traces = tuple(done)
        if done:
            self._say(_outcome(done))

    def _show(self, theater: Theater) -> None:
        before, self._stage.children = self._stage.children, (theater,)
        for widget in before:
            widget.close()


def _outcome(traces: list[Trace]) -> str:
    if len(traces) == 1:
        return f"Done: {len(traces[0].tokens)} tokens."
    if len({trace.tokens for trace in traces}) == 1:
        return f"Done: all {len(traces)} methods wrote the same {len(traces[0].tokens)} tokens."
    return "Done: the runs have different lengths, since one was stopped."


def _pairs() -> dict[str, str]:
    """Those that can be chosen here: a distilled draft only where it comes with the package."""
    return {name: says for name, says in PAIRS.items() if name != "small" or shipped_draft(name)}


def _explained(options: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"{name} – {says}", name) for name, says in options.items()]


def _look(name: str) -> dict[str, Any]:
    return {
        "description": name.replace("max_new_tokens", "tokens"),
        "tooltip": SAYS[name],
        "style": {"description_width": "90px"},
        "layout": w.Layout(width="auto"),
    }


_WRAPPED = w.Layout(flex_flow="row wrap")
_SHORT: dict[str, Any] = {"indent": False, "layout": {"width": "150px"}}
_COLUMNS = w.Layout(grid_template_columns="repeat(auto-fill, minmax(320px, 1fr))")
