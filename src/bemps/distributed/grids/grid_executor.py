"""The executor of `bemps run --on ray`: cells as Ray tasks, written to the run folder by this process alone."""

import socket
import uuid
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from bemps.distributed.cluster import Cluster, connected
from bemps.distributed.grids.data_transfer import digest_of, pack_files
from bemps.distributed.grids.grid_worker import JournalQueue, TaskPackage, TaskResult, run_package
from bemps.distributed.job_executor import task_slots
from bemps.errors import InputError
from bemps.experiments.cell import CellSetting, journal_path, run_cell
from bemps.experiments.full_data import FullDataModel, train_full
from bemps.experiments.grid import Cell
from bemps.experiments.inputs.run_data import folder_of
from bemps.experiments.journal import Journal, open_journal, record_of, write_atomically
from bemps.experiments.workers import Task, TaskOutcome

MOST_DEATHS = 3  # workers that may die under one cell before the cell counts as failed
DIED = "The worker died {} times under this cell: memory ran out, or nodes were lost. Give cells more memory (--on)."
TAKE_SECONDS = 0.3


@dataclass(frozen=True)
class TaskFiles:
    """The files that a task of a grid uses.

    Attributes
    ----------
    out : Path
        The folder of the run.
    dataset : str
        The dataset.
    form : str
        The form that its model learns from.
    plugin : str or None
        A Python file with strategies.
    """

    out: Path
    dataset: str
    form: str
    plugin: str | None

    @classmethod
    def from_task(cls, task: Task) -> "TaskFiles":
        """Return the files of a cell, or of a classifier of all labels."""
        match task.arguments:
            case (Cell() as cell, CellSetting() as setting) if task.work is run_cell:
                return cls(setting.out, cell.dataset, setting.form, setting.plugin)
            case (FullDataModel() as full, Path() as out) if task.work is train_full:
                return cls(out, full.dataset, full.form, None)
        raise InputError("task", expected="a cell or a classifier of all labels", got=str(task.key), fix="Run it here.")


@dataclass(eq=False)
class _RunningTask:
    """A task under way. This process holds its journal open and locked."""

    task: Task
    files: TaskFiles
    stack: ExitStack
    journal: Journal | None
    deaths: int = 0
    attempt: str = ""

    @property
    def damage(self) -> list[str]:
        """A note for the user where the journal had a damaged end."""
        damage = None if self.journal is None else self.journal.damage
        return [] if damage is None else [f"{self.task.key}: {damage}"]

    def append(self, line: bytes) -> None:
        """Write a round to the journal, unless the journal has it already."""
        record = record_of(line)
        if self.journal is not None and record is not None and record.get("round") == len(self.journal.rounds):
            self.journal.append(record)


@dataclass(frozen=True)
class RayCells:
    """The executor of `bemps run --on ray`: every cell of a grid is a Ray task.

    If a worker is lost, another one continues its cell after the last round that it wrote.

    Attributes
    ----------
    cluster : Cluster
        Where the tasks run, and what one of them occupies. The default is a new Ray on this machine.
    jobs : int, optional
        Cores of a new Ray. The default is all.
    in_place : bool
        Whether workers that see the run folder read the data there. Otherwise the data are sent to them.
    """

    cluster: Cluster = field(default_factory=lambda: Cluster.parse("ray"))
    jobs: int | None = None
    in_place: bool = True

    def run(self, tasks: Sequence[Task]) -> Generator[TaskOutcome, None, None]:
        """Run tasks and yield each as it finishes.

        Parameters
        ----------
        tasks : sequence of Task
            Cells, or classifiers of all labels.

        Yields
        ------
        Done
            A finished task, with its notes and its failure. Closing the generator ends the tasks under way.
        """
        if not tasks:
            return
        with connected(self.cluster, cpus=self.jobs) as ray:
            yield from _GridRun(ray, self).run(tasks)


class _GridRun:
    """The tasks of one run: submitted as slots get free, sent again when a worker is lost."""

    def __init__(self, ray: ModuleType, cells: RayCells) -> None:
        self._ray, self._cells = ray, cells
        self._remote = ray.remote(max_retries=0, **cells.cluster.resources.options)(run_package)
        node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        actor = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=node)(JournalQueue)
        self._queue = actor.remote()
        self._running: dict[Any, _RunningTask] = {}
        self._sent: dict[tuple[Path, str], Any] = {}

    def run(self, tasks: Sequence[Task]) -> Generator[TaskOutcome, None, None]:
        """Each task as it finishes."""
        waiting = deque(tasks)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < task_slots(self._ray, self._cells.cluster.resources):
                    self._submit(self._begin(waiting.popleft()))
                ready, _ = self._ray.wait(list(self._running), timeout=TAKE_SECONDS)
                self._write_queued_rounds()
                for reference in ready:
                    done = self._finish(self._running.pop(reference), reference)
                    if done is not None:
                        yield done
        finally:
            for reference, running in self._running.items():
                self._ray.cancel(reference, force=True)
                running.stack.close()
            self._ray.kill(self._queue)

    def _begin(self, task: Task) -> _RunningTask:
        files, stack, journal = TaskFiles.from_task(task), ExitStack(), None
        if task.work is run_cell:
            cell: Cell = task.arguments[0]
            journal = stack.enter_context(open_journal(journal_path(files.out, cell), cell.key))
        return _RunningTask(task, files, stack, journal)

    def _submit(self, running: _RunningTask) -> None:
        running.attempt = uuid.uuid4().hex
        files = running.files
        folder = folder_of(files.out, files.dataset)
        digest = digest_of(folder, files.form)
        assert digest is not None
        package = TaskPackage(
            running.attempt,
            running.task,
            files.out,
            folder.absolute(),
            files.form,
            digest,
            [self._files(folder, files.form)] if self._must_send() else [],
            b"" if running.journal is None else journal_path(files.out, running.task.arguments[0]).read_bytes(),
            None if files.plugin is None else (files.plugin, Path(files.plugin).read_bytes()),
            self._cells.in_place,
        )
        self._running[self._remote.remote(package, self._queue)] = running

    def _must_send(self) -> bool:
        """Whether some node may not see the run folder: any that is not this machine."""
        this_host = socket.gethostname()
        return not self._cells.in_place or any(node["NodeManagerHostname"] != this_host for node in self._ray.nodes())

    def _files(self, folder: Path, form: str) -> Any:
        """A reference to the data of a cell, put into the cluster once."""
        if (folder, form) not in self._sent:
            self._sent[folder, form] = self._ray.put(pack_files(folder, form))
        return self._sent[folder, form]

    def _write_queued_rounds(self) -> None:
        """Write the rounds that workers have sent."""
        try:
            lines = self._ray.get(self._queue.take.remote(), timeout=10)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return  # the actor's node was lost and the actor starts elsewhere: results bring every line again
        by_attempt = {running.attempt: running for running in self._running.values()}
        for attempt, line in lines:
            if attempt in by_attempt:  # else the line is from a worker that was given up and ran on
                by_attempt[attempt].append(line)

    def _finish(self, running: _RunningTask, reference: Any) -> TaskOutcome | None:
        """The outcome of a task. None: its worker was lost, and the task was submitted again."""
        try:
            result: TaskResult = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # it could not even begin there
            return self._close(running, TaskOutcome(running.task, [], str(error)))
        except self._ray.exceptions.RayError:
            running.deaths += 1
            if running.deaths > MOST_DEATHS:
                return self._close(running, TaskOutcome(running.task, [], DIED.format(running.deaths)))
            self._submit(running)
            return None
        for line in result.journal.splitlines(keepends=True):
            running.append(line)
        for name, content in result.files.items():
            write_atomically(running.files.out / name, content)
        return self._close(running, TaskOutcome(running.task, running.damage + result.notes, result.failure))

    def _close(self, running: _RunningTask, done: TaskOutcome) -> TaskOutcome:
        running.stack.close()
        return done
