"""A pool in Parquet files: list them, check their schemas, and read rows in batches of bounded size.

The column `probs` has for each item a list of E lists of K probabilities (fixed-size lists read faster). Instead, a
model reads a column of texts, a column of lists of numbers, or several columns of numbers.
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
    """A Parquet file is damaged: cut off, or with a wrong checksum."""


@dataclass(frozen=True)
class Shard:
    """A Parquet file.

    Attributes
    ----------
    name : str
        Its path below the source.
    url : str
        Its URL.
    rows : int
        The number of its rows.
    stamp : str
        Changes with the file.
    digest : str
        Changes with its content.
    """

    name: str
    url: str
    rows: int = 0
    stamp: str = ""
    digest: str = ""

    def __str__(self) -> str:
        return f"shard {self.name}"


@dataclass(frozen=True)
class FileStore:
    """Access to files through fsspec. `options` are those of the file system."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def resolve(self, url: str) -> tuple[Any, str]:
        """Return the file system of a URL, and the path in it."""
        system, path = fsspec.core.url_to_fs(url, **self.options)
        return system, path

    @contextmanager
    def parquet(self, shard: Shard) -> Iterator[pq.ParquetFile]:
        """Open a shard. Damage raises `CorruptShard`."""
        system, path = self.resolve(shard.url)
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
        """Return a hash of every byte of a shard."""
        system, path = self.resolve(shard.url)
        hasher = hashlib.blake2b(digest_size=16)
        with system.open(path, "rb") as file:
            while block := file.read(READ_BYTES):
                hasher.update(block)
        return hasher.hexdigest()


def _corrupt(shard: Shard, why: str) -> CorruptShard:
    return CorruptShard(
        str(shard),
        expected="a whole Parquet file",
        got=" ".join(why.split())[:200],
        fix="Write it again, or leave it out with skip_corrupt=True (--skip-corrupt).",
    )


def find_shards(source: str, store: FileStore) -> list[Shard]:
    """List the Parquet files below a folder or URL, or the file itself, in the order of their names."""
    system, root = store.resolve(source)
    if not system.exists(root):
        raise InputError("source", expected="a folder or URL of Parquet files", got=source, fix="Check the path.")
    paths = sorted(system.find(root)) if system.isdir(root) else [root]
    names = {path: posixpath.relpath(path, root) if path != root else posixpath.basename(path) for path in paths}
    own = [path for path in paths if path == root or (path.endswith(ENDINGS) and not _is_hidden(names[path]))]
    if not own:
        raise InputError("source", expected="files ending in .parquet", got=f"none below {source}", fix="Check it.")
    return [Shard(names[path], system.unstrip_protocol(path)) for path in own]


def _is_hidden(name: str) -> bool:
    """Whether a name is a writer's by-product: _metadata, .crc and the like."""
    return any(part.startswith(("_", ".")) for part in name.split("/"))


@dataclass(frozen=True)
class Footer:
    """A shard with the number of its rows, and the types of the required columns."""

    shard: Shard
    types: dict[str, str]


def read_footer(store: FileStore, shard: Shard, columns: Sequence[str], skip_corrupt: bool) -> Footer | None:
    """Read the footer of a shard.

    Parameters
    ----------
    store : FileStore
        Access to the files.
    shard : Shard
        The shard.
    columns : sequence of str
        The columns that are needed.
    skip_corrupt : bool
        Whether a damaged shard may be skipped.

    Returns
    -------
    Footer or None
        The footer; None for a damaged shard that may be skipped.
    """
    system, path = store.resolve(shard.url)
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
    """Refuse shards without the columns of the first, or with other types."""
    first = footers[0]
    for footer in footers:
        for name, kind in footer.types.items():
            if kind == "missing" or kind != first.types[name]:
                expected = f"a column {name}" + ("" if footer is first else f" of type {first.types[name]}")
                got = f"no such column in {footer.shard}" if kind == "missing" else f"type {kind} in {footer.shard}"
                where = "" if footer is first else f", as in {first.shard}"
                raise InputError("schema", expected=expected + where, got=got, fix="Write all shards alike.")


def batches(
    file: pq.ParquetFile, columns: Sequence[str], size: int, rows: Int[Array, " m"] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches of rows, each with the number of its first row.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        The open shard.
    columns : sequence of str
        The columns to read.
    size : int
        The largest number of rows of a batch.
    rows : array of int (m,), optional
        Only row groups that hold some of these rows are read.

    Returns
    -------
    iterator of tuple
        Number of the first row, and the batch.
    """
    start = 0
    for group in range(file.metadata.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        if rows is None or np.searchsorted(rows, stop) > np.searchsorted(rows, start):
            first_row = start
            for batch in file.iter_batches(size, row_groups=[group], columns=list(columns)):
                yield first_row, batch
                first_row += batch.num_rows
        start = stop
