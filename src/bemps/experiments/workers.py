"""Tasks side by side in processes of one thread each; a task that fails, or takes its process down, stops no other."""

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

from bemps._processes import safe_path
from bemps.experiments.failures import CannotWrite, Orphaned, needed

THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
DIED = "The worker process died, twice: it was killed, or memory ran out. Use fewer --jobs or a smaller --max-pool."
WATCH_SECONDS = 0.5
_parent: list[int] = []  # in a worker: the process that started it


@dataclass(frozen=True)
class Task:
    """`work(*arguments)` returns sentences for the user; `key` names the task in reports."""

    key: dict[str, Any]
    work: Callable[..., list[str]]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Done:
    """A task that is over: what it told, and the traceback if it failed."""

    task: Task
    told: list[str]
    failure: str | None = None


@runtime_checkable
class Executor(Protocol):
    """Who runs tasks elsewhere, for instance `bemps.distributed.RayCells`."""

    def run(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Each task as it is done; a task that fails stops no other. Close it to end what is under way."""
        ...


def run_tasks(tasks: Sequence[Task], jobs: int | Executor) -> Generator[Done, None, None]:
    """Each task as it is done; one job runs here, in this process. Close it to end the workers."""
    if isinstance(jobs, Executor):
        return jobs.run(tasks)
    if jobs == 1 or not tasks:
        return (attempted(task) for task in tasks)
    return _in_processes(list(tasks), jobs)


def attempted(task: Task) -> Done:
    """Run a task; whatever it raises is its own failure, unless nothing can be written any more."""
    try:
        return Done(task, task.work(*task.arguments))
    except (CannotWrite, Orphaned):
        raise
    except Exception:  # noqa: BLE001  reported at the end of the run, with its traceback
        return Done(task, [], traceback.format_exc())


def check_parent() -> None:
    """A worker whose run was killed ends instead of writing on."""
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


def _in_processes(left: list[Task], jobs: int) -> Generator[Done, None, None]:
    """A process that dies takes the pool with it: what was under way is tried again alone, one at a time."""
    with safe_path():  # of the workers, and of the process that clears up after them
        while left:
            suspects, left = yield from _pooled(left, jobs)
            for suspect in suspects:
                died, _ = yield from _pooled([suspect], 1)
                if died:
                    yield Done(suspect, [], DIED)


def _pooled(tasks: list[Task], jobs: int) -> Generator[Done, None, tuple[list[Task], list[Task]]]:
    """Runs tasks in one pool; returns those under way when it broke, and those not begun."""
    loky = needed("joblib.externals.loky", "running cells in parallel")
    pool = loky.ProcessPoolExecutor(
        min(jobs, len(tasks)),
        env={f"{name}_NUM_THREADS": "1" for name in THREADS},
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    waiting, running = deque(tasks), dict[Future[Done], Task]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running[pool.submit(attempted, waiting[0])] = waiting[0]
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
