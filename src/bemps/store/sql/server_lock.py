"""The lock of an SQLite project for one server. The system releases it when the process ends, however it ends."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from bemps._utils.files import locked
from bemps.errors import InputError
from bemps.store.sql.database_errors import NotSaved

LONGEST = 10_000  # characters of a signature


class AlreadyServed(InputError):
    """The error if another server has the project. `url` is its address, on the machine `machine`."""

    def __init__(self, project: Path, holder: dict[str, object]) -> None:
        self.url, self.machine = str(holder.get("url", "")), str(holder.get("machine", ""))
        words = f"process {holder.get('process')} on {self.machine}, {self.url}, since {holder.get('since')}"
        super().__init__(
            f"project {project}",
            expected="no other server on it",
            got=f"one that is running: {words if holder else 'unknown'}",
            fix="Use that one, stop it first, or serve a team from PostgreSQL with --store.",
        )


@contextmanager
def server_lock(project: Path, url: str) -> Iterator[None]:
    """Lock the project for one server. The error of a second server names the first."""
    path = project.resolve()
    path = path.with_name(path.name + ".lock")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(locked(path, wait=False))
            _sign(file, url)
        except BlockingIOError as error:
            raise AlreadyServed(project, _signature(path)) from error
        except OSError as error:
            got = error.strerror or str(error)
            fix = "Check the folder's rights and space; the lock must be a file, not a link."
            raise NotSaved(str(path), expected="to lock the project", got=got, fix=fix) from error
        yield


def _sign(file: IO[bytes], url: str) -> None:
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"process": os.getpid(), "machine": socket.gethostname(), "url": url, "since": since}
    file.truncate(0)
    file.write(json.dumps(holder).encode())


def _signature(path: Path) -> dict[str, object]:
    """Who holds a lock, as far as it is readable."""
    try:
        holder = json.loads(path.read_bytes()[:LONGEST])
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}
