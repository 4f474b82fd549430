"""The model's process as the server sees it: started, asked, heard, and started again when it dies.

Training never runs in the server itself, so no key waits for it. Messages are lines of JSON both ways.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from bemps._processes import SAFE_PATH

LONGEST_LINE = 64 * 2**20
WAITS = (2.0, 5.0, 15.0, 60.0)  # seconds before it is started again
Heard = Callable[[dict[str, Any]], None]


class Background:
    """heard is called on the event loop with every message: state, ranking, look."""

    def __init__(self, where: str, heard: Heard) -> None:
        self._where, self._heard = where, heard
        self._process: asyncio.subprocess.Process | None = None
        self._life: asyncio.Task[None] | None = None
        self._last_words: deque[str] = deque(maxlen=20)
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
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

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
            except OSError as error:  # no memory or no file handle for another process
                self._last_words.append(str(error))
            self.busy = False
            words = (
                self._last_words[-1]
                if self._last_words
                else f"it ended with code {self._process and self._process.returncode}"
            )
            wait = WAITS[min(self.failures, len(WAITS) - 1)]
            self.failures += 1
            self._heard({"is": "failure", "text": words, "wait": wait})
            await asyncio.sleep(wait)

    async def _once(self) -> None:
        pipe = asyncio.subprocess.PIPE
        quiet = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bemps.serve.worker"),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            env=quiet | SAFE_PATH,
        )
        self._last_words.clear()
        self._send({"project": self._where})  # not as an argument: an address may hold a password
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        errors = asyncio.create_task(self._remember(self._process.stderr))
        async for line in self._process.stdout:
            self._take(json.loads(line))
        await self._process.wait()
        await errors

    async def _remember(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            text = line.decode(errors="replace").strip()
            if text:
                self._last_words.append(text)

    def _take(self, message: dict[str, Any]) -> None:
        if message["is"] == "look":
            answer = self._looks.get(message["call"])
            if answer is not None and not answer.done():
                answer.set_result(message)
            return
        if message["is"] in ("ranking", "nothing"):
            self.busy, self.failures = False, 0
        self._heard(message)
