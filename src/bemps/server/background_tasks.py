"""Work that the event loop does beside the requests; what fails in it is logged."""

import asyncio
import logging
from collections.abc import Coroutine

LOG = logging.getLogger("bemps.server")


class BackgroundTasks:
    """Tasks that nobody waits for."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()  # the loop itself holds none of them

    def start(self, work: Coroutine[object, object, object]) -> None:
        """Start a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        """End all tasks."""
        for task in list(self._tasks):
            task.cancel()

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("in the background", exc_info=task.exception())
