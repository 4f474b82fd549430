"""One server for an SQLite project: a lock that the system gives back when the process ends, however it ends."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from bemps.errors import InputError
from bemps.store.failures import NotSaved


@contextmanager
def only_server(project: Path, about: str) -> Iterator[None]:
    """Hold the project as its one server; the second is told who the first is."""
    path = project.resolve()
    path = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _not_locked(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _taken(project, os.pread(descriptor, 1_000, 0).decode(errors="replace")) from error
        _sign(path, descriptor, about)
        yield
    finally:
        os.close(descriptor)


def _sign(path: Path, descriptor: int, about: str) -> None:
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    signature = f"process {os.getpid()} on {socket.gethostname()}, {about}, since {since}"
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, signature.encode(), 0)
    except OSError as error:
        raise _not_locked(path, error) from error


def _not_locked(path: Path, error: OSError) -> NotSaved:
    got = error.strerror or str(error)
    return NotSaved(str(path), expected="to lock the project", got=got, fix="Check the folder's rights and space.")


def _taken(project: Path, holder: str) -> InputError:
    return InputError(
        f"project {project}",
        expected="no other server on it",
        got=f"one that is running: {holder or 'unknown'}",
        fix="Use that one, stop it first, or serve a team from PostgreSQL with --store.",
    )
