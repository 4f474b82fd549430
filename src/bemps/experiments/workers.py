"""Tasks in parallel processes of one thread each. A task that fails, or ends its process, stops no other."""

import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from bemps._utils.child_processes import safe_path
from bemps._utils.extras import optional_import
from bemps.experiments.run_errors import CannotWrite, Orphaned

THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
DIED = "The worker process died, twice: it was killed, or memory ran out. Use fewer --jobs or a smaller --max-pool."
WATCH_SECONDS = 0.5
_parent: list[int] = []  # in a worker: the process that started it


@dataclass(frozen=True)
class Task:
    """A task: `work(*arguments)`, which returns notes for the user.

    Attributes
    ----------
    key : dict of str to object
        The name of the task in reports.
    work : callable
        The function.
    arguments : tuple
        Its arguments.
    """

    key: dict[str, Any]
    work: Callable[..., list[str]]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of a task.

    Attributes
    ----------
    task : Task
        The task.
    notes : list of str
        Its notes for the user.
    failure : str, optional
        The traceback, if it failed.
    """

    task: Task
    notes: list[str]
    failure: str | None = None


@runtime_checkable
class Executor(Protocol):
    """An object that runs tasks, for instance `bemps.distributed.RayCells`."""

    def run(self, tasks: Sequence[Task]) -> Generator[TaskOutcome, None, None]:
        """Yield the outcome of each task. A task that fails stops no other. Closing the generator ends the tasks."""
        ...


def run_tasks(tasks: Sequence[Task], jobs: int | Executor) -> Generator[TaskOutcome, None, None]:
    """Yield the outcome of each task. One job runs in this process. Closing the generator ends the workers."""
    if isinstance(jobs, Executor):
        return jobs.run(tasks)
    if jobs == 1 or not tasks:
        return (run_task(task) for task in tasks)
    return _in_processes(list(tasks), jobs)


def run_task(task: Task) -> TaskOutcome:
    """Run a task. An exception is its failure, unless nothing can be written any more."""
    try:
        return TaskOutcome(task, task.work(*task.arguments))
    except (CannotWrite, Orphaned):
        raise
    except Exception:  # noqa: BLE001  reported at the end of the run, with its traceback
        return TaskOutcome(task, [], traceback.format_exc())


def check_parent() -> None:
    """End a worker whose run was killed, before it writes."""
    if _parent and os.getppid() != _parent[0]:
        raise Orphaned("The run that started this worker has ended.")


def _begin(parent: int) -> None:
    """Ctrl-C is for the run, which then ends its workers; a run that was killed cannot, so they look after it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _parent[:] = [parent]
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Leave at once when the run is gone: journals are safe at any moment, and nobody waits for this process."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _in_processes(left: list[Task], jobs: int) -> Generator[TaskOutcome, None, None]:
    """A process that dies takes the pool with it: what was under way is tried again alone, one at a time."""
    with safe_path():  # of the workers, and of the process that clears up after them
        while left:
            suspects, left = yield from _pooled(left, jobs)
            for suspect in suspects:
                died, _ = yield from _pooled([suspect], 1)
                if died:
                    yield TaskOutcome(suspect, [], DIED)


def _pooled(tasks: list[Task], jobs: int) -> Generator[TaskOutcome, None, tuple[list[Task], list[Task]]]:
    """Runs tasks in one pool; returns those under way when it broke, and those not begun."""
    loky = optional_import("joblib.externals.loky", "experiments", "running cells in parallel")
    pool = loky.ProcessPoolExecutor(
        min(jobs, len(tasks)),
        env={f"{name}_NUM_THREADS": "1" for name in THREADS},
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    waiting, running = deque(tasks), dict[Future[TaskOutcome], Task]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running[pool.submit(run_task, waiting[0])] = waiting[0]
                waiting.popleft()
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                result = future.result()
                del running[future]
                yield result
    except BrokenProcessPool:
        return list(running.values()), list(waiting)
    finally:
        pool.shutdown(wait=True, kill_workers=True)
    return [], []
