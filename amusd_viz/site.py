"""The static site: the theater on recorded runs, for whoever has nothing installed.

    python -m amusd_viz.site FOLDER      (or: make site)

The index plays the first group of runs of one prompt; every group has a page of its own. All pages
are made like saved ones: each is one file that needs no server, no network and no other file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from amusd_viz.errors import SettingError
from amusd_viz.export.folder_command import into_folder
from amusd_viz.export.page import theater_page
from amusd_viz.lesson_pages import LessonPage, lesson_pages
from amusd_viz.metrics import measure
from amusd_viz.paths import recording, recordings
from amusd_viz.trace import Trace
from amusd_viz.views.tables import same_question, summary_table
from amusd_viz.words import run_names, visible

MOST_RUNS = 3
_METHODS = ("synchronous", "amusd", "autoregressive")
"""Order in which the runs of a group are chosen and shown."""

_INTRODUCTION = """
<header><h1>amusd_viz</h1>
<p>Asynchronous speculative decoding, moment by moment: a small <b>draft</b> model proposes tokens and
a large <b>target</b> model verifies them, each on its own device and at the same time (AMUSD,
<a href="https://arxiv.org/abs/2410.17375">arXiv 2410.17375</a>). Below is a recorded run, stopped at
the moment when the target has decided against the draft and the draft does not know yet. Press play,
or the right arrow key for the next moment.</p></header>
"""


@dataclass(frozen=True)
class Group:
    """Runs of one prompt that are shown together.

    Attributes:
        name: of its first recording; also the name of its page.
        traces: one to three runs.
    """

    name: str
    traces: tuple[Trace, ...]

    @property
    def title(self) -> str:
        """The prompt and the methods, on one line."""
        prompt = visible(self.traces[0].header.prompt, 80) or self.name
        return f"{prompt} ({', '.join(run_names(self.traces))})"


def build_site(
    folder: str | Path,
    runs: Mapping[str, Trace] | None = None,
    lessons: Mapping[str, LessonPage] | None = None,
) -> list[Path]:
    """Writes the site into a folder, which is made if need be, and returns the files written.

    Args:
        folder: files of the same names in it are replaced, others are left alone.
        runs: by name; by default the recordings that come with the package.
        lessons: further pages, by the name of their file.

    Raises:
        SettingError: there is no run to show, or the folder cannot be written.
    """
    if runs is None:
        runs = {name: recording(name) for name in recordings()}
    if not runs:
        raise SettingError("there are no recordings to build a site from; record a run first")
    groups = groups_of(runs)
    home = '<nav><a href="index.html">amusd_viz</a></nav>'
    pages = {f"{group.name}.html": _page(group, home, "") for group in groups}
    lessons = lessons or {}
    pages |= {name: page.html for name, page in lessons.items()}
    after = _contents(groups, runs) + _links(lessons)
    pages["index.html"] = _page(groups[0], _INTRODUCTION, after)
    return _write_all(Path(folder), pages, runs)


def groups_of(runs: Mapping[str, Trace]) -> list[Group]:
    """Runs of one prompt together, at most one of a method; measured and larger groups first."""
    sorted_runs: dict[tuple, dict[str, str]] = {}
    for name, trace in sorted(runs.items()):
        question = (trace.header.source, trace.header.pair, same_question(trace))
        sorted_runs.setdefault(question, {}).setdefault(trace.header.method, name)
    groups = []
    for by_method in sorted_runs.values():
        order = [m for m in _METHODS if m in by_method] + sorted(set(by_method) - set(_METHODS))
        names = [by_method[method] for method in order][:MOST_RUNS]
        groups.append(Group(names[0], tuple(runs[name] for name in names)))
    return sorted(groups, key=lambda g: (g.traces[0].header.source, -len(g.traces), g.name))


def _page(group: Group, before: str, after: str) -> str:
    figures = f"<h2>In figures</h2>{summary_table(*group.traces)._repr_html_()}"
    title = f"amusd_viz: {group.title}"
    return theater_page(
        group.traces, alone=False, title=title, before=before, after=figures + after
    )


def _contents(groups: Sequence[Group], runs: Iterable[str]) -> str:
    links = "".join(
        f'<li><a href="{quote(group.name)}.html">{escape(group.title)}</a>, '
        f"{sum(measure(t).rollbacks for t in group.traces)} rollbacks</li>"
        for group in groups
    )
    traces = "".join(
        f'<li><a href="traces/{quote(name)}.jsonl.gz" download>{escape(name)}</a></li>'
        for name in sorted(runs)
    )
    return (
        f"<h2>All recordings</h2><ul>{links}</ul>"
        f"<h2>Their traces</h2><ul>{traces}</ul><p>Drop one on any of these pages, or open it in a "
        "notebook (<code>pip install amusd-viz</code>).</p>"
    )


def _links(lessons: Mapping[str, LessonPage]) -> str:
    if not lessons:
        return ""
    items = "".join(
        f'<li><a href="{quote(name)}">{escape(page.title)}</a></li>'
        for name, page in lessons.items()
    )
    return f"<h2>Try it yourself</h2><ul>{items}</ul>"


def _write_all(folder: Path, pages: Mapping[str, str], runs: Mapping[str, Trace]) -> list[Path]:
    try:
        (folder / "traces").mkdir(parents=True, exist_ok=True)
        written = [folder / name for name in pages]
        for path, page in zip(written, pages.values(), strict=True):
            path.write_text(page, encoding="utf-8")
        return [*written, *(t.save(folder / "traces" / f"{n}.jsonl.gz") for n, t in runs.items())]
    except OSError as error:
        raise SettingError(f"{folder} cannot be written: {error.strerror or error}") from None


def main(arguments: Sequence[str]) -> int:
    """Builds the site into the one folder named; returns the exit code."""
    return into_folder(arguments, _whole_site, _report, usage="python -m amusd_viz.site FOLDER")


def _whole_site(folder: str) -> list[Path]:
    return build_site(folder, lessons=lesson_pages())


def _report(written: Sequence[Path]) -> str:
    index = next(path for path in written if path.name == "index.html")
    return f"{len(written)} files in {index.parent}; open {index}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
