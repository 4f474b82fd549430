"""The model's process as the server sees it: started, asked, heard, and started again when it dies.

Training never runs in the server itself, so no key waits for it. Messages are lines of JSON both ways.
"""

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from bemps._processes import SAFE_PATH

LONGEST_LINE = 64 * 2**20
WAITS = (2.0, 5.0, 15.0, 60.0)  # seconds before it is started again
AGAIN = 5.0  # seconds until it may try again to learn what it could not
LAST_WORDS = 10_000  # bytes of its standard error
MOST_LOOKS = 20  # that wait at once: nobody can make it do nothing else
LOG = logging.getLogger("bemps.serve")
Heard = Callable[[dict[str, Any]], None]


class Background:
    """heard is called on the event loop with every message: state, ranking, look."""

    def __init__(self, where: str, heard: Heard) -> None:
        self._where, self._heard = where, heard
        self._process: asyncio.subprocess.Process | None = None
        self._life: asyncio.Task[None] | None = None
        self._last_words = b""
        self._looks: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._calls = 0
        self.failures = 0
        self.busy = False

    def start(self) -> None:
        self._life = asyncio.create_task(self._live())

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def learn(self, n: int) -> bool:
        """Fit to what is in the store and rank n items; False while it is still at the last one."""
        if self.busy or not self._send({"do": "learn", "n": n}):
            return False
        self.busy = True
        return True

    async def look(self, item: str, patience: float = 10.0) -> dict[str, Any] | None:
        """What the model makes of one item; None where it has no time for it."""
        if len(self._looks) >= MOST_LOOKS:
            return None
        self._calls += 1
        call, answer = self._calls, asyncio.get_running_loop().create_future()
        if not self._send({"do": "look", "item": item, "call": call}):
            return None
        self._looks[call] = answer
        try:
            return await asyncio.wait_for(answer, patience)
        except TimeoutError:
            return None
        finally:
            self._looks.pop(call, None)

    async def stop(self) -> None:
        if self._life is not None:
            self._life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._life

    def _send(self, message: dict[str, Any]) -> bool:
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None or process.stdin.is_closing():
            return False
        process.stdin.write(json.dumps(message).encode() + b"\n")
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
            self._heard({"is": "failure", "text": reason, "wait": wait})
            await asyncio.sleep(wait)

    async def _once(self) -> None:
        pipe = asyncio.subprocess.PIPE
        quiet = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bemps.serve.worker"),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            env=quiet | SAFE_PATH,
        )
        self._last_words = b""
        self._send({"project": self._where})  # not as an argument: an address may hold a password
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
        """Pass a message on; what is none, such as a library's own output, is passed over."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("is"), str):
            LOG.warning("the model's process wrote what is no message: %.200r", line)
            return
        if message["is"] == "look":
            self._answer(message)
            return
        if message["is"] == "ranking":
            self.busy, self.failures = False, 0
        elif message["is"] == "nothing":  # it could not learn, and may be asked again, though not at once
            asyncio.get_running_loop().call_later(AGAIN, self._rested)
        self._heard(message)

    def _answer(self, message: dict[str, Any]) -> None:
        if "failure" in message:
            LOG.warning("the model could not look at item %.100r: %s", message.get("item"), message.pop("failure"))
        answer = self._looks.get(message.get("call", 0))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _rested(self) -> None:
        self.busy = False


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
