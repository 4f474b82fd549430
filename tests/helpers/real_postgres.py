"""A real PostgreSQL server for tests: Debian's binaries, a temporary folder, a unix socket, no network."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

USER = "postgres"  # the server refuses to run as root
QUICK = ("-c", "fsync=off", "-c", "max_connections=200")  # processes are killed here, machines are not


def binaries() -> Path | None:
    """The newest installed release."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def required(reason: str) -> None:
    """Skip where something is not installed; fail where everything has to be."""
    if os.environ.get("BEMPS_REQUIRE_ALL") == "1":
        pytest.fail(f"BEMPS_REQUIRE_ALL=1, but {reason}")
    pytest.skip(reason)


class Server:
    """A server in a folder of its own; `url` is its address, `&project=name` added makes a project of one's own."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.url = f"postgresql+psycopg://bemps@/postgres?host={folder}"
        self._binaries, self._folder = binaries, folder
        self._user = USER if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        initdb = [binaries / "initdb", "-D", folder / "data", "-U", "bemps", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(initdb, user=self._user, cwd=folder, check=True, capture_output=True)
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers. After a kill its children may need a moment to go."""
        command = [self._binaries / "postgres", "-D", self._folder / "data", "-k", self._folder, *QUICK]
        for _ in range(600):
            with (self._folder / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    [*command, "-c", "listen_addresses="], user=self._user, cwd=self._folder, stdout=log, stderr=log
                )
            if self._answers():
                return
            time.sleep(0.1)
        raise RuntimeError((self._folder / "log").read_text())

    def stop(self, how: str = "SIGQUIT") -> None:
        """At once: nobody needs a checkpoint."""
        self._process.send_signal(signal.Signals[how])
        self._process.wait(60)

    def _answers(self) -> bool:
        while self._process.poll() is None:
            try:
                psycopg.connect(host=str(self._folder), user="bemps", dbname="postgres").close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.1)
        return False


@contextmanager
def server() -> Iterator[Server]:
    """A server that is there for the context."""
    place = binaries()
    if place is None:
        required("PostgreSQL is not installed: apt install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        running = Server(place, folder)
        try:
            yield running
        finally:
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the server's last words may still be on their way
