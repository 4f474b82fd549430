"""The journal of a cell: one checked JSON line for each round, on the disk before the next round starts.

    {"check": "<blake2b of the record>", "record": {...}}

The first record is the key of the cell. A process that was killed leaves at most one broken line, the last: it is
found, reported and cut off, and its round is played again.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

from bemps.errors import InputError
from bemps.experiments.failures import writing

Record = dict[str, Any]


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces; floats as Python writes them, which is exact."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def checksum(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def line_of(record: Record) -> bytes:
    text = canonical(record)
    return f'{{"check":"{checksum(text)}","record":{text}}}\n'.encode()


def record_of(line: bytes) -> Record | None:
    """The record of a line, None if the line is not what was written."""
    if not line.endswith(b"\n"):
        return None
    try:
        outer = json.loads(line)
        record, check = outer["record"], outer["check"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return record if isinstance(record, dict) and checksum(canonical(record)) == check else None


@dataclass(frozen=True)
class Contents:
    """What a journal holds: rounds in order, the length in bytes of what is sound, and what is wrong after it."""

    rounds: list[Record]
    sound: int
    damage: str | None = None


def contents(path: Path, key: Record) -> Contents:
    """Every sound round of a journal; a journal of another cell is refused."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return Contents([], 0)
    rounds: list[Record] = []
    sound = 0
    for number, line in enumerate(lines):
        record = record_of(line)
        if record is None or (number > 0 and record.get("round") != number - 1):
            lost = len(lines) - number
            return Contents(rounds, sound, f"line {number + 1} is damaged: {lost} record(s) from there are redone")
        if number == 0:
            _refuse_other(path, record, key)
        else:
            rounds.append(record)
        sound += len(line)
    return Contents(rounds, sound)


def _refuse_other(path: Path, record: Record, key: Record) -> None:
    if record != {"key": key}:
        raise InputError(
            str(path),
            expected=f"the journal of {canonical(key)}",
            got=canonical(record),
            fix="Was it renamed? Delete it; its cell will be played again.",
        )


class Journal:
    """An open journal: `rounds` are those found, `damage` what was cut off, `append` adds one for good."""

    def __init__(self, file: BufferedRandom, path: Path, found: Contents) -> None:
        self._file, self._path = file, path
        self.rounds, self.damage = found.rounds, found.damage

    def append(self, record: Record) -> None:
        """Write, flush and sync; if that fails, nothing of the record is left behind."""
        with writing(self._path):
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
def opened(path: Path, key: Record) -> Iterator[Journal]:
    """The journal of a cell, locked: a worker left over from a killed run is waited for, never written over."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+b")  # noqa: SIM115
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = contents(path, key)
        with writing(path):
            if found.damage is not None:
                file.truncate(found.sound)
            journal = Journal(file, path, found)
            if found.sound == 0:
                journal._write(line_of({"key": key}))
                sync_folder(path.parent)
        yield journal


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """A file that is either the earlier one or all of the new one."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(path.name + ".part")
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_folder(path.parent)
