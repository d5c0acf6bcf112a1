"""The playground: choose a prompt, methods and policies, press Run, and watch the theater.

It knows no engine: what opens a session is given to it. The work is done by
:class:`~amusd_viz.views.in_turn.InTurn`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from html import escape
from typing import Any, Protocol

import ipywidgets as w

from amusd_viz.errors import SettingError
from amusd_viz.paths import shipped_draft
from amusd_viz.source import EventSource
from amusd_viz.trace import Trace
from amusd_viz.views.copyable import Copyable
from amusd_viz.views.in_turn import InTurn
from amusd_viz.views.theater import MOST_RUNS, Theater

METHODS = {
    "autoregressive": "the target alone, one token a pass",
    "synchronous": "draft and target take turns",
    "speculator": "heads on the target's own state draft",
    "amusd": "both run all the time",
    "amusd+speculator": "heads step in for the draft",
}
CHOSEN = ("synchronous", "amusd")
"""The methods that are chosen at first."""
POLICIES = {
    "paper": "the target waits for two proposals",
    "eager": "the target never waits for the draft",
    "adaptive": "waits as measurements say",
    "fixed(1)": "the target waits for one proposal",
    "fixed(4)": "the target waits for four proposals",
}
PAIRS = {
    "twin": "draft: the target's weights in 4 bits",
    "twin8": "draft: the target's weights in 8 bits",
    "small": "draft: some of its layers, distilled",
}
SAYS: dict[str, str | Mapping[str, str]] = {
    "prompt": "what the models answer",
    "pair": PAIRS,
    "policy": {name: f"AMUSD: {says}" for name, says in POLICIES.items()},
    "lookahead": "synchronous, speculator: proposals a round",
    "temperature": "0: the likeliest token; above: sampling",
    "seed": "same seed, same text, by any method",
    "max_new_tokens": "longest output",
}
"""One line on every choice; where it depends on the value, one for each."""


class Closable(Protocol):
    """A session that is kept warm between runs."""

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
        open_session: Callable[[str], Closable],
        *,
        prompt: str = "Why is the sky blue?",
        recordings: tuple[Trace, ...] = (),
    ) -> None:
        self._open_session = open_session
        self._session: Closable | None = None
        self._session_pair = ""
        self._lock = threading.Lock()
        self._releases = 0
        """A session that was being opened when the models were given back is not kept."""
        self._recordings = recordings
        self._in_turn: InTurn | None = None
        self._build(prompt)
        self._call = Copyable()
        self._status = w.HTML()
        self._stage = w.VBox([Theater(*recordings)] if recordings else [])
        super().__init__(
            [
                self.prompt,
                w.GridBox(
                    [_explained(name, control) for name, control in self._choices.items()],
                    layout=_COLUMNS,
                ),
                w.HBox(
                    [*self.methods.values(), self.run_button, self.stop_button], layout=_WRAPPED
                ),
                self._status,
                w.Accordion([self._call], titles=("The same in Python",)),
                self._stage,
            ]
        )
        self._show_call()

    def __repr__(self) -> str:
        return "Playground()"

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The runs of the last Run that are over."""
        return self._in_turn.traces if self._in_turn else ()

    # -- controls ----------------------------------------------------------------------------

    def _build(self, prompt: str) -> None:
        self.prompt = w.Textarea(
            prompt,
            description="prompt",
            placeholder=str(SAYS["prompt"]),
            layout=w.Layout(width="100%"),
        )
        self.pair = w.Dropdown(options=_pairs(), value="twin", **_look("pair"))
        self.policy = w.Dropdown(options=list(POLICIES), value="paper", **_look("policy"))
        self.lookahead = w.IntSlider(4, 1, 7, **_look("lookahead"))
        self.temperature = w.FloatSlider(0.0, min=0.0, max=1.5, step=0.1, **_look("temperature"))
        self.seed = w.BoundedIntText(0, min=0, max=2**31 - 1, **_look("seed"))
        self.max_new_tokens = w.IntSlider(48, 8, 256, 8, **_look("max_new_tokens"))
        self.methods = {
            name: w.Checkbox(
                name in CHOSEN,
                description=f"{name}: {says}",
                indent=False,
                layout=_METHOD,
            )
            for name, says in METHODS.items()
        }
        self.run_button = w.Button(description="Run", button_style="primary", icon="play")
        self.stop_button = w.Button(description="Stop", icon="stop", disabled=True)
        self.run_button.on_click(lambda _: self.run())
        self.stop_button.on_click(lambda _: self.stop())
        self._choices = {
            "pair": self.pair,
            "temperature": self.temperature,
            "seed": self.seed,
            "policy": self.policy,
            "lookahead": self.lookahead,
            "max_new_tokens": self.max_new_tokens,
        }
        for control in (self.prompt, *self._choices.values(), *self.methods.values()):
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
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return (
            "from amusd_viz import compare\n\n"
            f"compare({self.prompt.value!r}, {self._chosen!r},\n"
            f"        pair={self.pair.value!r}, {arguments})"
        )

    @property
    def _chosen(self) -> list[str]:
        return [name for name, box in self.methods.items() if box.value]

    def _show_call(self) -> None:
        self._call.text = self.call

    def _say(self, sentence: str) -> None:
        self._status.value = f'<span role="status">{escape(sentence)}</span>'

    # -- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Decodes the prompt by every chosen method, one after the other; returns at once."""
        if self._in_turn and self._in_turn.going:
            return
        if not self._chosen:
            self._say("Choose at least one method.")
            return
        if len(self._chosen) > MOST_RUNS:
            self._say(f"Choose at most {MOST_RUNS} methods; a theater shows no more.")
            return
        self.run_button.disabled, self.stop_button.disabled = True, False
        pair, releases = self.pair.value, self._releases
        self._in_turn = InTurn(
            lambda: nullcontext(self._session_of(pair, releases)),
            self.prompt.value,
            self._chosen,
            self.settings,
            recordings=self._recordings,
            say=self._say,
            over=self._show_outcome,
        )
        self._show(self._in_turn.theater)
        self._in_turn.start()

    def stop(self) -> None:
        """Ends the run that is going on with what is committed; no further one starts."""
        if self._in_turn:
            self._in_turn.stop()

    def wait(self, timeout: float | None = None) -> Playground:
        """Waits until the last Run is over (at most ``timeout`` seconds); errors stay on screen."""
        if self._in_turn:
            self._in_turn.join(timeout)
        return self

    def release(self) -> None:
        """Ends the run and the session, whose models take memory; the next Run opens another."""
        with self._lock:
            self._releases += 1
        self.stop()
        self.wait(5)
        with self._lock:
            session, self._session = self._session, None
        if session:
            session.close()

    def close(self) -> None:
        """Ends the run and the session, and takes the playground off the page."""
        self.release()
        super().close()

    def _session_of(self, pair: str, releases: int) -> Closable:
        """The open session if it is one of ``pair``, else a new one.

        Raises:
            SettingError: the models were given back while they were loading.
        """
        with self._lock:
            if self._session and self._session_pair == pair:
                return self._session
            before, self._session = self._session, None
        if before:
            before.close()
        opened = self._open_session(pair)
        with self._lock:
            if releases == self._releases:
                self._session, self._session_pair = opened, pair
                return opened
        opened.close()
        raise SettingError("the models were given back while they were loading; press Run again")

    def _show_outcome(self, in_turn: InTurn) -> None:
        if in_turn.failure:
            self._say(str(in_turn.failure))
        elif in_turn.traces:
            self._say(_outcome(in_turn.traces))
        self.run_button.disabled, self.stop_button.disabled = False, True

    def _show(self, theater: Theater) -> None:
        before, self._stage.children = self._stage.children, (theater,)
        for widget in before:
            widget.close()


def _outcome(traces: tuple[Trace, ...]) -> str:
    if len(traces) == 1:
        return f"Done: {len(traces[0].tokens)} tokens."
    if len({trace.tokens for trace in traces}) == 1:
        return f"Done: all {len(traces)} methods wrote the same {len(traces[0].tokens)} tokens."
    return "Done: the runs have different lengths, since one was stopped."


def _pairs() -> list[str]:
    """Those that can be chosen here: a distilled draft only where it comes with the package."""
    return [name for name in PAIRS if name != "small" or shipped_draft(name)]


# -- looks -----------------------------------------------------------------------------------


def _explained(name: str, control: w.ValueWidget) -> w.VBox:
    """A control with its line of explanation below."""
    line = w.HTML(layout=w.Layout(margin="0 0 6px 98px"))

    def explain(_: object = None) -> None:
        says = SAYS[name]
        words = says if isinstance(says, str) else says[control.value]
        line.value = f'<span style="{_QUIET}">{escape(words)}</span>'

    control.observe(explain, names="value")
    explain()
    return w.VBox([control, line])


def _look(name: str) -> dict[str, Any]:
    return {
        "description": name.replace("max_new_tokens", "tokens"),
        "style": {"description_width": "90px"},
        "layout": w.Layout(width="auto"),
    }


_QUIET = "color:var(--jp-ui-font-color1,inherit);font-size:12px;display:block;line-height:1.3"
_WRAPPED = w.Layout(flex_flow="row wrap")
_METHOD = w.Layout(width="auto", margin="2px 16px 2px 2px")
_COLUMNS = w.Layout(grid_template_columns="repeat(auto-fill, minmax(340px, 1fr))")
