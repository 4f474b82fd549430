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

from bemps.distributed.cell_work import Finished, Mailbox, Parcel, carry_out
from bemps.distributed.cluster import Place, connected
from bemps.distributed.flow import slots
from bemps.distributed.luggage import digest_of, packed
from bemps.errors import InputError
from bemps.experiments.full import Full, train_full
from bemps.experiments.grid import Cell
from bemps.experiments.journal import Journal, opened, record_of, write_whole
from bemps.experiments.material import folder_of
from bemps.experiments.play import Setting, journal_path, play
from bemps.experiments.workers import Done, Task

DEATHS = 3  # of workers under one cell, after which it is the cell
DIED = "The worker died {} times under this cell: memory ran out, or nodes were lost. Give cells more memory (--on)."
TAKE_SECONDS = 0.3


@dataclass(frozen=True)
class Wanted:
    """What a task of a grid reads and writes."""

    out: Path
    dataset: str
    form: str
    plugin: str | None

    @classmethod
    def of(cls, task: Task) -> "Wanted":
        match task.arguments:
            case (Cell() as cell, Setting() as setting) if task.work is play:
                return cls(setting.out, cell.dataset, setting.form, setting.plugin)
            case (Full() as full, Path() as out) if task.work is train_full:
                return cls(out, full.dataset, full.form, None)
        raise InputError("task", expected="a cell or a classifier of all labels", got=str(task.key), fix="Run it here.")


@dataclass(eq=False)
class _Running:
    """A task under way: its journal is open, and locked, here."""

    task: Task
    wanted: Wanted
    stack: ExitStack
    journal: Journal | None
    deaths: int = 0
    attempt: str = ""

    def keep(self, line: bytes) -> None:
        """Write a round that is not there yet; the key and what came before are known."""
        record = record_of(line)
        if self.journal is not None and record is not None and record.get("round") == len(self.journal.rounds):
            self.journal.append(record)


@dataclass(frozen=True)
class RayCells:
    """`run(tasks)` yields each task as it is done. A lost worker is replaced, and its cell goes on where it was.

    in_place  whether workers that see the run folder read the data there; else they are sent
    """

    place: Place = field(default_factory=lambda: Place.of("ray"))
    jobs: int | None = None
    in_place: bool = True

    def run(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Each task as it is done. Close it to end what is under way."""
        if not tasks:
            return
        with connected(self.place, cpus=self.jobs) as ray:
            yield from _Run(ray, self).all(tasks)


class _Run:
    def __init__(self, ray: ModuleType, cells: RayCells) -> None:
        self._ray, self._cells = ray, cells
        self._remote = ray.remote(max_retries=0, **cells.place.needs.options)(carry_out)
        node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        actor = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=node)(Mailbox)
        self._mailbox = actor.remote()
        self._running: dict[Any, _Running] = {}
        self._sent: dict[tuple[Path, str], Any] = {}

    def all(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        waiting = deque(tasks)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < slots(self._ray, self._cells.place.needs):
                    self._submit(self._begun(waiting.popleft()))
                ready, _ = self._ray.wait(list(self._running), timeout=TAKE_SECONDS)
                self._take()
                for reference in ready:
                    done = self._ended(self._running.pop(reference), reference)
                    if done is not None:
                        yield done
        finally:
            for reference, one in self._running.items():
                self._ray.cancel(reference, force=True)
                one.stack.close()
            self._ray.kill(self._mailbox)

    def _begun(self, task: Task) -> _Running:
        wanted, stack, journal = Wanted.of(task), ExitStack(), None
        if task.work is play:
            cell: Cell = task.arguments[0]
            journal = stack.enter_context(opened(journal_path(wanted.out, cell), cell.key))
        return _Running(task, wanted, stack, journal)

    def _submit(self, one: _Running) -> None:
        one.attempt = uuid.uuid4().hex
        wanted = one.wanted
        folder = folder_of(wanted.out, wanted.dataset)
        digest = digest_of(folder, wanted.form)
        assert digest is not None
        parcel = Parcel(
            one.attempt,
            one.task,
            wanted.out,
            folder.absolute(),
            wanted.form,
            digest,
            [self._files(folder, wanted.form)] if self._must_send() else [],
            b"" if one.journal is None else journal_path(wanted.out, one.task.arguments[0]).read_bytes(),
            None if wanted.plugin is None else (wanted.plugin, Path(wanted.plugin).read_bytes()),
            self._cells.in_place,
        )
        self._running[self._remote.remote(parcel, self._mailbox)] = one

    def _must_send(self) -> bool:
        """Whether some node may not see the run folder: any that is not this machine."""
        here = socket.gethostname()
        return not self._cells.in_place or any(node["NodeManagerHostname"] != here for node in self._ray.nodes())

    def _files(self, folder: Path, form: str) -> Any:
        """A reference to the data of a cell, put into the cluster once."""
        if (folder, form) not in self._sent:
            self._sent[folder, form] = self._ray.put(packed(folder, form))
        return self._sent[folder, form]

    def _take(self) -> None:
        """Write the rounds that have come in."""
        try:
            lines = self._ray.get(self._mailbox.take.remote(), timeout=10)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return  # its node was lost and it starts again elsewhere: results bring what it held
        by_attempt = {one.attempt: one for one in self._running.values()}
        for attempt, line in lines:
            if attempt in by_attempt:  # else a worker that was given up and played on
                by_attempt[attempt].keep(line)

    def _ended(self, one: _Running, reference: Any) -> Done | None:
        """What became of a task; None if its worker was lost and it was sent out again."""
        try:
            finished: Finished = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # it could not even begin there
            return self._over(one, Done(one.task, [], str(error)))
        except self._ray.exceptions.RayError:
            one.deaths += 1
            if one.deaths > DEATHS:
                return self._over(one, Done(one.task, [], DIED.format(one.deaths)))
            self._submit(one)
            return None
        damage = [] if one.journal is None or one.journal.damage is None else [f"{one.task.key}: {one.journal.damage}"]
        for line in finished.journal.splitlines(keepends=True):
            one.keep(line)
        for name, content in finished.files.items():
            write_whole(one.wanted.out / name, content)
        return self._over(one, Done(one.task, damage + finished.told, finished.failure))

    def _over(self, one: _Running, done: Done) -> Done:
        one.stack.close()
        return done
