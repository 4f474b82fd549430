"""Lock files, which the system releases when a process ends, on Linux, macOS and Windows."""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[IO[bytes]]:
    """Hold a lock file. The system releases it when the process ends, however it ends.

    Parameters
    ----------
    path : Path
        The lock file. It is made if there is none.
    wait : bool
        Whether to wait for another process that holds it.

    Raises
    ------
    BlockingIOError
        Another process holds it and `wait` is false. On Windows waiting also ends so, after ten seconds.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file, locking(file, wait=wait):
        yield file


@contextmanager
def locking(file: IO[bytes], *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file that is open; as `locked`."""
    _lock(file, wait)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            _unlock(file)


if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 2**31 - 2  # beyond what is written, so that others can read the file; the last that can be locked

    def _lock(file: IO[bytes], wait: bool) -> None:
        file.seek(LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "held by another process") from error
        file.seek(0)

    def _unlock(file: IO[bytes]) -> None:
        file.seek(LOCKED_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes], wait: bool) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
