"""Reports of progress, for the command line, runs and clusters."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable


@runtime_checkable
class Watcher(Protocol):
    """An object that receives reports of progress. It is called from a thread of its own."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins, with `total` steps."""
        ...

    def progress(self, done: int) -> None:
        """`done` steps of the stage are done."""
        ...

    def note(self, text: str) -> None:
        """Show a message."""
        ...


class Silent:
    """A watcher that ignores all reports."""

    def stage(self, name: str, total: int) -> None:
        """Ignore it."""

    def progress(self, done: int) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


@contextmanager
def run_periodically(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `work` every `seconds` seconds, in a thread of its own, until the block ends."""
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
