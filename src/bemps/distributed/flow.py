"""Many small jobs with few under way: in this process, or as Ray tasks that survive the loss of a node."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from bemps.distributed.cluster import Needs
from bemps.errors import BempsError, InputError

RETRIES = 3  # of a task whose process or node died
AHEAD = 2  # tasks under way for each one that can run: enough to hide the way there and back
LOOK_SECONDS = 2.0  # how often a cluster is asked for its size: nodes come and go


class WorkerDied(BempsError):
    """A task took its process down more often than chance would."""


@runtime_checkable
class Flow(Protocol):
    """`work(shared, *job)` for every job, in any order; `shared` travels once."""

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Pairs of a job's number and its result, as they come."""
        ...


class Here:
    """One after the other, in this process."""

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        return ((number, work(shared, *job)) for number, job in enumerate(jobs))


@dataclass(frozen=True)
class Refusal:
    """An `InputError` on its way home: exceptions with keyword arguments do not travel."""

    what: str
    expected: str
    got: str
    fix: str


def call(work: Callable[..., Any], shared: object, job: tuple[Any, ...]) -> Any:
    """What a Ray worker does."""
    try:
        return work(shared, *job)
    except InputError as error:
        return Refusal(error.what, error.expected, error.got, error.fix)


class RayFlow:
    """Ray tasks; at most `AHEAD` for each that the cluster can run are under way, so queues and results stay small."""

    def __init__(self, ray: ModuleType, needs: Needs) -> None:
        self._ray, self._needs = ray, needs
        self._remote = ray.remote(max_retries=RETRIES, retry_exceptions=False, **needs.options)(call)
        self._limit, self._asked = 1, -LOOK_SECONDS

    def map(self, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        kept = self._ray.put(shared)
        waiting, running = deque(enumerate(jobs)), dict[Any, tuple[int, tuple[Any, ...]]]()
        try:
            while waiting or running:
                while waiting and len(running) < self._most():
                    number, job = waiting.popleft()
                    running[self._remote.remote(work, kept, job)] = number, job
                ready, _ = self._ray.wait(list(running), num_returns=1)
                for reference in ready:
                    number, job = running.pop(reference)
                    yield number, self._result(reference, job)
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _most(self) -> int:
        if time.monotonic() - self._asked > LOOK_SECONDS:
            self._limit = AHEAD * slots(self._ray, self._needs)
            self._asked = time.monotonic()
        return self._limit

    def _result(self, reference: Any, job: tuple[Any, ...]) -> Any:
        try:
            found = self._ray.get(reference)
        except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.OutOfMemoryError) as error:
            said = " ".join(str(error).split())[:200]
            raise WorkerDied(
                f"{job[0]}: expected a worker to finish it; got {RETRIES + 1} that died ({said}). "
                "Give workers more memory, or write smaller shards."
            ) from error
        if isinstance(found, Refusal):
            raise InputError(found.what, expected=found.expected, got=found.got, fix=found.fix)
        return found


def slots(ray: ModuleType, needs: Needs) -> int:
    """How many tasks of these needs the cluster can run at once; at least one, as nodes may come."""
    there = ray.cluster_resources()
    wanted = {"CPU": needs.cpus, "GPU": needs.gpus, "memory": needs.memory or 0}
    return max(1, min((int(there.get(name, 0) / value) for name, value in wanted.items() if value), default=1))
