"""Results that are being made or are ready to be taken: each in a process and a folder of its own.

MOST_RUNNING large files are made at once, and as many small ones; others wait for their turn. A job can be cancelled at
any moment. Its folder goes when it is cancelled, fails, is older than KEPT_SECONDS, is pushed out by newer ones, or
when the server ends; what a killed server left behind goes when the next one makes a result.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bemps._utils.child_processes import SAFE_PATH
from bemps._utils.files import locked
from bemps.errors import InputError
from bemps.server.model.messages import decode, encode, names_a_message
from bemps.server.results.result_messages import STEPS, NotWritten, Step, WriteResult, Written
from bemps.server.results.result_names import ResultWish

PREFIX, OWNER = "bemps-results-", ".owner"
MOST_RUNNING = 2
SMALL = ("labels", "events", "report")  # nobody waits for them behind predictions of a large file
MOST_KEPT = 12
KEPT_SECONDS = 3_600.0
LOG = logging.getLogger("bemps.server")
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
UNFINISHED = (WAITING, RUNNING)


@dataclass(eq=False)
class Job:
    """A result that waits for its turn, is being made, is ready in its folder, or has failed.

    Attributes
    ----------
    id : str
        The id of the job.
    wish : ResultWish
        The result that a user asked for.
    project : str
        What the names of the project's files begin with.
    labels : int
        The number of labels when the job began to run.
    moment : datetime
        The time at which it began to run.
    name : str
        The name of the file.
    folder : Path
        The folder of the file.
    state : str
        Whether the job waits, runs, is done or has failed.
    task : str
        The present task, in words.
    done, total : int
        The progress of the task.
    file : Path or None
        The file, when it is ready.
    problem : str
        Why the job failed.
    started, ended : float
        Times of the monotonic clock.
    work : asyncio.Task or None
        The task that makes the result.
    """

    id: str
    wish: ResultWish
    project: str
    labels: int
    moment: datetime
    name: str
    folder: Path
    state: str = WAITING
    task: str = ""
    done: int = 0
    total: int = 0
    file: Path | None = None
    problem: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    work: "asyncio.Task[None] | None" = None

    @property
    def size(self) -> int:
        """The bytes of the file; 0 before it is there."""
        return self.file.stat().st_size if self.file is not None else 0


class ResultJobs:
    """The jobs of a project, all on one event loop."""

    def __init__(self, where: str, count_labels: Callable[[], int]) -> None:
        self._where = where
        self._count_labels = count_labels
        self._turns = {small: asyncio.Semaphore(MOST_RUNNING) for small in (False, True)}
        self._jobs: dict[str, Job] = {}
        self._root: Path | None = None
        self._lock = ExitStack()

    def start(self, wish: ResultWish, project: str) -> Job:
        """Start to make a result, or return the unfinished job that makes the same one.

        Parameters
        ----------
        wish : ResultWish
            The result to make.
        project : str
            What the names of the project's files begin with.

        Returns
        -------
        Job
            The job; it waits while others of its size are being made.
        """
        self._forget_old()
        for job in self._jobs.values():
            if job.state in UNFINISHED and job.wish == wish:
                return job
        id = secrets.token_hex(8)
        job = self._jobs[id] = Job(id, wish, project, 0, datetime.now(), "", self._folder(id))
        self._name(job)
        job.work = asyncio.create_task(self._make(job))
        return job

    def _name(self, job: Job) -> None:
        """Name a job's file by the labels and the time of now, as the clock of the people who read it."""
        job.labels, job.moment = self._count_labels(), datetime.now()
        names = {other.name for other in self._jobs.values() if other is not job}
        job.name = job.wish.file_name(job.project, job.labels, job.moment, names)

    def job(self, id: str) -> Job:
        """Return the job with an id; an unknown id is refused."""
        self._forget_old()
        if id not in self._jobs:
            raise InputError("id", expected="a result that is still here", got=id[:40], fix="Make it again.")
        return self._jobs[id]

    def listed(self) -> list[Job]:
        """Return all jobs, the newest first."""
        self._forget_old()
        return sorted(self._jobs.values(), key=lambda job: -job.started)

    async def cancel(self, id: str) -> None:
        """End a job, whatever it is doing, and remove what it has made."""
        job = self.job(id)
        del self._jobs[id]
        await _end(job)

    async def stop(self) -> None:
        """End all jobs and remove everything."""
        jobs, self._jobs = list(self._jobs.values()), {}
        await asyncio.gather(*map(_end, jobs))  # all at once: the turn of one would start another
        self._lock.close()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None

    def _forget_old(self) -> None:
        now = time.monotonic()
        over = sorted((job for job in self._jobs.values() if job.state not in UNFINISHED), key=lambda job: -job.ended)
        for rank, job in enumerate(over):
            if rank >= MOST_KEPT or now - job.ended > KEPT_SECONDS:
                del self._jobs[job.id]
                shutil.rmtree(job.folder, ignore_errors=True)

    def _folder(self, id: str) -> Path:
        if self._root is None:
            _clear_left()
            self._root = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock.enter_context(locked(self._root / OWNER))
        folder = self._root / id
        folder.mkdir()
        return folder

    async def _make(self, job: Job) -> None:
        try:
            async with self._turns[job.wish.what in SMALL]:
                job.state = RUNNING
                self._name(job)  # it may have waited for long
                await self._run(job)
        except Exception as error:  # whatever it is, the person who waits must read it
            LOG.exception("a result")
            job.problem = f"{type(error).__name__}: {error}"
        job.state, job.ended = (FAILED if job.problem else DONE), time.monotonic()
        if job.problem:
            shutil.rmtree(job.folder, ignore_errors=True)

    async def _run(self, job: Job) -> None:
        wish, pipe = job.wish, asyncio.subprocess.PIPE
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bemps.server.results.result_worker"),
            stdin=pipe,
            stdout=pipe,
            stderr=None,
            env=os.environ | threads | SAFE_PATH,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        order = WriteResult(
            self._where, str(job.folder), job.name, wish.what, wish.chosen_format, wish.resolved, wish.audit
        )
        try:
            process.stdin.write(encode(order).encode() + b"\n")  # not as an argument: an address may hold a password
            async for line in process.stdout:
                _take(job, line)
            await process.wait()
            if job.file is None and not job.problem:
                job.problem = f"The process that made it ended with code {process.returncode}."
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _take(job: Job, line: bytes) -> None:
    if not names_a_message(line):
        return
    message = decode(line, STEPS)
    if isinstance(message, Step):
        job.task, job.done, job.total = message.task, message.done, message.total
    elif isinstance(message, Written):
        job.file = job.folder / message.name
    elif isinstance(message, NotWritten):
        job.problem = message.text


async def _end(job: Job) -> None:
    if job.work is not None:
        job.work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job.work
    shutil.rmtree(job.folder, ignore_errors=True)


def _clear_left() -> None:
    """Remove what servers that were killed have left: nobody holds the lock of their folder."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # its server lives, or it belongs to somebody else
            if sys.platform == "win32" or folder.stat().st_uid == os.getuid():
                with locked(folder / OWNER, wait=False):
                    shutil.rmtree(folder, ignore_errors=True)
