"""The progress of long work on the terminal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress as Bar

from bemps.types import Progress

if TYPE_CHECKING:
    from bemps.project import Project

BETWEEN_LINES = 30.0  # seconds, in a log


@contextmanager
def shown(console: Console, project: "Project") -> Iterator[None]:
    """Show the progress while vectors of a project are computed."""
    with reported(console) as progress:
        project.progress = progress
        yield


@contextmanager
def reported(console: Console) -> Iterator[Progress]:
    """Show progress: in one line on a terminal, elsewhere as a line from time to time."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with console.status("reading") as status:
        yield lambda task, done, total: status.update(f"{task}: {done:,} of {total:,}")


class _Lines:
    """Prints a line where a task begins and, as long as it goes on, each half minute: a log stays short."""

    def __init__(self, console: Console) -> None:
        self._console, self._next = console, dict[str, float]()

    def __call__(self, task: str, done: int, total: int) -> None:
        now = monotonic()
        if now >= self._next.get(task, now):
            self._next[task] = now + BETWEEN_LINES
            self._console.print(f"{task}: {done:,} of {total:,}", highlight=False, markup=False)


def print_broken(console: Console, broken: Iterable[str]) -> None:
    """Name the images that stand in the predictions without a class."""
    names = sorted(broken)
    if names:
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        words = f"{len(names):,} image{'s' * (len(names) > 1)} cannot be decoded; the predictions have no class there"
        console.print(f"{words}: {', '.join(names[:5])}{more}", highlight=False, markup=False)


class ShownProgress:
    """A `Watcher` on the terminal: one bar, and the notes above it."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def stage(self, name: str, total: int) -> None:
        """Start a new bar with a name and a number of steps."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total)

    def progress(self, done: int) -> None:
        """Show how many steps are done."""
        self._bar.update(self._task, completed=done)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)
