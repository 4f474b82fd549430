"""The journal of a cell: one checked JSON line for each round, on the disk before the next round starts.

    {"check": "<blake2b of the record>", "record": {...}}

The first record is the key of the cell. A process that was killed leaves at most one broken line, the last: it is
found, reported and cut off, and its round is played again.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

from bemps._utils.files import drafted, locking, sync
from bemps.errors import InputError
from bemps.experiments.run_errors import write_errors

Record = dict[str, Any]


def canonical(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, exact floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def checksum(text: str) -> str:
    """The checksum of a text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def line_of(record: Record) -> bytes:
    """The line of a record, with its checksum."""
    text = canonical(record)
    return f'{{"check":"{checksum(text)}","record":{text}}}\n'.encode()


def record_of(line: bytes) -> Record | None:
    """The record of a line; None if the line is damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        outer = json.loads(line)
        record, check = outer["record"], outer["check"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return record if isinstance(record, dict) and checksum(canonical(record)) == check else None


@dataclass(frozen=True)
class JournalContents:
    """The contents of a journal.

    Attributes
    ----------
    rounds : list of dict
        The records of the rounds, in order.
    sound : int
        The length in bytes of the part that is not damaged.
    damage : str, optional
        What is wrong after that part.
    """

    rounds: list[Record]
    sound: int
    damage: str | None = None


def read_journal(path: Path, key: Record) -> JournalContents:
    """Read every intact round of a journal. A journal of another cell is refused."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return JournalContents([], 0)
    rounds: list[Record] = []
    sound = 0
    for number, line in enumerate(lines):
        record = record_of(line)
        if record is None or (number > 0 and record.get("round") != number - 1):
            lost = len(lines) - number
            return JournalContents(
                rounds, sound, f"line {number + 1} is damaged: {lost} record(s) from there are redone"
            )
        if number == 0:
            _refuse_other(path, record, key)
        else:
            rounds.append(record)
        sound += len(line)
    return JournalContents(rounds, sound)


def _refuse_other(path: Path, record: Record, key: Record) -> None:
    if record != {"key": key}:
        raise InputError(
            str(path),
            expected=f"the journal of {canonical(key)}",
            got=canonical(record),
            fix="Was it renamed? Delete it; its cell will be played again.",
        )


class Journal:
    """An open journal. `rounds` are the stored records, `damage` says what was cut off.

    Parameters
    ----------
    file : io.BufferedRandom
        The open file.
    path : Path
        Its path.
    stored : JournalContents
        What it holds.
    """

    def __init__(self, file: BufferedRandom, path: Path, stored: JournalContents) -> None:
        self._file, self._path = file, path
        self.rounds, self.damage = stored.rounds, stored.damage

    def append(self, record: Record) -> None:
        """Write a record to the disk. If that fails, nothing of the record remains."""
        with write_errors(self._path):
            self._write(line_of(record))
        self.rounds.append(record)

    def _write(self, line: bytes) -> None:
        end = os.fstat(self._file.fileno()).st_size
        try:
            _write_all(self._file.fileno(), line)
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), end)
            raise


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@contextmanager
def open_journal(path: Path, key: Record) -> Iterator[Journal]:
    """Open the journal of a cell, and lock it. If a worker of a killed run still has it, this waits."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+b")  # noqa: SIM115
    with file, locking(file):
        stored = read_journal(path, key)
        with write_errors(path):
            if stored.damage is not None:
                file.truncate(stored.sound)
            journal = Journal(file, path, stored)
            if stored.sound == 0:
                journal._write(line_of({"key": key}))
                sync(path.parent)
        yield journal


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see either the earlier file or all of the new one."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path, durable=True) as draft:
            draft.write_bytes(data)
