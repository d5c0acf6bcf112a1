"""The progress bar of long work: how far, how long still, and the newest figures beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)


class WorkBar:
    """What the work under way tells; made by :func:`work_bar`."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, completed: int, note: str) -> None:
        """Moves the bar; ``note`` stands beside it."""
        self._progress.update(self._task, completed=completed, note=note)

    def keep(self, line: str) -> None:
        """Prints a line where the output is kept and no bar is seen: in a file or a pipe."""
        console = self._progress.console
        if not (console.is_terminal or console.is_jupyter):
            print(line, flush=True)


@contextmanager
def work_bar(description: str, *, total: int | None, completed: int = 0) -> Iterator[WorkBar]:
    """A bar on screen while the block runs; in a notebook it is one output that changes in place."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns) as progress:
        task = progress.add_task(description, total=total, completed=completed, note="")
        yield WorkBar(progress, task)
        # A notebook shows what was drawn last, and nothing is drawn when the block ends.
        progress.refresh()
