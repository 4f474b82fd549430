"""The work of a Ray worker on a task of a grid: it runs in a folder of its own, and its files are sent back.

Rounds are sent through a queue as they are written, and the result has all of them again. A lost queue or message costs
nothing, and a lost worker costs at most the round that it was computing.
"""

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from bemps._utils.files import link_folder
from bemps._utils.watchers import run_periodically
from bemps.distributed.grids.data_transfer import digest_of, unpack_files
from bemps.errors import InputError
from bemps.experiments.workers import Task

POLL_SECONDS = 0.2
JOURNALS = "journals"
SCRATCH = "bemps-cell-"


class JournalQueue:
    """A Ray actor that holds lines of journals until the driver takes them."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, bytes]] = []

    def add(self, attempt: str, lines: list[bytes]) -> None:
        """Queue lines of an attempt at a task."""
        self._lines += [(attempt, line) for line in lines]

    def take(self) -> list[tuple[str, bytes]]:
        """Return the queued pairs of attempt and line, and empty the queue."""
        lines, self._lines = self._lines, []
        return lines


@dataclass(frozen=True)
class TaskPackage:
    """A task with everything that it needs.

    Attributes
    ----------
    attempt : str
        The id of this attempt at the task.
    task : Task
        The task.
    out : Path
        The folder of the run on the driver.
    data : Path
        The folder of its dataset on the driver.
    form : str
        The form that its model learns from.
    digest : str
        The digest of the data.
    files : list
        A reference to packed files; empty if every node sees the run folder.
    journal : bytes
        The rounds written so far.
    plugin : tuple of str and bytes, or None
        The name and content of a plugin.
    in_place : bool
        Whether the worker may read the data in the run folder.
    """

    attempt: str
    task: Task
    out: Path
    data: Path
    form: str
    digest: str
    files: list[Any]
    journal: bytes
    plugin: tuple[str, bytes] | None
    in_place: bool = True


@dataclass(frozen=True)
class TaskResult:
    """The result of a task.

    Attributes
    ----------
    notes : list of str
        Notes for the user.
    failure : str or None
        The traceback, if it failed.
    journal : bytes
        Its complete journal.
    files : dict of str to bytes
        The other files that it wrote.
    """

    notes: list[str]
    failure: str | None
    journal: bytes
    files: dict[str, bytes]


def run_package(package: TaskPackage, queue: Any) -> TaskResult:
    """Run a task. An error inside it is the failure of the task."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-") as scratch:
        out = Path(scratch) / "run"
        failure, notes = None, []
        journal = out / JOURNALS / f"{package.attempt}.jsonl"
        try:
            task = _local_task(package, out)
            journal = _prepare_journal(package, task, out)
            with _sending_lines(journal, len(package.journal), package.attempt, queue):
                notes = task.work(*task.arguments)
        except Exception:  # noqa: BLE001  reported by the run, with its traceback
            failure = traceback.format_exc()
        lines = journal.read_bytes() if journal.exists() else b""
        return TaskResult(notes, failure, lines, _written_files(out))


def _remove_leftovers() -> None:
    """Remove the temporary folders of killed workers on this machine."""
    if sys.platform == "win32":  # there the signal 0 would end the process; the system clears the folder
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        pid = folder.name.removeprefix(SCRATCH).partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (PermissionError, ValueError):
            continue  # somebody else's


def _local_task(package: TaskPackage, out: Path) -> Task:
    """The task with its arguments pointing to a run folder on this machine."""
    link = out / "shared" / package.data.name
    link.parent.mkdir(parents=True)
    link_folder(link, _data_folder(package))
    new_names: dict[str, str] = {}
    if package.plugin is not None:
        name, content = package.plugin
        (out / Path(name).name).write_bytes(content)
        new_names = {name: str(out / Path(name).name)}
    return replace(
        package.task,
        arguments=tuple(with_moved_paths(argument, package.out, out, new_names) for argument in package.task.arguments),
    )


def with_moved_paths(value: Any, old: Path, new: Path, names: dict[str, str]) -> Any:
    """Replace paths and names in a value, dataclasses included.

    Parameters
    ----------
    value : object
        The value.
    old : Path
        The folder that is replaced.
    new : Path
        The folder that replaces it.
    names : dict of str to str
        Strings to replace.

    Returns
    -------
    object
        The new value.
    """
    if isinstance(value, Path):
        return new / value.relative_to(old) if value.is_relative_to(old) else value
    if isinstance(value, str):
        return names.get(value, value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: with_moved_paths(getattr(value, f.name), old, new, names) for f in fields(value)}
        )
    return value


def _data_folder(package: TaskPackage) -> Path:
    if package.in_place and digest_of(package.data, package.form) == package.digest:
        return package.data
    if not package.files:
        raise InputError(
            str(package.data),
            expected="the data of the run on this node, or sent along",
            got="neither",
            fix="Run the same command again: the node joined after the data were sent.",
        )
    import ray

    return unpack_files(ray.get(package.files[0]), package.digest, package.form)


def _prepare_journal(package: TaskPackage, task: Task, out: Path) -> Path:
    """The path of the task's journal, which holds the rounds written so far."""
    from bemps.experiments.cell import journal_path, run_cell

    if task.work is not run_cell:
        return out / JOURNALS / "none"
    path = journal_path(out, task.arguments[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(package.journal)
    return path


@contextmanager
def _sending_lines(journal: Path, sent: int, attempt: str, queue: Any) -> Iterator[None]:
    """Send complete lines as the journal grows."""

    def send() -> None:
        nonlocal sent
        lines = journal.read_bytes()[sent:].splitlines(keepends=True) if journal.exists() else []
        complete = [line for line in lines if line.endswith(b"\n")]
        if complete:
            queue.add.remote(attempt, complete)  # not waited for: the result carries every line again
        sent += sum(map(len, complete))

    with run_periodically(send, POLL_SECONDS):
        yield


def _written_files(out: Path) -> dict[str, bytes]:
    """The files that the task wrote, other than the data, the journal and the plugin."""
    own = [
        path for path in out.glob("*/**/*") if path.is_file() and path.parts[len(out.parts)] not in ("shared", JOURNALS)
    ]
    return {str(path.relative_to(out)): path.read_bytes() for path in own}
