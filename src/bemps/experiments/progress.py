"""How far a run is, read off its journals: workers need not report, and a resumed run knows at once."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

POLL_SECONDS = 0.5


@runtime_checkable
class Watcher(Protocol):
    """Who is told how a run goes; called from a thread of its own."""

    def stage(self, name: str, total: int) -> None:
        """Something begins that has `total` steps."""
        ...

    def progress(self, done: int) -> None:
        """So many steps of it are done."""
        ...

    def note(self, text: str) -> None:
        """Something worth knowing."""
        ...


class Silent:
    """Nobody watches."""

    def stage(self, name: str, total: int) -> None:
        """Said to nobody."""

    def progress(self, done: int) -> None:
        """Said to nobody."""

    def note(self, text: str) -> None:
        """Said to nobody."""


class Rounds:
    """Counts the rounds in journals, reading only those that have grown."""

    def __init__(self, journals: Sequence[Path]) -> None:
        self._journals = journals
        self._known: dict[Path, tuple[int, int]] = {}

    def count(self) -> int:
        return sum(self._rounds(path) for path in self._journals)

    def _rounds(self, path: Path) -> int:
        try:
            size = path.stat().st_size
            if self._known.get(path, (-1, 0))[0] != size:
                self._known[path] = size, max(0, path.read_bytes().count(b"\n") - 1)  # the first line is the key
        except FileNotFoundError:
            return 0
        return self._known[path][1]


@contextmanager
def polled(rounds: Rounds, watcher: Watcher) -> Iterator[None]:
    """Tell the watcher now and then until the block is left, and once more at its end."""

    def tell() -> None:
        watcher.progress(rounds.count())

    tell()
    try:
        with now_and_then(tell, POLL_SECONDS):
            yield
    finally:
        tell()


@contextmanager
def now_and_then(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Work every so many seconds, in a thread of its own, until the block is left."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            work()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
