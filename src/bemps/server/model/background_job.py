"""A job in a process of its own, as the process of the model sees it."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO

from bemps._utils.child_processes import SAFE_PATH
from bemps.server.model.messages import (
    JOB_REPORTS,
    JobEnded,
    JobFailed,
    Message,
    StartJob,
    decode,
    encode,
    names_a_message,
)

LAST_WORDS = 2_000  # bytes of its standard error


class BackgroundJob:
    """A process that works for the model; it starts at once.

    Its messages are passed to `tell` from a thread. Its end is always reported, also when it is killed.

    Parameters
    ----------
    where : str
        The file of the project, or its address in a database server.
    task : {'read', 'adapt'}
        The work; see `bemps.server.model.job_worker`.
    tell : callable
        A function that is called with `JobProgress`, and last with `JobEnded` or `JobFailed`.
    """

    def __init__(self, where: str, task: str, tell: Callable[[Message], None]) -> None:
        self.task, self._tell = task, tell
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed when the process has ended
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bemps.server.model.job_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | SAFE_PATH,
            text=True,
            encoding="utf-8",
        )
        assert self.process.stdin is not None
        self.process.stdin.write(encode(StartJob(where, task)) + "\n")
        self.process.stdin.flush()  # it stays open: the job ends when it closes, with this process
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Pass on what it says; the last message is that it has ended, one way or the other."""
        assert self.process.stdout is not None
        last: Message = JobFailed("")
        for line in self.process.stdout:
            if names_a_message(line):
                last = decode(line, JOB_REPORTS)
                if not isinstance(last, JobEnded):
                    self._tell(last)
        code = self.process.wait()
        failure = JobFailed(_last_line(self._errors) or f"it ended with code {code}")
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream is not None:
                stream.close()
        self._tell(last if isinstance(last, JobEnded) and code == 0 else failure)


def _last_line(errors: IO[bytes]) -> str:
    size = errors.seek(0, 2)
    errors.seek(max(0, size - LAST_WORDS))
    lines = errors.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
