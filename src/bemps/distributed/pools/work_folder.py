"""The work folder: the finished results of each shard, with which a stopped selection continues.

    <kind>-<signature>/<shard>.npz       arrays, with stamp and digest of the shard they were made from
    predictions-<signature>/<shard>.parquet

A signature names what a result depends on besides the shard. Every file is complete or absent.
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

from bemps.distributed.pools.shards import FileStore, Shard
from bemps.errors import InputError
from bemps.types import Array

MARK = "bemps-work.json"


def signature(*values: object) -> str:
    """A short hash of values that JSON can write and of arrays."""
    digest = hashlib.blake2b(digest_size=8)
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        else:
            digest.update(json.dumps(value, sort_keys=True).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class WorkFolder:
    """A folder or URL that the driver and every worker can reach."""

    url: str
    store: FileStore = field(default_factory=FileStore)

    def create(self) -> None:
        """Create the folder, with a mark that workers look for."""
        self.write(MARK, b'{"bemps": "work folder of bemps.distributed.select; safe to delete when nothing runs"}\n')

    def check_reachable(self) -> None:
        """Refuse, on a worker, a folder that only the driver sees. Results written there would be lost."""
        system, root = self.store.resolve(self.url)
        if not system.exists(f"{root}/{MARK}"):
            raise InputError(
                "work",
                expected="a folder or URL that every node can reach",
                got=f"{self.url}, which is not there on this worker",
                fix="Give work= on storage that the nodes share.",
            )

    def path(self, kind: str, shard: Shard, ending: str = "npz") -> str:
        """The path of a result below the folder. The hash separates shards of the same name.

        Parameters
        ----------
        kind : str
            The kind of the result.
        shard : Shard
            The shard.
        ending : str
            The ending of the file.

        Returns
        -------
        str
            The path.
        """
        readable = shard.name.rsplit("/", 1)[-1].rsplit(".", 1)[0][:60]
        return f"{kind}/{readable}-{signature(shard.name)}.{ending}"

    def load(self, kind: str, shard: Shard) -> dict[str, Array] | None:
        """Load the arrays saved for the present content of a shard; None if there are none."""
        system, root = self.store.resolve(self.url)
        try:
            with system.open(f"{root}/{self.path(kind, shard)}", "rb") as file:
                loaded = np.load(io.BytesIO(file.read()), allow_pickle=False)
                arrays = {name: loaded[name] for name in loaded.files}
        except (FileNotFoundError, BadZipFile, ValueError, EOFError):
            return None
        return arrays if self.is_current(shard, str(arrays["stamp"]), str(arrays["digest"])) else None

    def save(self, kind: str, shard: Shard, digest: str, arrays: Mapping[str, Array]) -> None:
        """Save arrays for a shard.

        Parameters
        ----------
        kind : str
            The kind of the result.
        shard : Shard
            The shard.
        digest : str
            The digest of its content.
        arrays : mapping of str to array
            The arrays.
        """
        buffer = io.BytesIO()
        every: dict[str, Any] = {"stamp": np.array(shard.stamp), "digest": np.array(digest), **arrays}
        np.savez(buffer, **every)
        self.write(self.path(kind, shard), buffer.getvalue())

    def is_current(self, shard: Shard, stamp: str, digest: str) -> bool:
        """Whether a result belongs to the present content of a shard.

        Parameters
        ----------
        shard : Shard
            The shard.
        stamp : str
            The stamp of the shard when the result was made.
        digest : str
            The digest of its content then.

        Returns
        -------
        bool
            True if the stamp or the content is the same (a copied file has another stamp).
        """
        return stamp == shard.stamp or digest == (shard.digest or self.store.digest(shard))

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a file that gets its name when the block ends without an error."""
        system, root = self.store.resolve(self.url)
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
