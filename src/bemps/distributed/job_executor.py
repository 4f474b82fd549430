"""Executors of many small jobs, few at a time: in this process, or as Ray tasks that survive the loss of a node."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from bemps.distributed.cluster import Resources
from bemps.errors import BempsError, InputError

RETRIES = 3  # of a task whose process or node died
TASKS_PER_SLOT = 2  # tasks under way for each one that can run: enough to hide the transfer
POLL_SECONDS = 2.0  # how often a cluster is asked for its size: nodes come and go


class WorkerDied(BempsError):
    """A task ended its worker process every time it was tried."""


@runtime_checkable
class TaskExecutor(Protocol):
    """An executor that calls `work(shared, *job)` for every job, in any order. `shared` is sent once."""

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield pairs of the number of a job and its result, in the order in which jobs finish.

        Parameters
        ----------
        work : callable
            The function.
        shared : object
            Its first argument, the same for all jobs.
        jobs : sequence of tuple
            The further arguments of each job.

        Returns
        -------
        iterator of tuple
            Number and result of each job.
        """
        ...


class InProcessExecutor:
    """Runs jobs one after the other, in this process."""

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Run the jobs in their order. See `TaskExecutor.map`.

        Parameters
        ----------
        work, shared, jobs
            As in `TaskExecutor.map`.

        Returns
        -------
        iterator of tuple
            Number and result of each job.
        """
        return ((number, work(shared, *job)) for number, job in enumerate(jobs))


@dataclass(frozen=True)
class SerializedInputError:
    """An `InputError` as plain data, because exceptions with keyword arguments cannot be pickled.

    Attributes
    ----------
    what, expected, got, fix : str
        As in `InputError`.
    """

    what: str
    expected: str
    got: str
    fix: str


def run_job(work: Callable[..., Any], shared: object, job: tuple[Any, ...]) -> Any:
    """Run one job on a Ray worker. An `InputError` is returned as data.

    Parameters
    ----------
    work : callable
        The function.
    shared : object
        Its first argument.
    job : tuple
        Its further arguments.

    Returns
    -------
    object
        The result.
    """
    try:
        return work(shared, *job)
    except InputError as error:
        return SerializedInputError(error.what, error.expected, error.got, error.fix)


class RayExecutor:
    """Runs jobs as Ray tasks. At most `TASKS_PER_SLOT` are under way for each slot: queues and results stay small."""

    def __init__(self, ray: ModuleType, resources: Resources) -> None:
        self._ray, self._resources = ray, resources
        self._remote = ray.remote(max_retries=RETRIES, retry_exceptions=False, **resources.options)(run_job)
        self._limit, self._checked_at = 1, -POLL_SECONDS

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Run the jobs as Ray tasks. See `TaskExecutor.map`.

        Parameters
        ----------
        work, shared, jobs
            As in `TaskExecutor.map`.

        Returns
        -------
        iterator of tuple
            Number and result of each job.
        """
        shared_reference = self._ray.put(shared)
        waiting, running = deque(enumerate(jobs)), dict[Any, tuple[int, tuple[Any, ...]]]()
        try:
            while waiting or running:
                while waiting and len(running) < self._task_limit():
                    number, job = waiting.popleft()
                    running[self._remote.remote(work, shared_reference, job)] = number, job
                ready, _ = self._ray.wait(list(running), num_returns=1)
                for reference in ready:
                    number, job = running.pop(reference)
                    yield number, self._result(reference, job)
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _task_limit(self) -> int:
        if time.monotonic() - self._checked_at > POLL_SECONDS:
            self._limit = TASKS_PER_SLOT * task_slots(self._ray, self._resources)
            self._checked_at = time.monotonic()
        return self._limit

    def _result(self, reference: Any, job: tuple[Any, ...]) -> Any:
        try:
            result = self._ray.get(reference)
        except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.OutOfMemoryError) as error:
            reason = " ".join(str(error).split())[:200]
            raise WorkerDied(
                f"{job[0]}: expected a worker to finish it; got {RETRIES + 1} that died ({reason}). "
                "Give workers more memory, or write smaller shards."
            ) from error
        if isinstance(result, SerializedInputError):
            raise InputError(result.what, expected=result.expected, got=result.got, fix=result.fix)
        return result


def task_slots(ray: ModuleType, resources: Resources) -> int:
    """How many tasks of these resources the cluster can run at once. At least one, because nodes may join."""
    available = ray.cluster_resources()
    required = {"CPU": resources.cpus, "GPU": resources.gpus, "memory": resources.memory or 0}
    return max(1, min((int(available.get(name, 0) / value) for name, value in required.items() if value), default=1))
