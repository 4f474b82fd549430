"""Parquet files of other origin, read with a clear error for damaged ones."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bemps._utils.extras import optional_import
from bemps.errors import BempsError, InputError


@contextmanager
def opened_parquet(path: Path, *, fix: str = "Is it complete, and Parquet?") -> Iterator[Any]:
    """Open a `pyarrow.parquet.ParquetFile`. Everything that reads or converts its columns belongs in the block.

    Parameters
    ----------
    path : Path
        The file.
    fix : str
        What to do about a file that cannot be read.

    Raises
    ------
    InputError
        The file is damaged, also in pages, texts or times that are read later.
    """
    arrow = optional_import("pyarrow", "parquet", "reading Parquet")
    parquet = optional_import("pyarrow.parquet", "parquet", "reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except BempsError:
        raise
    except (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, ValueError) as error:
        got = " ".join(str(error).split())[:200]
        raise InputError(str(path), expected="a Parquet file", got=got, fix=fix) from error


def refuse_repeated_columns(path: Path, names: Sequence[str], requested: Sequence[str]) -> None:
    """Refuse a file that has two columns of a requested name.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        The names of its columns.
    requested : sequence of str
        The names that are needed.

    Raises
    ------
    InputError
        A requested name occurs twice.
    """
    for name in requested:
        if names.count(name) > 1:
            raise InputError(
                f"column {name!r} of {path}",
                expected="a name that stands once in the file",
                got=f"{names.count(name)} columns of that name",
                fix="Rename all but one.",
            )
