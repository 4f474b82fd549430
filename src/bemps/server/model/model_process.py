"""The model's process as the server sees it: started, asked, heard, and started again when it dies.

Training never runs in the server itself, so no key waits for it. Messages are lines of JSON both ways.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bemps._utils.child_processes import SAFE_PATH
from bemps.server.model.messages import (
    REPORTS,
    Ask,
    Failure,
    Learn,
    Look,
    Looked,
    Message,
    NotLearnt,
    OpenProject,
    Ranking,
    decode,
    encode,
    names_a_message,
)

LONGEST_LINE = 64 * 2**20
WAITS = (2.0, 5.0, 15.0, 60.0)  # seconds before it is started again
AGAIN = 5.0  # seconds until it may try again to learn what it could not
LAST_WORDS = 10_000  # bytes of its standard error
MOST_LOOKS = 20  # that wait at once: nobody can make it do nothing else
LOG = logging.getLogger("bemps.server")
Heard = Callable[[Message], None]


class Background:
    """heard is called on the event loop with every message but the answers to `look`."""

    def __init__(self, where: str, heard: Heard) -> None:
        self._where, self._heard = where, heard
        self._process: asyncio.subprocess.Process | None = None
        self._life: asyncio.Task[None] | None = None
        self._last_words = b""
        self._rest: asyncio.TimerHandle | None = None
        self._looks: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._calls = 0
        self.failures = 0
        self.busy = False

    def start(self) -> None:
        """Start the task that runs the process of the model."""
        self._life = asyncio.create_task(self._live())

    @property
    def pid(self) -> int | None:
        """The process id of the model, or None while no process runs."""
        return None if self._process is None else self._process.pid

    def learn(self, n: int) -> bool:
        """Fit to what is in the store and rank n items; False while it is still at the last one."""
        if self.busy or not self._send(Learn(n)):
            return False
        self.busy = True
        return True

    async def look(self, item: str, patience: float = 10.0) -> dict[str, Any] | None:
        """Return what the model thinks of one item, or None if it has no time."""
        return await self._call(lambda call: Look(item, call), patience)

    async def ask(
        self, task: str, patience: float, *, items: Sequence[str] = (), label: str = "", n: int = 0
    ) -> dict[str, Any] | None:
        """Ask for a task of `bemps.server.review.model_tasks`.

        Parameters
        ----------
        task : str
            The name of the task.
        patience : float
            The seconds to wait.
        items, label, n
            What the task is about, as in `Ask`.

        Returns
        -------
        dict or None
            The answer. None if the model has no time.
        """
        return await self._call(lambda call: Ask(task, call, list(items), label, n), patience)

    async def _call(self, message: Callable[[int], Message], patience: float) -> dict[str, Any] | None:
        if len(self._looks) >= MOST_LOOKS:
            return None
        self._calls += 1
        call, answer = self._calls, asyncio.get_running_loop().create_future()
        if not self._send(message(call)):
            return None
        self._looks[call] = answer
        try:
            return await asyncio.wait_for(answer, patience)
        except TimeoutError:
            return None
        finally:
            self._looks.pop(call, None)

    async def stop(self) -> None:
        """End the task and wait until it has ended."""
        if self._life is not None:
            if not self._life.cancelling():  # once: a second time would end it before its process has ended
                self._life.cancel()
            await asyncio.wait([self._life])  # its cancellation ends there, that of the caller does not

    async def restart(self) -> None:
        """End the process of the model and start another one, which reads the settings anew."""
        await self.stop()
        self.busy, self.failures = False, 0
        self.start()

    def _send(self, message: Message) -> bool:
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None or process.stdin.is_closing():
            return False
        process.stdin.write(encode(message).encode() + b"\n")
        return True

    async def _live(self) -> None:
        """Start it, listen until it ends, start it again: later after every failure in a row."""
        while True:
            try:
                await self._once()
                reason = self._last_line() or f"it ended with code {self._process and self._process.returncode}"
            except Exception as error:  # whatever it is, the model must not stay away unseen
                LOG.exception("the model's process")
                reason = f"{type(error).__name__}: {error}"
            self.busy = False
            wait = WAITS[min(self.failures, len(WAITS) - 1)]
            self.failures += 1
            self._heard(Failure(reason))
            await asyncio.sleep(wait)

    async def _once(self) -> None:
        pipe = asyncio.subprocess.PIPE
        quiet = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bemps.server.model.model_worker"),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            env=quiet | SAFE_PATH,
        )
        self._last_words = b""
        self._send(OpenProject(self._where))  # not as an argument: an address may hold a password
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(self._remember(process.stderr))
        try:
            async for line in process.stdout:
                self._take(line)
            await process.wait()
            await errors
        finally:
            errors.cancel()
            if self._rest is not None:  # the next process may be at work by then
                self._rest.cancel()
            await _end(process)
            for answer in self._looks.values():
                if not answer.done():
                    answer.set_result({})

    async def _remember(self, stream: asyncio.StreamReader) -> None:
        """Keep the end of what it wrote: in pieces, as a line may be of any length."""
        while piece := await stream.read(2**16):
            self._last_words = (self._last_words + piece)[-LAST_WORDS:]

    def _last_line(self) -> str:
        lines = self._last_words.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _take(self, line: bytes) -> None:
        """Pass a message on; a library's own output is passed over, a message that is malformed ends the process."""
        if not names_a_message(line):
            LOG.warning("the model's process wrote what is no message: %.200r", line)
            return
        message = decode(line, REPORTS)
        if isinstance(message, Looked):
            self._answer(message)
            return
        if isinstance(message, Ranking):
            self.busy, self.failures = False, 0
        elif isinstance(message, NotLearnt):  # it may be asked again, though not at once
            self._rest = asyncio.get_running_loop().call_later(AGAIN, self._rested)
        self._heard(message)

    def _answer(self, message: Looked) -> None:
        if message.failure:
            LOG.warning("the model could not answer about %.100r: %s", message.about.get("item"), message.failure)
        answer = self._looks.get(message.call)
        if answer is not None and not answer.done():
            answer.set_result(message.about)

    def _rested(self) -> None:
        self.busy = False


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
