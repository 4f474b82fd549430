"""What a Ray worker does with a task of a grid: plays it in a folder of its own, and sends home what it writes.

Rounds travel as they are written, through a mailbox; the result carries them all once more. So a lost mailbox or a lost
message costs nothing, and a lost worker at most the round that it was playing.
"""

import os
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from bemps.distributed.luggage import digest_of, unpacked
from bemps.errors import InputError
from bemps.experiments.progress import now_and_then
from bemps.experiments.workers import Task

LOOK_SECONDS = 0.2
JOURNALS = "journals"
SCRATCH = "bemps-cell-"


class Mailbox:
    """An actor: lines of journals, until the driver takes them."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, bytes]] = []

    def add(self, attempt: str, lines: list[bytes]) -> None:
        self._lines += [(attempt, line) for line in lines]

    def take(self) -> list[tuple[str, bytes]]:
        lines, self._lines = self._lines, []
        return lines


@dataclass(frozen=True)
class Parcel:
    """A task, and what it needs: the data of its dataset, the rounds that are there, the file of a plugin."""

    attempt: str
    task: Task
    out: Path
    data: Path  # the folder of its dataset as the driver sees it
    form: str
    digest: str
    files: list[Any]  # a reference to packed files, or none where every node sees the run folder
    journal: bytes
    plugin: tuple[str, bytes] | None
    in_place: bool = True


@dataclass(frozen=True)
class Finished:
    """What a task told, its traceback if it failed, its whole journal, and the other files that it wrote."""

    told: list[str]
    failure: str | None
    journal: bytes
    files: dict[str, bytes]


def carry_out(parcel: Parcel, mailbox: Any) -> Finished:
    """Play a parcel; whatever goes wrong in it is its own failure."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-") as scratch:
        out = Path(scratch) / "run"
        failure, told = None, []
        journal = out / JOURNALS / f"{parcel.attempt}.jsonl"
        try:
            task = _settled(parcel, out)
            journal = _journal(parcel, task, out)
            with _sending(journal, len(parcel.journal), parcel.attempt, mailbox):
                told = task.work(*task.arguments)
        except Exception:  # noqa: BLE001  reported by the run, with its traceback
            failure = traceback.format_exc()
        lines = journal.read_bytes() if journal.exists() else b""
        return Finished(told, failure, lines, _written(out))


def _sweep() -> None:
    """Remove the folders of workers on this machine that were killed and could not."""
    for place in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        pid = place.name.removeprefix(SCRATCH).partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            shutil.rmtree(place, ignore_errors=True)
        except (PermissionError, ValueError):
            continue  # somebody else's


def _settled(parcel: Parcel, out: Path) -> Task:
    """The task with its arguments pointing to a run folder on this machine."""
    place = out / "shared" / parcel.data.name
    place.parent.mkdir(parents=True)
    place.symlink_to(_data(parcel), target_is_directory=True)
    given: dict[str, str] = {}
    if parcel.plugin is not None:
        name, content = parcel.plugin
        (out / Path(name).name).write_bytes(content)
        given = {name: str(out / Path(name).name)}
    return replace(parcel.task, arguments=tuple(moved(one, parcel.out, out, given) for one in parcel.task.arguments))


def moved(value: Any, old: Path, new: Path, names: dict[str, str]) -> Any:
    """A value with every path below `old` below `new`, also within dataclasses, and some names changed."""
    if isinstance(value, Path):
        return new / value.relative_to(old) if value.is_relative_to(old) else value
    if isinstance(value, str):
        return names.get(value, value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: moved(getattr(value, f.name), old, new, names) for f in fields(value)})
    return value


def _data(parcel: Parcel) -> Path:
    if parcel.in_place and digest_of(parcel.data, parcel.form) == parcel.digest:
        return parcel.data
    if not parcel.files:
        raise InputError(
            str(parcel.data),
            expected="the data of the run on this node, or sent along",
            got="neither",
            fix="Run the same command again: the node joined after the data were sent.",
        )
    import ray

    return unpacked(ray.get(parcel.files[0]), parcel.digest, parcel.form)


def _journal(parcel: Parcel, task: Task, out: Path) -> Path:
    """Where the task writes its journal, with the rounds that are there already."""
    from bemps.experiments.play import journal_path, play

    if task.work is not play:
        return out / JOURNALS / "none"
    path = journal_path(out, task.arguments[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(parcel.journal)
    return path


@contextmanager
def _sending(journal: Path, sent: int, attempt: str, mailbox: Any) -> Iterator[None]:
    """Send whole lines as the journal grows."""

    def send() -> None:
        nonlocal sent
        lines = journal.read_bytes()[sent:].splitlines(keepends=True) if journal.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        if whole:
            mailbox.add.remote(attempt, whole)  # not waited for: the result carries every line again
        sent += sum(map(len, whole))

    with now_and_then(send, LOOK_SECONDS):
        yield


def _written(out: Path) -> dict[str, bytes]:
    """Files beside the data, the journal and the plugin: what the task leaves in the run folder."""
    own = [
        path for path in out.glob("*/**/*") if path.is_file() and path.parts[len(out.parts)] not in ("shared", JOURNALS)
    ]
    return {str(path.relative_to(out)): path.read_bytes() for path in own}
