"""The work folder: what is finished of each shard, so that a run that was stopped goes on.

    <kind>-<signature>/<shard>.npz       arrays, with stamp and digest of the shard they were made from
    predictions-<signature>/<shard>.parquet

A signature says what a result depends on beside the shard. Every file is there whole or not at all.
"""

import hashlib
import io
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from zipfile import BadZipFile

import numpy as np

from bemps.distributed.shards import Shard, Store
from bemps.errors import InputError
from bemps.types import Array

MARK = "bemps-work.json"


def signature(*facts: object) -> str:
    """One short word for values that JSON can write and for arrays."""
    found = hashlib.blake2b(digest_size=8)
    for fact in facts:
        if isinstance(fact, np.ndarray):
            found.update(f"{fact.dtype}{fact.shape}".encode() + np.ascontiguousarray(fact).tobytes())
        else:
            found.update(json.dumps(fact, sort_keys=True).encode())
    return found.hexdigest()


@dataclass(frozen=True)
class Folder:
    """A folder or URL that the driver and every worker can reach."""

    url: str
    store: Store = field(default_factory=Store)

    def begin(self) -> None:
        """Make it, with a mark that workers look for."""
        self.write(MARK, b'{"bemps": "work folder of bemps.distributed.select; safe to delete when nothing runs"}\n')

    def require(self) -> None:
        """On a worker: a folder that only the driver sees would lose everything."""
        system, root = self.store.at(self.url)
        if not system.exists(f"{root}/{MARK}"):
            raise InputError(
                "work",
                expected="a folder or URL that every node can reach",
                got=f"{self.url}, which is not there on this worker",
                fix="Give work= on storage that the nodes share.",
            )

    def place(self, kind: str, shard: Shard, ending: str = "npz") -> str:
        """Where a result lies; the readable part of the name is for people, the hash keeps names apart."""
        readable = shard.name.rsplit("/", 1)[-1].rsplit(".", 1)[0][:60]
        return f"{kind}/{readable}-{signature(shard.name)}.{ending}"

    def load(self, kind: str, shard: Shard) -> dict[str, Array] | None:
        """The arrays that were saved for this very content; None if there are none."""
        system, root = self.store.at(self.url)
        try:
            with system.open(f"{root}/{self.place(kind, shard)}", "rb") as file:
                loaded = np.load(io.BytesIO(file.read()), allow_pickle=False)
                arrays = {name: loaded[name] for name in loaded.files}
        except (FileNotFoundError, BadZipFile, ValueError, EOFError):
            return None
        return arrays if self.is_of(shard, str(arrays["stamp"]), str(arrays["digest"])) else None

    def save(self, kind: str, shard: Shard, digest: str, arrays: Mapping[str, Array]) -> None:
        buffer = io.BytesIO()
        every: dict[str, Any] = {"stamp": np.array(shard.stamp), "digest": np.array(digest), **arrays}
        np.savez(buffer, **every)
        self.write(self.place(kind, shard), buffer.getvalue())

    def is_of(self, shard: Shard, stamp: str, digest: str) -> bool:
        """Whether a result was made from the shard as it is now: by its stamp, else (copied, touched) by its bytes."""
        return stamp == shard.stamp or digest == (shard.digest or self.store.digest(shard))

    def write(self, name: str, data: bytes) -> None:
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A file that gets its name when the block is left well. Two writers of one shard write the same."""
        system, root = self.store.at(self.url)
        target = f"{root}/{name}"
        draft = f"{target}.{uuid.uuid4().hex[:8]}.part"
        system.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        try:
            with system.open(draft, "wb") as file:
                yield file
            system.mv(draft, target)
        except BaseException:
            if system.exists(draft):
                system.rm(draft)
            raise
