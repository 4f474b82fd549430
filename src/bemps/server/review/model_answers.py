"""What panels have asked the model: computed once for each order of the model, and waited for only a while."""

import asyncio
from typing import Any

from bemps.server.model.model_process import Background
from bemps.server.model.model_status import ModelStatus
from bemps.server.queue import class_search
from bemps.server.queue.class_search import SIZE, SPARE

LONGEST = 300.0  # seconds that a task may take
PATIENCE = 2.0  # seconds that a panel waits before it says so
ITEM_PATIENCE = 3.0  # seconds that a panel waits for what the model thinks of an item


class ModelAnswers:
    """The last answer of each task, with the number of orders at that time; questions about items are asked anew."""

    def __init__(self, background: Background, status: ModelStatus) -> None:
        self._background, self._status = background, status
        self._answers: dict[str, tuple[int, dict[str, Any]]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._looking: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def get(self, task: str, patience: float = PATIENCE) -> dict[str, Any] | None:
        """Return the answer of a task: an earlier one while a new one is made, and None before there is any."""
        known = self._answers.get(task)
        if self._status.alive and (known is None or known[0] != self._status.orders):
            if task not in self._running:
                self._running[task] = asyncio.create_task(self._ask(task))
            if known is None:
                await asyncio.wait([self._running[task]], timeout=patience)
        return self._answers[task][1] if task in self._answers else None

    async def look(self, item: str) -> dict[str, object]:
        """Return what the model thinks of an item of the project; who asks again waits for the same answer."""
        if not self._status.alive:  # it would answer after it has read all items
            return {}
        if item not in self._looking:
            self._looking[item] = asyncio.create_task(self._look(item))
        done, _ = await asyncio.wait([self._looking[item]], timeout=ITEM_PATIENCE)
        return next((task.result() for task in done if not task.cancelled()), {})

    async def guess_words(self, item: str) -> dict[str, Any] | None:
        """Return the words of an item of the project that speak for the guess; None if the model has no time."""
        return await self._background.ask("guess-words", ITEM_PATIENCE, items=[item]) if self._status.alive else {}

    async def members(self, label: str) -> dict[str, Any] | None:
        """Return what the model takes for members of a class; None if it has no time."""
        return await self._background.ask("members", class_search.PATIENCE, label=label, n=SIZE + SPARE)

    def is_fresh(self, task: str) -> bool:
        """Whether the answer is that of the present order."""
        return task in self._answers and self._answers[task][0] == self._status.orders

    async def _ask(self, task: str) -> None:
        try:
            orders = self._status.orders
            answer = await self._background.ask(task, LONGEST)
            if answer and "item" not in answer:  # a failure names the task
                self._answers[task] = orders, answer
        finally:
            del self._running[task]

    async def _look(self, item: str) -> dict[str, Any]:
        try:
            return await self._background.look(item, LONGEST) or {}
        finally:
            del self._looking[item]

    async def stop(self) -> None:
        """End the tasks that still wait for an answer."""
        waiting = [*self._running.values(), *self._looking.values()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
