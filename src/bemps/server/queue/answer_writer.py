"""One writer: all writing goes through one thread, and answers that wait are saved in one durable step together.

Fifty people then wait for one commit, not for fifty; nobody is told "saved" before the commit is over.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from bemps.errors import InputError
from bemps.store import Event, NewAnswer, Store
from bemps.store.sql.database_errors import NotSaved

Result = TypeVar("Result")
MOST_TOGETHER = 16  # more at once would also be answered at once, and all ask for the next item at once


class AnswerWriter:
    """Belongs to one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bemps-writer")
        self._waiting: deque[tuple[NewAnswer, asyncio.Future[Event]]] = deque()
        self._busy: asyncio.Task[None] | None = None

    async def save(self, answer: NewAnswer) -> Event:
        """Record an answer; returns when it is durable."""
        waiting: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._waiting.append((answer, waiting))
        if self._busy is None or self._busy.done():
            self._busy = asyncio.create_task(self._work())
        return await waiting

    async def run(self, write: Callable[[], Result]) -> Result:
        """Run any other function that writes, in turn with the answers."""
        in_words_of_page = copy_context().run  # as `asyncio.to_thread` does it
        return await asyncio.get_running_loop().run_in_executor(self._thread, in_words_of_page, write)

    async def _work(self) -> None:
        while self._waiting:
            together = [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]
            outcomes = await self.run(lambda batch=together: self._record([answer for answer, _ in batch]))  # type: ignore[misc]
            for (_, waiting), outcome in zip(together, outcomes, strict=True):
                if waiting.cancelled():
                    continue
                if isinstance(outcome, Event):
                    waiting.set_result(outcome)
                else:
                    waiting.set_exception(outcome)

    def _record(self, answers: list[NewAnswer]) -> list[Event | Exception]:
        """All in one step; where an answer is refused, each for itself, so that the others are not."""
        try:
            return [*self._store.record(answers)]
        except NotSaved as failure:
            return [failure] * len(answers)
        except InputError:
            return [self._alone(answer) for answer in answers]
        except Exception as failure:  # noqa: BLE001 -- handed to everybody who waits
            return [failure] * len(answers)

    def _alone(self, answer: NewAnswer) -> Event | Exception:
        try:
            return self._store.record([answer])[0]
        except Exception as failure:  # noqa: BLE001 -- handed to the one who waits
            return failure

    def close(self) -> None:
        """Finish the writing that was begun."""
        self._thread.shutdown(wait=True)
