"""Parquet files that somebody else wrote: opened, and any damage that shows while reading told in a sentence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from bemps.errors import BempsError, InputError, MissingExtra


@contextmanager
def opened_parquet(
    path: Path, *, extra: str = "experiments", fix: str = "Is it complete, and Parquet?"
) -> Iterator[Any]:
    """An open `pyarrow.parquet.ParquetFile`; keep everything that reads or converts its columns inside.

    Parameters
    ----------
    path
        The file.
    extra
        The extra of bemps that brings pyarrow, for the message where it is missing.
    fix
        What to do about a file that cannot be read.

    Raises
    ------
    InputError
        When the file is damaged: also in its pages, its texts or its times, which show only when they are read.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as cause:
        raise MissingExtra("reading Parquet", extra, cause) from cause
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except BempsError:
        raise
    except (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, ValueError) as error:
        got = " ".join(str(error).split())[:200]
        raise InputError(str(path), expected="a Parquet file", got=got, fix=fix) from error


def refuse_twice(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that has two columns of a name that is asked for."""
    for name in wanted:
        if names.count(name) > 1:
            raise InputError(
                f"column {name!r} of {path}",
                expected="a name that stands once in the file",
                got=f"{names.count(name)} columns of that name",
                fix="Rename all but one.",
            )
