"""A pool in Parquet files: which there are, what they hold, and their rows in batches of bounded size.

probs   for each item a list of E lists of K probabilities (or fixed-size lists, which read faster)
items   what a model reads instead: a column of texts, of lists of numbers, or several columns of numbers
"""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import fsspec  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from jaxtyping import Int

from bemps.errors import InputError
from bemps.types import Array

ENDINGS = (".parquet", ".pq")
READ_BYTES = 2**23


class CorruptShard(InputError):
    """A file that cannot be read as what it claims to be."""


@dataclass(frozen=True)
class Shard:
    """One file. `name` is its path below the source; `stamp` changes with the file; `digest` is of its content."""

    name: str
    url: str
    rows: int = 0
    stamp: str = ""
    digest: str = ""

    def __str__(self) -> str:
        return f"shard {self.name}"


@dataclass(frozen=True)
class Store:
    """How files are reached; `options` are those of the fsspec file system."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def at(self, url: str) -> tuple[Any, str]:
        """The file system of a URL, and the path on it."""
        system, path = fsspec.core.url_to_fs(url, **self.options)
        return system, path

    @contextmanager
    def parquet(self, shard: Shard) -> Iterator[pq.ParquetFile]:
        """An open shard; damage found while reading is a `CorruptShard`."""
        system, path = self.at(shard.url)
        try:
            if "file" in system.protocol:
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    yield file
            else:
                with system.open(path, "rb") as raw, pq.ParquetFile(raw, page_checksum_verification=True) as file:
                    yield file
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, pa.ArrowException) or (type(error) is OSError and error.errno is None):
                raise _corrupt(shard, str(error)) from error
            raise InputError(
                str(shard), expected="a file that can be read", got=str(error), fix="Check path and access."
            ) from error

    def digest(self, shard: Shard) -> str:
        """Of every byte of the file."""
        system, path = self.at(shard.url)
        found = hashlib.blake2b(digest_size=16)
        with system.open(path, "rb") as file:
            while block := file.read(READ_BYTES):
                found.update(block)
        return found.hexdigest()


def _corrupt(shard: Shard, why: str) -> CorruptShard:
    return CorruptShard(
        str(shard),
        expected="a whole Parquet file",
        got=" ".join(why.split())[:200],
        fix="Write it again, or leave it out with skip_corrupt=True (--skip-corrupt).",
    )


def find_shards(source: str, store: Store) -> list[Shard]:
    """The Parquet files below a folder or URL, or the one it names, in the order of their names."""
    system, root = store.at(source)
    if not system.exists(root):
        raise InputError("source", expected="a folder or URL of Parquet files", got=source, fix="Check the path.")
    paths = sorted(system.find(root)) if system.isdir(root) else [root]
    names = {path: posixpath.relpath(path, root) if path != root else posixpath.basename(path) for path in paths}
    own = [path for path in paths if path == root or (path.endswith(ENDINGS) and not _hidden(names[path]))]
    if not own:
        raise InputError("source", expected="files ending in .parquet", got=f"none below {source}", fix="Check it.")
    return [Shard(names[path], system.unstrip_protocol(path)) for path in own]


def _hidden(name: str) -> bool:
    """What writers leave beside the data: _metadata, .crc and the like."""
    return any(part.startswith(("_", ".")) for part in name.split("/"))


@dataclass(frozen=True)
class Footer:
    """What the end of a file tells: its rows, and the types of the columns asked for."""

    shard: Shard
    types: dict[str, str]


def look(store: Store, shard: Shard, columns: Sequence[str], skip_corrupt: bool) -> Footer | None:
    """The footer of a shard; None where it is damaged and may be."""
    system, path = store.at(shard.url)
    try:
        with store.parquet(shard) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except CorruptShard:
        if skip_corrupt:
            return None
        raise
    types = {name: str(schema.field(name).type) if name in schema.names else "missing" for name in columns}
    return Footer(Shard(shard.name, shard.url, rows, str(system.ukey(path))), types)


def refuse_other_schema(footers: Sequence[Footer]) -> None:
    """Every shard must have the columns of the first, of the same types."""
    first = footers[0]
    for footer in footers:
        for name, kind in footer.types.items():
            if kind == "missing" or kind != first.types[name]:
                wanted = f"a column {name}" + ("" if footer is first else f" of type {first.types[name]}")
                got = f"no such column in {footer.shard}" if kind == "missing" else f"type {kind} in {footer.shard}"
                where = "" if footer is first else f", as in {first.shard}"
                raise InputError("schema", expected=wanted + where, got=got, fix="Write all shards alike.")


def batches(
    file: pq.ParquetFile, columns: Sequence[str], size: int, wanted: Int[Array, " m"] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of at most `size` rows, each with the place of its first row; only row groups that hold wanted rows."""
    start = 0
    for group in range(file.metadata.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        if wanted is None or np.searchsorted(wanted, stop) > np.searchsorted(wanted, start):
            place = start
            for batch in file.iter_batches(size, row_groups=[group], columns=list(columns)):
                yield place, batch
                place += batch.num_rows
        start = stop
