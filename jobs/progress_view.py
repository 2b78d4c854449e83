"""Show how a sweep goes: a bar on a terminal, else a plain line every ten seconds.

All of it goes to standard error, so that a sweep's tables can be piped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.text import Text

from cluster.progress import Progress
from jobs.counts import duration, verdicts_in_words

LINE_SECONDS = 10.0

ShowProgress = Callable[[Progress], None]


@contextlib.contextmanager
def progress_view(console: Console) -> Iterator[ShowProgress]:
    """Yield what takes the driver's reports, and tidy up after the last one."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with _Bar(console) as bar:
        yield bar.show


class _Lines:
    """Plain lines, at most one in `LINE_SECONDS` but always the last."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._due = float("-inf")
        self._shown = -1

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        is_last = progress.decided == progress.planned
        if progress.decided != self._shown and (now >= self._due or is_last):
            self._due, self._shown = now + LINE_SECONDS, progress.decided
            line = f"{_place(progress)}; in all {verdicts_in_words(progress.outcomes)}"
            self._console.out(line, highlight=False)


class _Bar(RichProgress):
    """A bar, and the counts in a line below it."""

    def __init__(self, console: Console) -> None:
        self._counts = ""  # the base class asks for the renderables at once
        super().__init__(
            BarColumn(bar_width=None),
            TextColumn("{task.description}"),
            console=console,
            expand=True,
            transient=True,
        )
        self._task = self.add_task("starting", total=None)

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar and the counts."""
        yield self.make_tasks_table(self.tasks)
        yield Text(self._counts, style="dim")

    def show(self, progress: Progress) -> None:
        """Take a report of the driver."""
        self._counts = verdicts_in_words(progress.outcomes)
        if progress.retrying:
            self._counts += f", {progress.retrying} to be tried again"
        self.update(
            self._task,
            total=progress.planned,
            completed=progress.decided,
            description=_place(progress),
        )


def _place(progress: Progress) -> str:
    """Such as `57/141 graded now, 1.3/s, 1:04 left`."""
    parts = [f"{progress.decided}/{progress.planned} graded now"]
    if progress.rate is not None and progress.eta_seconds is not None:
        parts += [f"{progress.rate:.1f}/s", f"{duration(progress.eta_seconds)} left"]
    return ", ".join(parts)
