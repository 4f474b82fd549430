"""The progress of a run, read from its journals. Workers need not report, and a resumed run knows it at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bemps._utils.watchers import Watcher, run_periodically

POLL_SECONDS = 0.5


class RoundCounter:
    """Counts the rounds in journals. It reads only those that have grown."""

    def __init__(self, journals: Sequence[Path]) -> None:
        self._journals = journals
        self._known: dict[Path, tuple[int, int]] = {}

    def count(self) -> int:
        """Return the number of rounds."""
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
def progress_reports(rounds: RoundCounter, watcher: Watcher) -> Iterator[None]:
    """Report the progress to the watcher while the block runs, and once more at its end."""

    def tell() -> None:
        watcher.progress(rounds.count())

    tell()
    try:
        with run_periodically(tell, POLL_SECONDS):
            yield
    finally:
        tell()
